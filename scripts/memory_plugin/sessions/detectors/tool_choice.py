"""Detect test runs, commits, commands that a tool could replace, plans, skills, sub-agents and parallel calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..detection import Detector, pattern
from ..shell import pipeline_heads, runs_tests, tool_for
from .failed_calls import failure_cause, main_argument

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..detection import ReportSignal
    from ..shell import Head

_MAX_OUTPUT = 50_000
_SIGNAL_BY_TOOL = {
    **dict.fromkeys(("TodoWrite", "TaskCreate", "TaskUpdate", "ExitPlanMode"), "plans"),
    **dict.fromkeys(("Task", "Agent"), "delegations"),
    **dict.fromkeys(("Skill", "SlashCommand"), "skills"),
}


class CommandDetector(Detector):
    """Detects test runs, commits, and shell commands that a tool could replace."""

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Observe the next turn."""
        for call in turn.calls:
            command = call.text("command") if call.name == "Bash" else ""
            if command:
                self._observe_command(command, call, turn, report)

    def _observe_command(self, command: str, call: Call, turn: Turn, report: ReportSignal) -> None:
        heads = pipeline_heads(command)
        outcome = tests_outcome(call, heads, turn.version)
        if outcome:
            report("tests_" + outcome, turn.number, "%s -> %s" % (command[:100], _last_line(call)))
        if any(_is_commit(head) for head in heads) and not call.failed:
            if pattern("commit_made").search(_output(call)):
                report("commits", turn.number, _output(call).partition("\n")[0])
            else:
                report("commits_unconfirmed", turn.number, command)
        for head in heads:
            entry = tool_for(head)
            if entry is not None:
                report("shell_for_tools", turn.number, "%s: %s" % (entry["tool"], " ".join(head.words)))


def _output(call: Call) -> str:
    return (call.result or "")[-_MAX_OUTPUT:]


def _last_line(call: Call) -> str:
    """Return the last line of the output, where a test runner reports its result."""
    return _output(call).rstrip().rpartition("\n")[2].strip() or "nothing"


def _is_commit(head: Head) -> bool:
    if head.words[0] != "git" or "--dry-run" in head.words:
        return False
    words = [word for word in head.words[1:] if not word.startswith("-")]
    return "commit" in words[:2]


def tests_outcome(call: Call, heads: list[Head], version: str) -> str:
    """Return how a test run ended: passed, failed or unknown; empty for a call that ran no tests.

    A hidden exit code (by a pipe, `|| true`, the background) never means passed. A summary of failures always means failed.
    """
    runs = [head for head in heads if runs_tests(head)]
    if not runs or failure_cause(call, version) not in ("", "own"):
        return ""
    if call.failed or pattern("tests_failed").search(_output(call)):
        return "failed"
    in_background = call.input.get("run_in_background") is True or (
        isinstance(call.details, dict) and call.details.get("backgroundTaskId")
    )
    is_hidden = any(head.hidden for head in runs)
    return "unknown" if call.result is None or is_hidden or in_background else "passed"


class PlanningDetector(Detector):
    """Detects plans, skills, sub-agents, parallel calls and compactions."""

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Observe the next turn."""
        for call in turn.calls:
            signal = _SIGNAL_BY_TOOL.get(call.name)
            if signal:
                report(signal, turn.number, main_argument(call) or call.name)
        if len(turn.calls) > 1:
            report("parallel", turn.number, ", ".join(call.name for call in turn.calls[:10]))
        if any(entry.kind == "summary" for entry in turn.user_texts):
            report("compactions", turn.number)
