"""Signals: each is detected in the turns where it occurs, and only there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.kernel.paths import load_data
from memory_plugin.sessions.signals import SessionSignals, collect_signals, signals_record
from tests.kernel.transcript.rows import answer, call, lines, result, text_block, user

EDIT: dict[str, Any] = {"file_path": "/p/a.py", "old_string": "x", "new_string": "y"}
BLOCKED = "Lint failed, fix it first."


def collect(tmp_path: Path, *rows: dict[str, Any]) -> SessionSignals:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(*rows))
    return collect_signals(str(path))


def bash(
    number: int, command: str, output: str = "", *, failed: bool = False, **arguments: object
) -> list[dict[str, Any]]:
    """Return one answer with one shell command, and its result."""
    name = "c%d" % number
    return [
        answer("m%d" % number, call(name, command=command, **arguments)),
        result(name, output, failed=failed),
    ]


def tool(
    number: int, name: str, output: str = "ok", *, failed: bool = False, **arguments: object
) -> list[dict[str, Any]]:
    """Return one answer with one call of another tool."""
    return [
        answer("m%d" % number, call("c%d" % number, name, **arguments)),
        result("c%d" % number, output, failed=failed),
    ]


def read(number: int, path: str = "/p/a.py", **arguments: object) -> list[dict[str, Any]]:
    return [
        answer("m%d" % number, call("c%d" % number, "Read", file_path=path, **arguments)),
        result("c%d" % number),
    ]


START = [user("Fix it")]
CASES: list[Any] = [
    ("a failed command", [*bash(1, "make", "Exit code 2\nno rule", failed=True)], {"errors": [1]}),
    ("a denied call",
     [*tool(1, "Write", "Claude requested permissions to write to /p/x, but you haven't granted it yet.", failed=True)],
     {"denied": [1]}),
    ("a cancelled sibling",
     [*tool(1, "Read", "<tool_use_error>Sibling tool call errored</tool_use_error>", failed=True)],
     {"cancelled": [1]}),
    ("a hook's block", [*bash(1, "git commit -m x", BLOCKED, failed=True)], {"hook_blocks": [1]}),
    ("the same text from an older client", [{**row, "version": "1.0.9"} for row in bash(1, "make", BLOCKED, failed=True)], {"errors": [1]}),
    ("an edit refused",
     [*tool(1, "Edit", "<tool_use_error>File has not been read yet.</tool_use_error>", failed=True, **EDIT)],
     {"not_read_errors": [1]}),
    ("a retry", [*bash(1, "make", "Exit code 2", failed=True), *bash(2, "make")], {"errors": [1], "retries": [2]}),
    ("a retry after an edit",
     [*bash(1, "make", "Exit code 2", failed=True), *read(2), *tool(3, "Edit", **EDIT), *bash(4, "make")],
     {"errors": [1]}),
    ("a retry after a denial",
     [*bash(1, "make", "Permission to use Bash has been denied.", failed=True), *bash(2, "make")],
     {"denied": [1]}),
    ("another command", [*bash(1, "make", "Exit code 2", failed=True), *bash(2, "make -k")], {"errors": [1]}),
    ("a range read twice", [*read(1), *read(2), *tool(3, "Edit", **EDIT)], {"rereads": [2]}),
    ("another range", [*read(1, offset=1), *read(2, offset=9), *tool(3, "Edit", **EDIT)], {"reads_targeted": [1, 2]}),
    ("read again after an edit", [*read(1), *tool(2, "Edit", **EDIT), *read(3), answer("m4", text_block("a.py is fine"))], {}),
    ("read again after a compaction",
     [*read(1), user("Sum", isCompactSummary=True), *read(2), answer("m4", text_block("a.py"))],
     {"compactions": [2]}),
    ("a file never used", [*read(1), answer("m2", text_block("b.py is fine"))], {"reads_unused": [1]}),
    ("a file used in a command", [*read(1), *bash(2, "python src/a.py")], {}),
    ("an edit of an unseen file", [*tool(1, "Edit", **EDIT)], {"edits_unread": [1]}),
    ("an edit of a written file", [*tool(1, "Write", file_path="/p/a.py", content="x"), *tool(2, "Edit", **EDIT)], {}),
    ("tests that pass", [*bash(1, "pytest", "3 passed")], {"tests_passed": [1]}),
    ("tests that fail", [*bash(1, "pytest", "Exit code 1\n1 failed", failed=True)], {"tests_failed": [1], "errors": [1]}),
    ("tests whose summary a pipe shows", [*bash(1, "pytest | tail -3", "3 passed")], {"tests_passed": [1]}),
    ("tests through a pipe", [*bash(1, "pytest | tail -3", "tests/test_a.py ...")], {"tests_unknown": [1]}),
    ("tests through a filter", [*bash(1, "npx mocha | grep passing", "  3 passing")], {"tests_unknown": [1]}),
    ("tests that were all skipped", [*bash(1, "pytest", "5 skipped in 0.1s")], {"tests_unknown": [1]}),
    ("a summary in colors", [*bash(1, "npx vitest | tail -1", "\x1b[2m Tests \x1b[22m \x1b[32m3 passed\x1b[39m")], {"tests_passed": [1]}),
    ("some tests skipped", [*bash(1, "python -m unittest", "Ran 8 tests in 0.003s\n\nOK (skipped=2)")], {"tests_passed": [1]}),
    ("a module whose tests were all skipped",
     [*bash(1, "mvn test", "Tests run: 2, Failures: 0, Errors: 0, Skipped: 2")],
     {"tests_unknown": [1]}),
    ("a run without tests",
     [*bash(1, "pytest -k x", "Exit code 5\n3 deselected in 0.01s", failed=True)],
     {"tests_unknown": [1], "errors": [1]}),
    ("tests with a number in a title", [*bash(1, "npx jest", " \u2713 shows 2 errors\nTests: 1 passed, 1 total")], {"tests_passed": [1]}),
    ("failing tests through a pipe", [*bash(1, "pytest | tail -3", "1 failed, 2 passed")], {"tests_failed": [1]}),
    ("a test that is named like a pipe", [*bash(1, "pytest -k 'a || b'", "3 passed")], {"tests_passed": [1]}),
    ("tests without their program",
     [*bash(1, "pytest", "Exit code 127\nzsh:1: command not found: pytest", failed=True)],
     {"tests_unknown": [1], "errors": [1]}),
    ("tests in PowerShell", [*tool(1, "PowerShell", "3 passed", command="pytest")], {"tests_passed": [1]}),
    ("tests in the background", [*bash(1, "pytest", "Command running in background", run_in_background=True)], {"tests_unknown": [1]}),
    ("tests that a hook blocked", [*bash(1, "pytest", BLOCKED, failed=True)], {"hook_blocks": [1]}),
    ("tests without an answer", [answer("m1", call("c1", command="pytest"))], {"tests_unknown": [1]}),
    ("a commit", [*bash(1, "git add . && git commit -m x", "[main 1a2b3c4] x\n 1 file changed")], {"commits": [1]}),
    ("a commit of nothing", [*bash(1, "git commit -m x", "nothing to commit")], {"commits_unconfirmed": [1]}),
    ("Bash for a tool", [*bash(1, "cat a.py"), *bash(2, "grep -rn x . | head")], {"shell_for_tools": [1, 2]}),
    ("calls side by side", [answer("m1", call("a", "Glob"), call("b", "Glob")), result("a"), result("b")], {"parallel": [1]}),
    ("plans, skills, sub-agents",
     [*tool(1, "TodoWrite"), *tool(2, "Skill", skill="x"), *tool(3, "Task"), *tool(4, "TaskUpdate")],
     {"plans": [1, 4], "skills": [2], "delegations": [3]}),
    ("an interrupt", [answer("m1", text_block("a")), user("[Request interrupted by user]"), answer("m2", text_block("b"))],
     {"interrupts": [2]}),
    ("a correction", [answer("m1", text_block("a")), user("No, use tabs."), answer("m2", text_block("b"))],
     {"corrections": [2]}),
    ("a correction after thanks",
     [answer("m1", text_block("a")), user("thanks, but no, that's wrong, revert it"), answer("m2", text_block("b"))],
     {"corrections": [2]}),
    ("a question after praise",
     [answer("m1", text_block("a")), user("This looks great, but what if it restarts?"), answer("m2", text_block("b"))],
     {"thanks": [2]}),
    ("thanks", [answer("m1", text_block("a")), user("Perfect, thanks!")], {"thanks": [2]}),
    ("a claim with a picture", [answer("m1", text_block("All tests pass. \U0001f389"))], {"completions": [1], "emoji": [1]}),
]  # fmt: skip


DESCRIPTIONS: list[Any] = [
    ("the result of a test runner", "tests_passed", bash(1, "pytest | tail -2", "...\n\n3 passed in 1s\n"),
     "pytest | tail -2 -> 3 passed in 1s"),
    ("the line that explains a failure", "errors", bash(1, "make", "Exit code 2\nChecking 3 files\nfatal: no upstream", failed=True),
     "Bash: make -> fatal: no upstream"),
    ("the user's reason for a refusal", "denied",
     tool(1, "Write", "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nUse tabs",
          failed=True, file_path="/p/a"),
     "Write: /p/a -> Use tabs"),
    ("the words around a claim", "completions", [answer("m1", text_block("I looked. So the migration is done now! Next, docs."))],
     "I looked. So the migration is done now! Next, docs."),
    ("a claim without an end", "completions", [answer("m1", text_block("x\nAll tests pass"))], "x All tests pass"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rows", "description"),
    [pytest.param(case[1], case[2], case[3], id=case[0]) for case in DESCRIPTIONS],
)
def test_the_description_of_a_detection(
    tmp_path: Path, name: str, rows: list[dict[str, Any]], description: str
) -> None:
    signal = collect(tmp_path, *START, *rows).signals[name]
    assert (signal.count, signal.turns, signal.last) == (1, {1}, description)


@pytest.mark.parametrize(("rows", "expected"), [pytest.param(case[1], case[2], id=case[0]) for case in CASES])
def test_each_signal_is_detected_in_its_turns(
    tmp_path: Path, rows: list[dict[str, Any]], expected: dict[str, list[int]]
) -> None:
    found = signals_record(collect(tmp_path, *START, *rows))["signals"]
    assert {name: entry["turns"] for name, entry in found.items() if entry["count"]} == expected


def test_every_signal_of_the_table_has_a_case() -> None:
    names = {entry["id"] for entry in load_data("sessions", "signals")["signals"]}
    assert names - {name for case in CASES for name in case[2]} == {"broken_links"}


def test_links_are_checked_only_if_the_folder_exists(tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("", encoding="utf-8")
    text = "[a](there.py#L3) [b](gone.py:7) [c](https://example.org/x.py) [d](#top)"
    rows = [{**row, "cwd": str(tmp_path)} for row in (user("x"), answer("m1", text_block(text)))]
    found = collect(tmp_path, *rows).signals["broken_links"]
    assert (found.count, found.last) == (1, "gone.py")
    moved = [{**row, "cwd": str(tmp_path / "no")} for row in rows]
    assert collect(tmp_path, *moved).signals["broken_links"].count == 0


def test_the_json_record(tmp_path: Path) -> None:
    found = signals_record(collect(tmp_path, *START, *bash(1, "make"), user("Thanks")))
    assert (found["session"], found["turns"], found["calls"], found["tools"]) == ("s1", 2, 1, {"Bash": 1})
    assert found["tokens"]["input_tokens"] == 10
    assert found["tokens"]["largest_context"] == 10


def test_the_last_one_is_described_in_short(tmp_path: Path) -> None:
    rows = [row for n in range(9) for row in bash(n, "make %d" % n, "x " * 999, failed=True)]
    found = collect(tmp_path, *rows).signals["hook_blocks"]
    assert (found.count, found.turns, found.last[:12]) == (9, set(range(1, 10)), "Bash: make 8")
    assert len(found.last) <= 160


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        collect_signals(str(tmp_path / "no.jsonl"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        collect_signals(str(tmp_path / "pipe"))
