"""Calls that failed, told apart by who said no; and the same command again after its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data import pattern

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..sightings import Note

__all__ = ["EDITORS", "Errors", "cause_of", "main_argument"]

EDITORS = frozenset(["Edit", "MultiEdit", "Write", "NotebookEdit"])
_BY_TEXT = ("rejected", "permission", "cancelled", "not_read", "hook")
_SIGNALS = {
    "rejected": "denied",
    "permission": "denied",
    "cancelled": "cancelled",
    "hook": "hook_blocks",
    "own": "errors",
}
_HEAD = 2000
_USER_SAID = "the user said:"  # the client puts it into a refusal
_MOST_COMMANDS = 2000
# Where the arguments of tools lie that tell most about a call.
_ARGUMENTS = (
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "skill",
    "subagent_type",
    "description",
    "prompt",
)


def cause_of(call: Call, version: str) -> str:
    """Why a call failed: rejected, permission, cancelled, not_read, hook, or own; empty when it did not.

    From 2.1 on the client begins the text of a failed command with its exit code; a text without one is that of a hook.
    """
    if not call.failed:
        return ""
    text = (call.result or "")[:_HEAD]
    for name in _BY_TEXT:
        if pattern("error_" + name).search(text):
            return name
    return "hook" if _is_hooks_text(call, text, version) else "own"


def _is_hooks_text(call: Call, text: str, version: str) -> bool:
    newer = version[:1].isdigit() and not version.startswith(("0.", "1.", "2.0."))
    told = text.lstrip().lower().startswith(("<tool_use_error>", "error", "command timed out", "user "))
    return (
        newer
        and call.name == "Bash"
        and bool(text.strip())
        and not told
        and not pattern("exit_code").match(text)
    )


def main_argument(call: Call) -> str:
    """What tells most about a call: its command, file or pattern."""
    return next((call.text(name) for name in _ARGUMENTS if call.text(name)), "")


class Errors:
    """Failures by cause, and retries of a failed command with no edit in between."""

    def __init__(self) -> None:
        self._failed: set[str] = set()

    def see(self, turn: Turn, note: Note) -> None:
        """Look at the next turn."""
        for call in turn.calls if self._failed else ():
            if call.name == "Bash" and call.text("command") in self._failed:
                note("retries", turn.number, call.text("command"))
        for call in (*turn.calls, *turn.late):
            if call.failed or self._failed:
                self._result(call, turn, note)
        for said in turn.said:
            if said.kind == "interrupt":
                note("interrupts", turn.number)

    def _result(self, call: Call, turn: Turn, note: Note) -> None:
        cause = cause_of(call, turn.version)
        if cause == "not_read":
            note("not_read_errors", call.turn, main_argument(call))
        elif cause:
            note(_SIGNALS[cause], call.turn, "%s: %s" % (call.name, _reason(call)))
        if call.result is not None and call.name in EDITORS and not call.failed:
            self._failed.clear()
        if call.name == "Bash":
            if cause == "own" and len(self._failed) < _MOST_COMMANDS:
                self._failed.add(call.text("command"))
            elif call.result is not None and not cause:
                self._failed.discard(call.text("command"))

    def finish(self, note: Note) -> None:
        """Nothing is left for the end."""


def _told(text: str) -> str:
    """The part of a result that tells why: what the user said to a refused call, else its beginning."""
    return text.partition(_USER_SAID)[2][:_HEAD] or text[:_HEAD]


def _reason(call: Call) -> str:
    argument = " ".join(main_argument(call).split())[:60]
    lines = [
        line.strip()
        for line in _told(call.result or "")
        .replace("<tool_use_error>", "")
        .replace("</tool_use_error>", "")
        .split("\n")
    ]
    told = [line for line in lines if line and not pattern("exit_code").fullmatch(line)]
    said = next((line for line in told if pattern("trouble").search(line)), told[0] if told else "")
    return "%s -> %s" % (argument, said[:80]) if argument else said[:120]
