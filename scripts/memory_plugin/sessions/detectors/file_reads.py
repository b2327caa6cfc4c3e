"""Detect how files were read: in part, repeatedly, not before an edit, or without any use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..detection import Detector, pattern
from .failed_calls import EDITORS, failure_cause

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..detection import ReportSignal

__all__ = ["FileDetector"]

_MAX_FILES = 20_000
_MAX_TEXT = 20_000  # characters of one text that are searched for file names


class FileDetector(Detector):
    """Tracks the ranges in the context, the files read or written so far, and the last mention of each file name."""

    def __init__(self) -> None:
        self._ranges: dict[str, set[tuple[object, object]]] = {}  # by path
        self._seen: set[str] = set()
        self._last_reads: dict[str, int] = {}  # turn by path
        self._last_mentions: dict[str, int] = {}  # turn by file name

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Observe the next turn."""
        if any(entry.kind == "summary" for entry in turn.user_texts):
            self._ranges.clear()  # earlier reads are no longer in the context
        for text in turn.texts:
            self._mention(text, turn.number)
        for call in turn.calls:
            self._observe_call(call, turn, report)
        for call in turn.late:
            self._record_file(call, turn)

    def _observe_call(self, call: Call, turn: Turn, report: ReportSignal) -> None:
        if call.name == "Bash":
            self._mention(call.text("command"), turn.number)
            return
        path = call.text("file_path") or call.text("notebook_path")
        if call.name == "Read" and path:
            self._read_call(call, path, turn, report)
        elif call.name in EDITORS and path:
            if call.name in ("Edit", "MultiEdit") and path not in self._seen and not call.failed:
                report("edits_unread", turn.number, path)
            self._mention(path, turn.number)
        else:
            self._mention(call.text("command") or call.text("path") or call.text("prompt"), turn.number)
        self._record_file(call, turn)

    def _read_call(self, call: Call, path: str, turn: Turn, report: ReportSignal) -> None:
        span = _range(call)
        if span != (None, None):
            report("reads_targeted", turn.number, path)
        if span in self._ranges.get(path, ()):
            report("rereads", turn.number, path)

    def _record_file(self, call: Call, turn: Turn) -> None:
        """Record the file of a successful call."""
        path = call.text("file_path") or call.text("notebook_path")
        if (
            not path
            or call.result is None
            or failure_cause(call, turn.version)
            or len(self._seen) >= _MAX_FILES
        ):
            return
        if call.name == "Read":
            self._ranges.setdefault(path, set()).add(_range(call))
            self._last_reads[path] = call.turn
        elif call.name in EDITORS:
            self._ranges.pop(path, None)
        self._seen.add(path)

    def _mention(self, text: str, turn: int) -> None:
        if "." not in text or len(self._last_mentions) >= 4 * _MAX_FILES:
            return
        for name in pattern("file_name").findall(text[:_MAX_TEXT]):
            self._last_mentions[name] = turn

    def finish(self, report: ReportSignal) -> None:
        """Report the files that were read and never mentioned again."""
        for path, turn in self._last_reads.items():
            name = path.replace("\\", "/").rpartition("/")[2]
            if self._last_mentions.get(name, 0) <= turn and pattern("file_name").fullmatch(name):
                report("reads_unused", turn, path)


def _range(call: Call) -> tuple[object, object]:
    """Return the offset and limit of a Read call, each None if it is missing."""
    offset, limit = (call.input.get(name) for name in ("offset", "limit"))
    return (
        offset if isinstance(offset, (int, str)) else None,
        limit if isinstance(limit, (int, str)) else None,
    )
