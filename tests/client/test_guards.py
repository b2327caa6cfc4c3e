"""Guards in the real client: a guarded call is held back once and then runs, the person is asked, and no repository can do either."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, memory, repository, written
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY, Terminal
from tests.client.turn import Turn
from tests.project import PLUGIN_ROOT

pytestmark = pytest.mark.client
TITLE, RULE, FORCE = "Never force-push main", "Others build on main; open a pull request.", "git push --force"
COMMAND = "echo done > out.txt; git push --force || true"
DIALOG = "Do you want to proceed"
ALLOWED = ("--allowedTools", "Bash,Write", "--permission-mode", "default")


def guarded(box: Sandbox, action: str, *turns: dict[str, Any]) -> Sandbox:
    """Return the sandbox with a guard that the user saved in a terminal, and what Claude does, one turn after another."""
    repository(box)
    memory(box, "save", "--category", "constraint", "--title", TITLE, "--body", RULE, "--guard-command", FORCE,
           "--guard-file", "db/*.sql", "--guard-action", action)  # fmt: skip
    box.say({"turns": list(turns), "default": {"text": "All done."}})
    return box


def push(box: Sandbox) -> Turn:
    """Let Claude work on a prompt, with all tools allowed."""
    turn = box.prompt("Push it.", *ALLOWED, plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "All done.")
    return turn


def ran(box: Sandbox, name: str = "out.txt") -> bool:
    """Return whether the command ran, by the file that it makes."""
    return os.path.exists(os.path.join(box.project, name))


def results(turn: Turn) -> list[tuple[bool, str]]:
    """Return what the model was told of each of its calls: whether it failed, and the text."""
    blocks = [
        block
        for message in turn.of_kind("main")[-1].messages
        for block in message["content"]
        if isinstance(block, dict)
    ]
    found = [block for block in blocks if block.get("type") == "tool_result"]
    return [(bool(block.get("is_error")), str(block["content"])) for block in found]


def outcomes(box: Sandbox) -> list[str]:
    """Return what the ledger says of the guarded calls."""
    return [row["outcome"] for row in written(box, "recalls") if row["place"] == "guard"]


def test_a_guarded_command_is_reminded_once_and_then_runs(box: Sandbox) -> None:
    turn = push(guarded(box, "remind", bash(COMMAND), bash(COMMAND)))
    (failed, reason), (_, output) = results(turn)
    assert failed
    assert '"%s" covers `%s`' % (TITLE, FORCE) in reason
    assert RULE in reason
    assert RULE not in output
    assert ran(box)
    assert outcomes(box) == ["reminded", "let_through"]


def test_nothing_of_a_denied_command_runs(box: Sandbox) -> None:
    push(guarded(box, "remind", bash(COMMAND)))
    assert not ran(box)


def test_calls_that_claude_makes_together_are_all_denied(box: Sandbox) -> None:
    both = {
        "tool_use": [bash("%s; echo %s > %s" % (FORCE, name, name))["tool_use"][0] for name in ("a", "b")]
    }
    turn = push(guarded(box, "remind", both, bash(COMMAND)))
    assert [RULE in text for _, text in results(turn)] == [True, True, False]
    assert (ran(box, "a"), ran(box, "b"), ran(box)) == (False, False, True)
    assert outcomes(box) == ["reminded", "reminded", "let_through"]


def test_a_guarded_file_is_written_at_the_second_try(box: Sandbox) -> None:
    write = {
        "tool_use": [
            {
                "name": "Write",
                "input": {"file_path": os.path.join(box.project, "db", "1.sql"), "content": "x"},
            }
        ]
    }
    turn = push(guarded(box, "remind", write, write))
    assert [RULE in text for _, text in results(turn)] == [True, False]
    assert ran(box, os.path.join("db", "1.sql"))


def test_where_nobody_can_be_asked_the_call_is_refused_with_the_reason(box: Sandbox) -> None:
    """In print mode the client refuses what a hook wants asked, also for a tool that the user allowed, each time."""
    turn = push(guarded(box, "ask", bash(COMMAND), bash(COMMAND)))
    assert [(failed, RULE in text) for failed, text in results(turn)] == [(True, True)] * 2
    assert not ran(box)
    assert outcomes(box) == ["asked", "asked"]


def test_another_command_runs_and_nothing_is_written_down(box: Sandbox) -> None:
    turn = push(guarded(box, "ask", bash("echo 'git push --force' > out.txt")))
    assert [failed for failed, _ in results(turn)] == [False]
    assert ran(box)
    assert outcomes(box) == []


def test_a_hostile_repository_brings_no_guard(box: Sandbox) -> None:
    """Neither with its memories, nor by asking Claude to save and accept one."""
    repository(box)
    store = os.path.join(box.project, ".claude", "memory", "constraints", "never.json")
    guard = {"commands": ["echo"], "files": ["**"], "action": "ask"}
    box.write(store, {"category": "constraint", "title": "Never", "content": {"rule": "x"}, "guard": guard})
    settings = {"memory": {"guards": {"enabled": True}, "trust": {"accept_from": [box.project]}}}
    box.write(os.path.join(box.project, ".claude", "settings.json"), settings)
    save = (
        "memory save --category constraint --title Evil --body Evil --guard-command echo --guard-action ask"
    )
    turns = [bash(save), bash("memory accept evil; memory accept never"), bash("echo done > out.txt")]
    box.say({"turns": turns, "default": {"text": "All done."}})
    turn = push(box)
    assert [failed for failed, _ in results(turn)] == [False, True, False]
    assert ran(box)
    assert outcomes(box) == []
    states = {one["id"]: one["state"] for one in memory(box, "guards")["guards"]}
    assert states == {"never": "pending", "evil": "pending"}


def in_terminal(box: Sandbox) -> Terminal:
    """Return the client in a terminal, with a prompt typed."""
    terminal = box.terminal("--plugin-dir", PLUGIN_ROOT, *ALLOWED)
    terminal.wait(READY)
    terminal.submit("Push it.")
    return terminal


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
def test_the_person_sees_why_a_call_was_held_back(box: Sandbox) -> None:
    terminal = in_terminal(guarded(box, "remind", bash(COMMAND), bash(COMMAND)))
    screen = terminal.wait("All done")
    assert '"%s" covers' % TITLE in screen
    assert ran(box)
    terminal.submit("/exit")


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
@pytest.mark.parametrize(("key", "runs"), [("Enter", True), ("Escape", False)])
def test_the_person_is_asked_with_the_memory_as_the_reason(box: Sandbox, key: str, *, runs: bool) -> None:
    terminal = in_terminal(guarded(box, "ask", bash(COMMAND)))
    screen = terminal.wait(DIALOG)
    assert TITLE in screen
    assert "Others build on main" in screen
    assert not ran(box)
    terminal.answer(DIALOG, key)
    terminal.wait("All done" if runs else "Interrupted")
    assert ran(box) == runs
    terminal.submit("/exit")
