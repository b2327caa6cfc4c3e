"""Shell commands: tests and how they ended, commits that git confirmed, and Bash in place of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data import pattern
from ..shell import Head, heads, is_test, stands_for
from .errors import cause_of

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..sightings import Note

__all__ = ["Commands", "outcome_of_tests"]

_MOST_OUTPUT = 50_000


class Commands:
    """Stateless but for its interface."""

    def see(self, turn: Turn, note: Note) -> None:
        """Look at the next turn."""
        for call in turn.calls:
            command = call.text("command") if call.name == "Bash" else ""
            if command:
                self._command(command, call, turn, note)

    def _command(self, command: str, call: Call, turn: Turn, note: Note) -> None:
        found = heads(command)
        outcome = outcome_of_tests(call, found, turn.version)
        if outcome:
            note("tests_" + outcome, turn.number, "%s -> %s" % (command[:100], _last_line(call)))
        if any(_commits(head) for head in found) and not call.failed:
            made = bool(pattern("commit_made").search(_output(call)))
            note(
                "commits" if made else "commits_unconfirmed",
                turn.number,
                _output(call).partition("\n")[0] if made else command,
            )
        for head in found:
            entry = stands_for(head)
            if entry is not None:
                note("shell_for_tools", turn.number, "%s: %s" % (entry["tool"], " ".join(head.words)))

    def finish(self, note: Note) -> None:
        """Nothing is left for the end."""


def _output(call: Call) -> str:
    return (call.result or "")[-_MOST_OUTPUT:]


def _last_line(call: Call) -> str:
    """Where a test runner says how it went."""
    return _output(call).rstrip().rpartition("\n")[2].strip() or "nothing"


def _commits(head: Head) -> bool:
    if head.words[0] != "git" or "--dry-run" in head.words:
        return False
    words = [word for word in head.words[1:] if not word.startswith("-")]
    return "commit" in words[:2]


def outcome_of_tests(call: Call, found: list[Head], version: str) -> str:
    """How a test run ended: passed, failed or unknown; empty for a call that ran none.

    An exit code that something hides (a pipe, `|| true`, the background) tells nothing good; a summary of failures still tells.
    """
    runs = [head for head in found if is_test(head)]
    if not runs or cause_of(call, version) not in ("", "own"):
        return ""
    if call.failed or pattern("tests_failed").search(_output(call)):
        return "failed"
    started = call.input.get("run_in_background") is True or (
        isinstance(call.details, dict) and call.details.get("backgroundTaskId")
    )
    hidden = any(head.hidden for head in runs)
    return "unknown" if call.result is None or hidden or started else "passed"
