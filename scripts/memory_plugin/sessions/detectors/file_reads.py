"""Detect reads of a part of a file, repeated reads, edits of unread files, and files that were read but never used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..detection import Detector, pattern
from .failed_calls import EDITORS, failure_cause

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..detection import ReportSignal

_MAX_FILES = 20_000
_MAX_TEXT = 20_000  # characters of one text that are searched for names of files


class FileDetector(Detector):
    """Detects how files are read and used."""

    def __init__(self) -> None:
        self._ranges: dict[str, set[tuple[object, object]]] = {}  # by path, while they are in the context
        self._seen_files: set[str] = set()
        self._last_read: dict[str, int] = {}  # path -> turn
        self._last_mention: dict[str, int] = {}  # file name -> turn

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Observe the next turn."""
        if any(entry.kind == "summary" for entry in turn.user_texts):
            self._ranges.clear()  # compaction removed them from the context
        for text in turn.texts:
            self._record_mentions(text, turn.number)
        for call in turn.calls:
            self._observe_call(call, turn, report)
        for call in turn.late:
            self._record_file(call, turn)

    def _observe_call(self, call: Call, turn: Turn, report: ReportSignal) -> None:
        if call.name == "Bash":
            self._record_mentions(call.text("command"), turn.number)
            return
        path = call.text("file_path") or call.text("notebook_path")
        if call.name == "Read" and path:
            self._observe_read(call, path, turn, report)
        elif call.name in EDITORS and path:
            if call.name in ("Edit", "MultiEdit") and path not in self._seen_files and not call.failed:
                report("edits_unread", turn.number, path)
            self._record_mentions(path, turn.number)
        else:
            self._record_mentions(
                call.text("command") or call.text("path") or call.text("prompt"), turn.number
            )
        self._record_file(call, turn)

    def _observe_read(self, call: Call, path: str, turn: Turn, report: ReportSignal) -> None:
        span = _span(call)
        if span != (None, None):
            report("reads_targeted", turn.number, path)
        if span in self._ranges.get(path, ()):
            report("rereads", turn.number, path)

    def _record_file(self, call: Call, turn: Turn) -> None:
        """Record the file of a call that succeeded."""
        path = call.text("file_path") or call.text("notebook_path")
        if not path or call.result is None or failure_cause(call, turn.version):
            return
        if len(self._seen_files) >= _MAX_FILES:
            return
        if call.name == "Read":
            self._ranges.setdefault(path, set()).add(_span(call))
            self._last_read[path] = call.turn
        elif call.name in EDITORS:
            self._ranges.pop(path, None)
        self._seen_files.add(path)

    def _record_mentions(self, text: str, turn: int) -> None:
        """Record the turn of each file name in a text."""
        if "." not in text or len(self._last_mention) >= 4 * _MAX_FILES:
            return
        for name in pattern("file_name").findall(text[:_MAX_TEXT]):
            self._last_mention[name] = turn

    def finish(self, report: ReportSignal) -> None:
        """Report the files that were read and never mentioned again."""
        for path, turn in self._last_read.items():
            name = path.replace("\\", "/").rpartition("/")[2]
            if self._last_mention.get(name, 0) <= turn and pattern("file_name").fullmatch(name):
                report("reads_unused", turn, path)


def _span(call: Call) -> tuple[object, object]:
    """Return offset and limit of a read, each None if it is missing or invalid."""
    offset, limit = call.input.get("offset"), call.input.get("limit")
    return (
        offset if isinstance(offset, (int, str)) else None,
        limit if isinstance(limit, (int, str)) else None,
    )
