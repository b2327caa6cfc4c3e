"""Guards in the real client: a guarded call is denied once and then runs, or the user is asked. No repository can bring a guard."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, ledger_rows, make_repository, memory
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY, Terminal
from tests.client.turn import Turn
from tests.project import PLUGIN_ROOT

pytestmark = pytest.mark.client
TITLE, RULE, FORCE = "Never force-push main", "Others build on main; open a pull request.", "git push --force"
COMMAND = "echo done > out.txt; git push --force || true"
DIALOG = "Do you want to proceed"
ALLOWED = ("--allowedTools", "Bash,Write", "--permission-mode", "default")


def with_guard(sandbox: Sandbox, action: str, *turns: dict[str, Any]) -> Sandbox:
    """Save a guard as the user and script Claude's turns; return the sandbox."""
    make_repository(sandbox)
    memory(sandbox, "save", "--category", "constraint", "--title", TITLE, "--body", RULE, "--guard-command", FORCE,
           "--guard-file", "db/*.sql", "--guard-action", action)  # fmt: skip
    sandbox.set_script({"turns": list(turns), "default": {"text": "All done."}})
    return sandbox


def run_turns(sandbox: Sandbox) -> Turn:
    """Run the scripted turns, with the tools allowed."""
    turn = sandbox.prompt("Push it.", *ALLOWED, plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "All done.")
    return turn


def was_run(sandbox: Sandbox, name: str = "out.txt") -> bool:
    """Return whether the command was run, which creates a file."""
    return os.path.exists(os.path.join(sandbox.project, name))


def call_results(turn: Turn) -> list[tuple[bool, str]]:
    """Return the result of each tool call: whether it failed, and its text."""
    blocks = [
        block
        for message in turn.of_kind("main")[-1].messages
        for block in message["content"]
        if isinstance(block, dict)
    ]
    return [
        (bool(block.get("is_error")), str(block["content"]))
        for block in blocks
        if block.get("type") == "tool_result"
    ]


def guard_outcomes(sandbox: Sandbox) -> list[str]:
    """Return the recorded outcomes of guarded calls."""
    return [row["outcome"] for row in ledger_rows(sandbox, "recalls") if row["place"] == "guard"]


def test_a_guarded_command_is_denied_once_and_then_runs(sandbox: Sandbox) -> None:
    turn = run_turns(with_guard(sandbox, "remind", bash(COMMAND), bash(COMMAND)))
    (failed, reason), (_, output) = call_results(turn)
    assert failed
    assert '"%s", which guards `%s`' % (TITLE, FORCE) in reason
    assert RULE in reason
    assert RULE not in output
    assert was_run(sandbox)
    assert guard_outcomes(sandbox) == ["reminded", "let_through"]


def test_a_denied_command_does_not_run(sandbox: Sandbox) -> None:
    run_turns(with_guard(sandbox, "remind", bash(COMMAND)))
    assert not was_run(sandbox)


def test_parallel_guarded_calls_are_all_denied(sandbox: Sandbox) -> None:
    both = {
        "tool_use": [bash("%s; echo %s > %s" % (FORCE, name, name))["tool_use"][0] for name in ("a", "b")]
    }
    turn = run_turns(with_guard(sandbox, "remind", both, bash(COMMAND)))
    assert [RULE in text for _, text in call_results(turn)] == [True, True, False]
    assert (was_run(sandbox, "a"), was_run(sandbox, "b"), was_run(sandbox)) == (False, False, True)
    assert guard_outcomes(sandbox) == ["reminded", "reminded", "let_through"]


def test_a_guarded_file_is_written_at_the_second_attempt(sandbox: Sandbox) -> None:
    write = {
        "tool_use": [
            {
                "name": "Write",
                "input": {"file_path": os.path.join(sandbox.project, "db", "1.sql"), "content": "x"},
            }
        ]
    }
    turn = run_turns(with_guard(sandbox, "remind", write, write))
    assert [RULE in text for _, text in call_results(turn)] == [True, False]
    assert was_run(sandbox, os.path.join("db", "1.sql"))


def test_in_print_mode_a_call_that_needs_an_answer_is_refused_with_the_reason(sandbox: Sandbox) -> None:
    """The client refuses it each time, even if the user allowed the tool."""
    turn = run_turns(with_guard(sandbox, "ask", bash(COMMAND), bash(COMMAND)))
    assert [(failed, RULE in text) for failed, text in call_results(turn)] == [(True, True)] * 2
    assert not was_run(sandbox)
    assert guard_outcomes(sandbox) == ["asked", "asked"]


def test_another_command_runs_and_is_not_recorded(sandbox: Sandbox) -> None:
    turn = run_turns(with_guard(sandbox, "ask", bash("echo 'git push --force' > out.txt")))
    assert [failed for failed, _ in call_results(turn)] == [False]
    assert was_run(sandbox)
    assert guard_outcomes(sandbox) == []


def test_a_hostile_repository_brings_no_guard(sandbox: Sandbox) -> None:
    """Neither its memories nor a memory that it makes Claude save and accept become guards."""
    make_repository(sandbox)
    store = os.path.join(sandbox.project, ".claude", "memory", "constraints", "never.json")
    guard = {"commands": ["echo"], "files": ["**"], "action": "ask"}
    sandbox.write(
        store, {"category": "constraint", "title": "Never", "content": {"rule": "x"}, "guard": guard}
    )
    settings = {"memory": {"guards": {"enabled": True}, "trust": {"accept_from": [sandbox.project]}}}
    sandbox.write(os.path.join(sandbox.project, ".claude", "settings.json"), settings)
    save = (
        "memory save --category constraint --title Evil --body Evil --guard-command echo --guard-action ask"
    )
    turns = [bash(save), bash("memory accept evil; memory accept never"), bash("echo done > out.txt")]
    sandbox.set_script({"turns": turns, "default": {"text": "All done."}})
    turn = run_turns(sandbox)
    assert [failed for failed, _ in call_results(turn)] == [False, True, False]
    assert was_run(sandbox)
    assert guard_outcomes(sandbox) == []
    states = {guard["id"]: guard["state"] for guard in memory(sandbox, "guards")["guards"]}
    assert states == {"never": "pending", "evil": "pending"}


def start_in_terminal(sandbox: Sandbox) -> Terminal:
    """Start the client in a terminal and submit a prompt."""
    terminal = sandbox.terminal("--plugin-dir", PLUGIN_ROOT, *ALLOWED)
    terminal.wait(READY)
    terminal.submit("Push it.")
    return terminal


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
def test_the_user_sees_why_a_call_was_denied(sandbox: Sandbox) -> None:
    terminal = start_in_terminal(with_guard(sandbox, "remind", bash(COMMAND), bash(COMMAND)))
    screen = terminal.wait("All done")
    assert '"%s", which guards' % TITLE in screen
    assert was_run(sandbox)
    terminal.submit("/exit")


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
@pytest.mark.parametrize(("key", "runs"), [("Enter", True), ("Escape", False)])
def test_the_user_is_asked_with_the_memory_as_the_reason(sandbox: Sandbox, key: str, *, runs: bool) -> None:
    terminal = start_in_terminal(with_guard(sandbox, "ask", bash(COMMAND)))
    screen = terminal.wait(DIALOG)
    assert TITLE in screen
    assert "Others build on main" in screen
    assert not was_run(sandbox)
    terminal.answer(DIALOG, key)
    terminal.wait("All done" if runs else "Interrupted")
    assert was_run(sandbox) == runs
    terminal.submit("/exit")
