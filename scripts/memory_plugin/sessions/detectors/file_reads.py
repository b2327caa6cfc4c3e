"""Files read: in part, repeatedly, before an edit, and never used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..detection import Detector, pattern
from .failed_calls import EDITORS, failure_cause

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..detection import ReportSignal

__all__ = ["FileDetector"]

_MAX_FILES = 20_000
_MAX_TEXT = 20_000  # characters of one text that are searched for names of files


class FileDetector(Detector):
    """The ranges in the context, the files seen so far, and the file names mentioned later."""

    def __init__(self) -> None:
        self._ranges: dict[str, set[tuple[object, object]]] = {}
        self._known: set[str] = set()
        self._read: dict[str, int] = {}
        self._named: dict[str, int] = {}

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Look at the next turn."""
        if any(entry.kind == "summary" for entry in turn.user_texts):
            self._ranges.clear()  # what was read before is gone from the context
        for text in turn.texts:
            self._mention(text, turn.number)
        for call in turn.calls:
            self._call(call, turn, report)
        for call in turn.late:
            self._seen(call, turn)

    def _call(self, call: Call, turn: Turn, report: ReportSignal) -> None:
        if call.name == "Bash":
            self._mention(call.text("command"), turn.number)
            return
        path = call.text("file_path") or call.text("notebook_path")
        if call.name == "Read" and path:
            self._read_call(call, path, turn, report)
        elif call.name in EDITORS and path:
            if call.name in ("Edit", "MultiEdit") and path not in self._known and not call.failed:
                report("edits_unread", turn.number, path)
            self._mention(path, turn.number)
        else:
            self._mention(call.text("command") or call.text("path") or call.text("prompt"), turn.number)
        self._seen(call, turn)

    def _read_call(self, call: Call, path: str, turn: Turn, report: ReportSignal) -> None:
        span = (_plain(call.input.get("offset")), _plain(call.input.get("limit")))
        if span != (None, None):
            report("reads_targeted", turn.number, path)
        if span in self._ranges.get(path, ()):
            report("rereads", turn.number, path)

    def _seen(self, call: Call, turn: Turn) -> None:
        """Remember the file of a call that has its result."""
        path = call.text("file_path") or call.text("notebook_path")
        if (
            not path
            or call.result is None
            or failure_cause(call, turn.version)
            or len(self._known) >= _MAX_FILES
        ):
            return
        if call.name == "Read":
            span = (_plain(call.input.get("offset")), _plain(call.input.get("limit")))
            self._ranges.setdefault(path, set()).add(span)
            self._read[path] = call.turn
        elif call.name in EDITORS:
            self._ranges.pop(path, None)
        self._known.add(path)

    def _mention(self, text: str, turn: int) -> None:
        if "." not in text or len(self._named) >= 4 * _MAX_FILES:
            return
        for name in pattern("file_name").findall(text[:_MAX_TEXT]):
            self._named[name] = turn

    def finish(self, report: ReportSignal) -> None:
        """Report the files that were read and never mentioned again."""
        for path, turn in self._read.items():
            name = path.replace("\\", "/").rpartition("/")[2]
            if self._named.get(name, 0) <= turn and pattern("file_name").fullmatch(name):
                report("reads_unused", turn, path)


def _plain(value: object) -> object:
    return value if isinstance(value, (int, str)) else None
