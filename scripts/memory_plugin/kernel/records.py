"""Read ledgers: every reader gets records whose fields have the types that the plugin writes.

A ledger may be cut off, damaged, or come from someone else. A field of another type counts as missing, and a line without a record is
skipped and counted. Texts may still contain anything.
"""

from __future__ import annotations

import os

from .context import Ledger
from .fastjson import load_object
from .files import open_to_read, seek_tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import IO, Any

    Check = Callable[[Any], Any]  # returns the value without parts of a wrong type, or WRONG

WRONG = object()
_MAX_LINE = 1 << 20
_MAX_NUMBER = 1e12  # larger than any figure of ours, and small enough to sum
_END = "~"  # after all times


def text(value: object) -> object:
    """Check a text."""
    return value if isinstance(value, str) else WRONG


def texts(value: object) -> object:
    """Check a list of texts."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else WRONG


def number(value: object) -> object:
    """Check a number that is not negative."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= _MAX_NUMBER else WRONG  # type: ignore[operator]


def number_or_null(value: object) -> object:
    """Check a number that may be missing."""
    return None if value is None else number(value)


def signed(value: object) -> object:
    """Check a number that may be negative."""
    return value if isinstance(value, (int, float)) and abs(value) <= _MAX_NUMBER else WRONG


def count(value: object) -> object:
    """Check a whole number that is not negative."""
    return number(value) if isinstance(value, int) else WRONG


def mapping(value: object) -> object:
    """Check an object."""
    return value if isinstance(value, dict) else WRONG


def counts(value: object) -> object:
    """Check counts by name."""
    if not isinstance(value, dict):
        return WRONG
    return {name: item for name, item in value.items() if count(item) is not WRONG}


def lists_of(*types: type) -> Check:
    """Return a check of a list of lists, each with items of these types."""

    def check(value: object) -> object:
        if not isinstance(value, list):
            return WRONG
        return [item for item in value if isinstance(item, list) and tuple(map(type, item)) == types]

    return check


class Form:
    """The name of a ledger, and a check of each field that anything reads; others are passed on as they are.

    Each feature has the forms of the ledgers that it writes.
    """

    def __init__(self, name: str, fields: Mapping[str, Check]) -> None:
        self.name = name
        self.fields = {**dict.fromkeys(("time", "session", "project", "kind"), text), **fields}


def checked(row: dict[str, Any], fields: Mapping[str, Check]) -> dict[str, Any]:
    """Remove the fields of a wrong type from a row, and return it."""
    for name, check in fields.items():
        if name in row:
            value = check(row[name])
            if value is WRONG:
                del row[name]
            else:
                row[name] = value
    return row


class Records:
    """An iterator over the records of a ledger, oldest first.

    `lines` counts all lines, and `skipped` those without a record and files that could not be read.
    """

    def __init__(
        self, folder: str, form: Form, since: str = "", until: str = _END, project: str = "", *, tail: int = 0
    ) -> None:
        """Prepare to read a ledger.

        Args:
            folder: The folder with the ledgers.
            form: The form of its rows.
            since: The first time, as ledgers write it; a record without a time comes before all times.
            until: The first time after the period.
            project: Only the records of this project; empty for all.
            tail: Read only that many bytes at the end of the current file; 0 for everything.
        """
        self._fields, ledger = form.fields, Ledger(folder, form.name)
        self._paths = [ledger.path()] if tail else ledger.paths()
        self._since, self._until, self._project, self._tail = since, until, project, tail
        self.lines = self.skipped = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Read the files."""
        for path in self._paths:
            try:
                with open(path, "rb", opener=open_to_read) as file:
                    if self._tail:
                        seek_tail(file, self._tail)
                    for line in _lines(file):
                        row = self._record(line)
                        if row is not None:
                            yield row
            except OSError:
                self.skipped += 1

    def _record(self, line: bytes) -> dict[str, Any] | None:
        """Return the record in a line; None if there is none, or if it is not wanted."""
        self.lines += 1
        row = load_object(line)
        if row is None:
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
