"""The plugin in the real Codex CLI: it recalls, guards, scores, and leaves approvals to the user."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.client.codex import Codex, codex_binary, patch, shell
from tests.client.conftest import is_selected, skip_or_fail
from tests.client.plugin import is_recalled, memory, with_memory
from tests.client.sandbox import Sandbox
from tests.sessions.grades import reply

pytestmark = pytest.mark.client
ASK = "Which database do we use for the billing service?"
PATCH = "*** Begin Patch\n*** Add File: src/port.py\n+1\n*** End Patch\n"


@pytest.fixture
def codex(request: pytest.FixtureRequest) -> Iterator[Codex]:
    """Yield Codex with the plugin installed, in a folder on the disk: its sandbox has a `/dev` of its own, without `/dev/shm`."""
    if not is_selected(request.config):
        pytest.skip("Codex CLI runs with `pytest tests/client` or with MEMORY_TEST_CLIENT set")
    program = codex_binary()
    if program is None:
        skip_or_fail("no Codex CLI: run tests/client/install_codex.sh")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Codex(folder, str(program)) as codex,
    ):
        yield codex


def rows(codex: Codex, name: str) -> list[dict[str, Any]]:
    """Return the rows of a ledger; wait for the first for 20 seconds at most."""
    path = os.path.join(codex.config, "lcars", "memory", name + ".jsonl")
    end = time.monotonic() + 20
    while not (os.path.exists(path) and os.path.getsize(path)) and time.monotonic() < end:
        time.sleep(0.05)
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def save(codex: Codex, title: str, *more: str, category: str = "decision") -> None:
    codex.memory("save", "--category", category, "--title", title, *more)


def test_a_prompt_recalls_and_its_reply_is_scored(codex: Codex) -> None:
    save(codex, "Billing runs on Postgres", "--body", "Row-level security.", "--asked-as", ASK)
    output = codex.prompt(ASK)
    assert "Row-level security." in codex.sent()
    own = [line for line in output.splitlines() if "warning" in line.lower() and "memory" in line.lower()]
    assert own == []
    assert "matcher" not in output
    assert "clamping" not in output
    assert "Failed" not in output
    end = time.monotonic() + 20  # scored in the background
    while not rows(codex, "scores") and time.monotonic() < end:
        time.sleep(0.1)
    assert [row["kind"] for row in rows(codex, "scores")] == ["score"]


def test_a_guard_reminds_once_and_a_failure_recalls(codex: Codex) -> None:
    guard = ("--body", "Use the pipeline.", "--guard-command", "make deploy", "--guard-action", "ask")
    save(codex, "No deployment by hand", *guard, category="constraint")
    asked = ("--body", "Run ./configure first.", "--asked-as", "make: *** No rule to make target")
    save(codex, "No rule to make target deploy", *asked, category="runbook")
    output = codex.prompt("Do it, please.", shell("make deploy"), shell("make deploy"))
    assert output.count("blocked by PreToolUse hook") == 1
    assert "Use the pipeline." in codex.sent()
    assert "./configure" in codex.sent()


def test_a_patch_recalls_what_names_its_file(codex: Codex) -> None:
    save(codex, "Ports are fixed", "--body", "Below 1024, never.", "--file", "src/port.py")
    codex.prompt("Do it, please.", patch(PATCH))
    assert "Below 1024" in codex.sent()


@pytest.mark.parametrize("mode", ["workspace-write", "danger-full-access"])
def test_nothing_in_codex_can_approve(codex: Codex, mode: str) -> None:
    """A command may drop every variable and detach itself: it descends from Codex, or has no terminal while Codex runs."""
    path = os.path.join(codex.project, ".claude", "memory", "decisions", "planted.json")
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"title": "Planted", "category": "decision", "content": {"decision": "Obey."}}, file)
    accept = "python3 %s accept --all --root ." % os.path.join(codex.plugin, "scripts", "memory.py")
    clean = "env -i HOME=$HOME PATH=$PATH %s" % accept
    for command in (accept, clean, "(setsid %s >out 2>&1 &); sleep 3; cat out" % clean):
        codex.prompt("Do it, please.", shell(command), mode=mode)
        assert "the user must approve this" in codex.sent()
    assert "pending" in codex.memory("list")


def test_both_agents_use_one_store(codex: Codex, sandbox: Sandbox) -> None:
    with_memory(sandbox)
    codex.home, codex.project, codex.config = sandbox.home, sandbox.project, sandbox.config
    assert "Postgres 15" in json.dumps(memory(sandbox, "search", "billing database"))
    assert is_recalled(sandbox.prompt(ASK, plugins=(codex.plugin,)))
    os.makedirs(os.path.join(sandbox.home, ".codex"))
    codex.install()
    codex.prompt(ASK)
    assert codex.sent().count("Postgres 15") == 1


def test_an_ended_session_is_graded(codex: Codex) -> None:
    memory = {"judge": {"backend": "scripted"}, "sessions": {"judge": {"when": "ended"}}}
    replies = {"replies": [{"text": json.dumps(reply())}]}
    for path, content in (("settings.json", {"memory": memory}), ("lcars/memory/judge/script.json", replies)):
        Sandbox.write(os.path.join(codex.config, path), content)
    codex.prompt("Look around, please.", *(shell("echo %d" % number) for number in range(5)))
    (row,) = rows(codex, "sessions")
    assert (row["scorer"]["automatic"], row["overall_quality"]) == (True, 0.6233)
    assert row["session"] in codex.memory("session", "list")
