"""Detect failed calls by cause, commands that are repeated after their error, and interrupts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..detection import Detector, pattern

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..detection import ReportSignal

__all__ = ["EDITORS", "FailureDetector", "failure_cause", "main_argument"]

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
_REASON_MARK = "the user said:"  # the client's text before the user's reason for a refusal
_MAX_COMMANDS = 2000
# The most informative arguments of a call, in order of preference.
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
    """Return why a call failed: rejected, permission, cancelled, not_read, hook, or own; empty if it did not fail.

    Since 2.1, the client begins a failed command's output with its exit code. A text without an exit code comes from a hook.
    """
    if not call.failed:
        return ""
    text = (call.result or "")[:_HEAD]
    for name in _BY_TEXT:
        if pattern("error_" + name).search(text):
            return name
    return "hook" if _is_hook_text(call, text, version) else "own"


def _is_hook_text(call: Call, text: str, version: str) -> bool:
    writes_exit_codes = version[:1].isdigit() and not version.startswith(("0.", "1.", "2.0."))
    is_error = text.lstrip().lower().startswith(("<tool_use_error>", "error", "command timed out", "user "))
    return (
        writes_exit_codes
        and call.name == "Bash"
        and bool(text.strip())
        and not is_error
        and not pattern("exit_code").match(text)
    )


def main_argument(call: Call) -> str:
    """Return a call's most informative argument: its command, file or pattern."""
    return next((call.text(name) for name in _ARGUMENTS if call.text(name)), "")


class FailureDetector(Detector):
    """Detects failures by cause, and repetitions of a failed command without an edit in between."""

    def __init__(self) -> None:
        self._failed: set[str] = set()

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Observe the next turn."""
        for call in turn.calls if self._failed else ():
            if call.name == "Bash" and call.text("command") in self._failed:
                report("retries", turn.number, call.text("command"))
        for call in (*turn.calls, *turn.late):
            if call.failed or self._failed:
                self._observe_result(call, turn, report)
        for entry in turn.user_texts:
            if entry.kind == "interrupt":
                report("interrupts", turn.number)

    def _observe_result(self, call: Call, turn: Turn, report: ReportSignal) -> None:
        cause = failure_cause(call, turn.version)
        if cause == "not_read":
            report("not_read_errors", call.turn, main_argument(call))
        elif cause:
            report(_SIGNALS[cause], call.turn, "%s: %s" % (call.name, _reason(call)))
        if call.result is not None and call.name in EDITORS and not call.failed:
            self._failed.clear()
        if call.name == "Bash":
            if cause == "own" and len(self._failed) < _MAX_COMMANDS:
                self._failed.add(call.text("command"))
            elif call.result is not None and not cause:
                self._failed.discard(call.text("command"))


def _explanation(text: str) -> str:
    """Return the part of a result that explains its failure: the user's reason for a refused call, else the beginning."""
    return text.partition(_REASON_MARK)[2][:_HEAD] or text[:_HEAD]


def _reason(call: Call) -> str:
    """Return a call's argument and the line of its result that best explains the failure."""
    argument = " ".join(main_argument(call).split())[:60]
    text = _explanation(call.result or "").replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for line in lines if line and not pattern("exit_code").fullmatch(line)]
    error_lines = [line for line in lines if pattern("error_line").search(line)]
    line = next(iter(error_lines or lines), "")
    return "%s -> %s" % (argument, line[:80]) if argument else line[:120]
