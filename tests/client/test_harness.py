"""The harness works with the real client and an example plugin."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.client import example_plugin
from tests.client.binary import version
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY

pytestmark = pytest.mark.client
JUDGED = {"when": {"kind": "other", "system": "EXAMPLE-JUDGE"}, "reply": {"text": "JUDGED-OK"}}
SCRIPT = {"rules": [JUDGED], "default": {"text": "Hello."}}
BASH = {"tool_use": [{"name": "Bash", "input": {"command": "echo $((6*7))", "description": "x"}}]}


def make_example(sandbox: Sandbox) -> str:
    """Make the example plugin; return its folder."""
    return example_plugin.make_plugin(os.path.join(sandbox.folder, "example"))


def test_the_client_has_the_expected_version(sandbox: Sandbox) -> None:
    assert sandbox.claude("--version").stdout.startswith(version() + " ")


def test_a_turn_runs_the_plugin_and_reaches_no_other_host(make_sandbox: Callable[..., Sandbox]) -> None:
    sandbox = make_sandbox(SCRIPT)
    turn = sandbox.prompt("hi there", plugins=(make_example(sandbox),))
    assert (turn.returncode, turn.text) == (0, "Hello.")
    assert "example" in [plugin["name"] for plugin in turn.init["plugins"]]
    assert len(turn.of_kind("other")) == 1
    assert turn.sent("<example-context>JUDGED-OK")
    assert sandbox.ledger("example.jsonl") == [{"text": "Hello."}]
    assert "hook_success" in [record["type"] for record in sandbox.hook_records(turn.session)]
    assert turn.of_kind("proxy") == []


@pytest.mark.parametrize(
    "reply",
    [{"status": 529}, {"drop": True}, {"raw": "nope"}, {"delay": 3, "text": "x"}],
    ids=["overloaded", "a reset", "no JSON", "too late"],
)
def test_the_api_can_fail_for_the_plugin_alone(
    make_sandbox: Callable[..., Sandbox], reply: dict[str, Any]
) -> None:
    sandbox = make_sandbox(
        {"rules": [{"when": {"kind": "other"}, "reply": reply}], "default": {"text": "Hello."}}
    )
    turn = sandbox.prompt("hi there", plugins=(make_example(sandbox),))
    assert turn.text == "Hello."
    assert turn.sent("fallback: ")


def test_tools_run_and_skills_reach_the_model(make_sandbox: Callable[..., Sandbox]) -> None:
    sandbox = make_sandbox({"turns": [BASH, {"text": "done"}], "default": {"text": "later"}})
    turn = sandbox.prompt("go", "--allowedTools", "Bash")
    assert turn.text == "done"
    assert turn.sent("^42$")
    assert sandbox.prompt("/example:search some words", plugins=(make_example(sandbox),)).sent(
        "EXAMPLE-SKILL query: some words"
    )


def test_the_callers_environment_stays_out_of_the_sandbox(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CANARY", "1")
    env = sandbox.environment()
    assert "HARNESS_CANARY" not in env
    assert (env["ANTHROPIC_API_KEY"], env["HOME"]) == ("sk-ant-dummy", sandbox.home)


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
def test_a_terminal_session_runs_the_plugin(make_sandbox: Callable[..., Sandbox]) -> None:
    sandbox = make_sandbox(SCRIPT)
    terminal = sandbox.terminal("--plugin-dir", make_example(sandbox))
    terminal.wait(READY)
    terminal.submit("hi there")
    terminal.wait("Hello")
    assert sandbox.ledger("example.jsonl", wait=10) == [{"text": "Hello."}]
    terminal.submit("/exit")
