"""Detect failed calls by cause, commands repeated after their error, and interrupts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..detection import Detector, pattern

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..detection import ReportSignal

EDITORS = frozenset(["Edit", "MultiEdit", "Write", "NotebookEdit"])
_CAUSES_BY_TEXT = ("rejected", "permission", "cancelled", "not_read", "hook")
_SIGNAL_BY_CAUSE = {
    "rejected": "denied",
    "permission": "denied",
    "cancelled": "cancelled",
    "hook": "hook_blocks",
    "own": "errors",
}
_MAX_TEXT = 2000  # characters of a result that are examined
_USER_SAID = "the user said:"  # the client's words before the user's reason for a refusal
_MAX_COMMANDS = 2000
# The arguments that tell most about a call, in order of preference.
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


def failure_cause(call: Call, version: str) -> str:
    """Return why a call failed: rejected, permission, cancelled, not_read, hook, or own for the tool's own error.

    An empty text means that it did not fail. `version` is the client's.
    """
    if not call.failed:
        return ""
    text = (call.result or "")[:_MAX_TEXT]
    for cause in _CAUSES_BY_TEXT:
        if pattern("error_" + cause).search(text):
            return cause
    return "hook" if _is_hook_text(call, text, version) else "own"


def _is_hook_text(call: Call, text: str, version: str) -> bool:
    """Return whether a failed command's text comes from a hook.

    Since version 2.1 the client begins the output of a failed command with its exit code, and the text of a hook without one.
    """
    if call.name != "Bash" or not version[:1].isdigit() or version.startswith(("0.", "1.", "2.0.")):
        return False
    is_error = text.lstrip().lower().startswith(("<tool_use_error>", "error", "command timed out", "user "))
    return bool(text.strip()) and not is_error and not pattern("exit_code").match(text)


def main_argument(call: Call) -> str:
    """Return the argument that tells most about a call: its command, file or pattern."""
    return next((call.text(name) for name in _ARGUMENTS if call.text(name)), "")


class FailureDetector(Detector):
    """Detects failures by cause, and repetitions of a failed command with no edit in between."""

    def __init__(self) -> None:
        self._failed_commands: set[str] = set()

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Observe the next turn."""
        # Retries first: the results of this turn tell which commands have failed after it.
        for call in turn.calls if self._failed_commands else ():
            if call.name == "Bash" and call.text("command") in self._failed_commands:
                report("retries", turn.number, call.text("command"))
        for call in (*turn.calls, *turn.late):
            if call.failed or self._failed_commands:
                self._observe_result(call, turn, report)
        for entry in turn.user_texts:
            if entry.kind == "interrupt":
                report("interrupts", turn.number)

    def _observe_result(self, call: Call, turn: Turn, report: ReportSignal) -> None:
        cause = failure_cause(call, turn.version)
        if cause == "not_read":
            report("not_read_errors", call.turn, main_argument(call))
        elif cause:
            report(_SIGNAL_BY_CAUSE[cause], call.turn, "%s: %s" % (call.name, _reason(call)))
        if call.result is not None and call.name in EDITORS and not call.failed:
            self._failed_commands.clear()
        if call.name == "Bash":
            if cause == "own" and len(self._failed_commands) < _MAX_COMMANDS:
                self._failed_commands.add(call.text("command"))
            elif call.result is not None and not cause:
                self._failed_commands.discard(call.text("command"))


def _reason(call: Call) -> str:
    """Return the call's main argument and the line of its result that explains the failure best."""
    argument = " ".join(main_argument(call).split())[:60]
    text = call.result or ""
    text = text.partition(_USER_SAID)[2][:_MAX_TEXT] or text[:_MAX_TEXT]
    lines = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "").split("\n")
    lines = [line.strip() for line in lines]
    lines = [line for line in lines if line and not pattern("exit_code").fullmatch(line)]
    first = lines[0] if lines else ""
    explanation = next((line for line in lines if pattern("error_line").search(line)), first)
    return "%s -> %s" % (argument, explanation[:80]) if argument else explanation[:120]
