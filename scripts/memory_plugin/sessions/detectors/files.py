"""Files read: in part, again, before an edit, and never used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data import pattern
from .errors import EDITORS, cause_of

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Call, Turn
    from ..sightings import Note

__all__ = ["Files"]

_MOST_FILES = 20_000
_MOST_TEXT = 20_000  # characters of one text that are searched for names of files


class Files:
    """Which ranges are in the context, which files were seen, and which names came up later."""

    def __init__(self) -> None:
        self._ranges: dict[str, set[tuple[object, object]]] = {}
        self._known: set[str] = set()
        self._read: dict[str, int] = {}
        self._named: dict[str, int] = {}

    def see(self, turn: Turn, note: Note) -> None:
        """Look at the next turn."""
        if any(said.kind == "summary" for said in turn.said):
            self._ranges.clear()  # what was read before is gone from the context
        for text in turn.texts:
            self._mention(text, turn.number)
        for call in turn.calls:
            self._call(call, turn, note)
        for call in turn.late:
            self._seen(call, turn)

    def _call(self, call: Call, turn: Turn, note: Note) -> None:
        if call.name == "Bash":
            self._mention(call.text("command"), turn.number)
            return
        path = call.text("file_path") or call.text("notebook_path")
        if call.name == "Read" and path:
            self._read_call(call, path, turn, note)
        elif call.name in EDITORS and path:
            if call.name in ("Edit", "MultiEdit") and path not in self._known and not call.failed:
                note("edits_unread", turn.number, path)
            self._mention(path, turn.number)
        else:
            self._mention(call.text("command") or call.text("path") or call.text("prompt"), turn.number)
        self._seen(call, turn)

    def _read_call(self, call: Call, path: str, turn: Turn, note: Note) -> None:
        span = (_plain(call.input.get("offset")), _plain(call.input.get("limit")))
        if span != (None, None):
            note("reads_targeted", turn.number, path)
        if span in self._ranges.get(path, ()):
            note("rereads", turn.number, path)

    def _seen(self, call: Call, turn: Turn) -> None:
        """Remember a call's file, now that its result is there."""
        path = call.text("file_path") or call.text("notebook_path")
        if not path or call.result is None or cause_of(call, turn.version) or len(self._known) >= _MOST_FILES:
            return
        if call.name == "Read":
            span = (_plain(call.input.get("offset")), _plain(call.input.get("limit")))
            self._ranges.setdefault(path, set()).add(span)
            self._read[path] = call.turn
        elif call.name in EDITORS:
            self._ranges.pop(path, None)
        self._known.add(path)

    def _mention(self, text: str, turn: int) -> None:
        if "." not in text or len(self._named) >= 4 * _MOST_FILES:
            return
        for name in pattern("file_name").findall(text[:_MOST_TEXT]):
            self._named[name] = turn

    def finish(self, note: Note) -> None:
        """Report the files that were read and never came up again."""
        for path, turn in self._read.items():
            name = path.replace("\\", "/").rpartition("/")[2]
            if self._named.get(name, 0) <= turn and pattern("file_name").fullmatch(name):
                note("reads_unused", turn, path)


def _plain(value: object) -> object:
    return value if isinstance(value, (int, str)) else None
