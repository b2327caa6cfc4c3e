"""The harness itself, with the real client and an example plugin."""

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


def plugin(box: Sandbox) -> str:
    """Return the folder of the example plugin."""
    return example_plugin.made(os.path.join(box.folder, "example"))


def test_the_client_is_the_wanted_version(box: Sandbox) -> None:
    assert box.claude("--version").stdout.startswith(version() + " ")


def test_a_turn_runs_the_plugin_and_reaches_nothing_else(make_box: Callable[..., Sandbox]) -> None:
    box = make_box(SCRIPT)
    turn = box.prompt("hi there", plugins=(plugin(box),))
    assert (turn.returncode, turn.text) == (0, "Hello.")
    assert "example" in [found["name"] for found in turn.init["plugins"]]
    assert len(turn.of_kind("other")) == 1
    assert turn.sent("<example-context>JUDGED-OK")
    assert box.ledger("example.jsonl") == [{"text": "Hello."}]
    assert "hook_success" in [record["type"] for record in box.hook_records(turn.session)]
    assert turn.of_kind("proxy") == []


@pytest.mark.parametrize(
    "reply",
    [{"status": 529}, {"drop": True}, {"raw": "nope"}, {"delay": 3, "text": "x"}],
    ids=["overloaded", "a reset", "no JSON", "too late"],
)
def test_the_api_can_fail_for_the_plugin_alone(
    make_box: Callable[..., Sandbox], reply: dict[str, Any]
) -> None:
    box = make_box({"rules": [{"when": {"kind": "other"}, "reply": reply}], "default": {"text": "Hello."}})
    turn = box.prompt("hi there", plugins=(plugin(box),))
    assert turn.text == "Hello."
    assert turn.sent("fallback: ")


def test_tools_run_and_skills_reach_the_model(make_box: Callable[..., Sandbox]) -> None:
    box = make_box({"turns": [BASH, {"text": "done"}], "default": {"text": "later"}})
    turn = box.prompt("go", "--allowedTools", "Bash")
    assert turn.text == "done"
    assert turn.sent("^42$")
    assert box.prompt("/example:search some words", plugins=(plugin(box),)).sent(
        "EXAMPLE-SKILL query: some words"
    )


def test_nothing_of_the_callers_environment_gets_in(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CANARY", "1")
    env = box.environment()
    assert "HARNESS_CANARY" not in env
    assert (env["ANTHROPIC_API_KEY"], env["HOME"]) == ("sk-ant-dummy", box.home)


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
def test_a_session_in_a_terminal(make_box: Callable[..., Sandbox]) -> None:
    box = make_box(SCRIPT)
    terminal = box.terminal("--plugin-dir", plugin(box))
    terminal.wait(READY)
    terminal.submit("hi there")
    terminal.wait("Hello")
    assert box.ledger("example.jsonl", wait=10) == [{"text": "Hello."}]
    terminal.submit("/exit")
