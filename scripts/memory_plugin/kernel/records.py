"""Read ledgers: every reader gets records whose fields have the types that the plugin writes.

A ledger may be cut off, damaged, or come from someone else. A field of another type counts as missing, and a line without a record is
skipped and counted. Texts may still contain anything.
"""

from __future__ import annotations

import os

from .fastjson import loads
from .files import open_to_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO, Any

    Check = Callable[[Any], Any]  # returns the value without parts of a wrong type, or _WRONG

_WRONG = object()
_MAX_LINE = 1 << 20
_MAX_NUMBER = 1e12  # larger than any figure of ours, and small enough to sum
_END = "~"  # after all times


def _text(value: object) -> object:
    return value if isinstance(value, str) else _WRONG


def _texts(value: object) -> object:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else _WRONG


def _number(value: object) -> object:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= _MAX_NUMBER else _WRONG  # type: ignore[operator]


def _number_or_null(value: object) -> object:
    return None if value is None else _number(value)


def _signed(value: object) -> object:
    """Check a number that may be negative."""
    return value if isinstance(value, (int, float)) and abs(value) <= _MAX_NUMBER else _WRONG


def _count(value: object) -> object:
    return _number(value) if isinstance(value, int) else _WRONG


def _object(value: object) -> object:
    return value if isinstance(value, dict) else _WRONG


def _counts(value: object) -> object:
    if not isinstance(value, dict):
        return _WRONG
    return {name: number for name, number in value.items() if _count(number) is not _WRONG}


def _lists_of(*types: type) -> Check:
    """Return a check of a list of lists, each with items of these types."""

    def check(value: object) -> object:
        if not isinstance(value, list):
            return _WRONG
        return [item for item in value if isinstance(item, list) and tuple(map(type, item)) == types]

    return check


def _candidates(value: object) -> object:
    if not isinstance(value, list):
        return _WRONG
    found = [checked(item, _CANDIDATE) for item in value if isinstance(item, dict)]
    return [item for item in found if "key" in item]


def _verdicts(value: object) -> object:
    """Check the judges' votes on each candidate: relevant and useful, each true, false, or null if that judge gave none."""
    votes = ((bool, bool), (bool, _NULL), (_NULL, bool), (_NULL, _NULL))
    if not isinstance(value, dict):
        return _WRONG
    return {
        key: pair for key, pair in value.items() if isinstance(pair, list) and tuple(map(type, pair)) in votes
    }


def _judge(value: object) -> object:
    return checked(value, _JUDGE) if isinstance(value, dict) else _WRONG


_NULL = type(None)
_HEAD: dict[str, Check] = {"time": _text, "session": _text, "project": _text, "kind": _text}
_CANDIDATE: dict[str, Check] = {
    **dict.fromkeys(("key", "way", "withheld"), _text),
    **dict.fromkeys(("confidence", "pointer_confidence"), _number_or_null),
    **dict.fromkeys(("score", "shift"), _signed),
    "parts": _object,
}
_JUDGE: dict[str, Check] = {"path": _text, "reasons": _texts, "verdicts": _verdicts}
# The fields that anything reads, by ledger; others are passed on as they are.
_FIELDS: dict[str, dict[str, Check]] = {
    "recalls": {
        **dict.fromkeys(("place", "outcome", "reason", "problem", "prompt_id", "tool_use_id"), _text),
        **dict.fromkeys(("prompt", "answered_by"), _text),
        **dict.fromkeys(("injected", "pointed", "guards", "sessions"), _texts),
        **dict.fromkeys(("tokens", "rules", "listed", "unlisted", "found", "unread"), _count),
        **dict.fromkeys(("inject_threshold", "pointer_threshold", "ms"), _number_or_null),
        "candidates": _candidates,
        "judge": _judge,
    },
    "scores": {
        **dict.fromkeys(("id", "outcome", "model", "gate", "transcript", "record", "prompt_id"), _text),
        **dict.fromkeys(("text", "query_type"), _text),
        **dict.fromkeys(("padding_count", "preamble_words", "words"), _count),
        "density": _number_or_null,
        "threshold": _number,
        "matches": _lists_of(int, int, str),
        "missed": _lists_of(int, int),
        "phrases": _lists_of(str, bool),
        "drift": _texts,
        "levels": _counts,
    },
    "drift": {"id": _text, "arm": _text, "categories": _texts},
    "feedback": {"memories": _texts},
    "sessions": {
        "dimensions": _object,
        "overall_quality": _number_or_null,
        "scorer": _object,
        "subject": _object,
        "signals": _counts,
    },
    "judge-calls": {
        **dict.fromkeys(("feature", "outcome"), _text),
        **dict.fromkeys(("tokens_in", "tokens_out"), _count),
        **dict.fromkeys(("cost_usd", "latency_ms"), _number_or_null),
    },
    "evaluations": {"verdict": _text},
    "events": {"event": _text, "what": _text},
}


def checked(row: dict[str, Any], fields: dict[str, Check]) -> dict[str, Any]:
    """Remove the fields of a wrong type from a row, and return it."""
    for name, check in fields.items():
        if name in row:
            value = check(row[name])
            if value is _WRONG:
                del row[name]
            else:
                row[name] = value
    return row


class Records:
    """An iterator over the records of a ledger, oldest first.

    `lines` counts all lines, and `skipped` those without a record and files that could not be read.
    """

    __slots__ = ("_fields", "_paths", "_project", "_since", "_tail", "_until", "lines", "skipped")

    def __init__(
        self, folder: str, name: str, since: str = "", until: str = _END, project: str = "", *, tail: int = 0
    ) -> None:
        """Prepare to read the ledger of that name.

        Args:
            folder: The folder with the ledgers.
            name: The ledger, such as `recalls`.
            since: The first time, as ledgers write it; a record without a time comes before all times.
            until: The first time after the period.
            project: Only the records of this project; empty for all.
            tail: Read only that many bytes at the end of the current file; 0 for everything.
        """
        self._paths = [os.path.join(folder, name + ".jsonl")] if tail else _parts(folder, name)
        self._fields = {**_HEAD, **_FIELDS.get(name, {})}
        self._since, self._until, self._project, self._tail = since, until, project, tail
        self.lines = self.skipped = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Read the files."""
        for path in self._paths:
            try:
                with open(path, "rb", opener=open_to_read) as file:
                    self._skip_to_tail(file)
                    for line in _lines(file):
                        row = self._record(line)
                        if row is not None:
                            yield row
            except OSError:
                self.skipped += 1

    def _skip_to_tail(self, file: IO[bytes]) -> None:
        if self._tail and file.seek(0, os.SEEK_END) > self._tail:
            file.seek(-self._tail, os.SEEK_END)
            file.readline(_MAX_LINE)
        else:
            file.seek(0)

    def _record(self, line: bytes) -> dict[str, Any] | None:
        """Return the record in a line; None if there is none, or if it is not wanted."""
        self.lines += 1
        try:
            row = loads(line.decode("utf-8"))
        except ValueError:
            row = None
        if not isinstance(row, dict):
            self.skipped += 1
            return None
        row = checked(row, self._fields)
        is_wanted = self._since <= row.get("time", "") < self._until
        return row if is_wanted and self._project in ("", row.get("project")) else None


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines that are not blank; of an endless line only the beginning, which holds no record."""
    while line := file.readline(_MAX_LINE):
        if line.strip():
            yield line
        while len(line) == _MAX_LINE and line[-1:] != b"\n":
            line = file.readline(_MAX_LINE)


def ledger_names(folder: str) -> list[str]:
    """Return the names of the ledgers in a folder. Raises OSError."""
    return sorted({name.partition(".")[0] for name in os.listdir(folder) if name.endswith(".jsonl")})


def _parts(folder: str, name: str) -> list[str]:
    """Return the paths of a ledger's files, oldest first: `recalls.2.jsonl`, `recalls.1.jsonl`, `recalls.jsonl`."""
    try:
        words = [entry.split(".") for entry in os.listdir(folder) if entry.startswith(name + ".")]
    except OSError:
        return []
    parts = [int(word[1]) for word in words if len(word) == 3 and word[2] == "jsonl" and word[1].isdecimal()]
    current = [0] if [name, "jsonl"] in words else []
    return [
        os.path.join(folder, name + (".%d" % part if part else "") + ".jsonl")
        for part in [*sorted(parts, reverse=True), *current]
    ]
