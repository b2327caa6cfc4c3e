"""Append-only files of the user's decisions about texts: `trust/trusted.jsonl` and `trust/rejected.jsonl`.

The last record of a digest decides. A prompt asks for a few digests and searches them in the bytes of the file: 100,000 lines cost it only
milliseconds. Only a missing file counts as empty. An unreadable one is an error; damaged lines decide nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BytesIO
from typing import NamedTuple

from ..kernel import files
from ..kernel.context import now_iso
from ..kernel.fastjson import dumps, load_object
from ..kernel.paths import Paths
from ..kernel.text import positions

NOTHING = (0, 0)
LOCK = "trust"  # of all records of trust
SEEN = "seen"  # a decision that only records the name of a memory whose text is trusted
SCHEMA = 1
_MAX_BYTES = 256 << 20
# One search through 20 MB takes 2 ms, and a table of its 100,000 lines 90 ms.
_MAX_SEARCHES = 30
_contents: dict[str, tuple[str, bytes, tuple[int, int]]] = {}  # of the files that this process has read
_DIGEST = b'"digest":"'
_NAME = b'"project":'


class TrustUnreadable(OSError):
    """Raised when a record of trust exists but cannot be read, so that it is unknown what is trusted."""

    def __init__(self, path: str, reason: str) -> None:
        text = "the record of what you trust cannot be read (%s); nothing changed; see: memory doctor"
        super().__init__(errno.EIO, text % reason, path)


class Decision(NamedTuple):
    """One record: the decision (`how`) about the text with a digest, and the memory's name."""

    digest: str
    how: str
    project: str
    category: str
    id: str

    @property
    def name(self) -> bytes:
        """Return the last fields of the line, which identify the memory."""
        fields = {"project": self.project, "category": self.category, "id": self.id}
        return dumps(fields).encode("ascii")[1:]


def decision_paths(paths: Paths) -> tuple[str, str]:
    """Return the paths of the records of trusted and of rejected texts."""
    return paths.state("trust", "trusted.jsonl"), paths.state("trust", "rejected.jsonl")


class DecisionFile:
    """One file of decisions, which `load` reads again after a change. A caller that appends holds the lock LOCK.

    `end` is the inode and the size of what was read; a later reader passes it to `since`.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.end = NOTHING
        self._data = b""
        self._searches = 0
        self._tables: dict[bytes, dict[int, int]] = {}

    def load(self) -> None:
        """Read the file if it changed. Raises TrustUnreadable."""
        try:
            data, self.end = _content(self.path)
        except FileNotFoundError:
            data, self.end = b"", NOTHING
        except files.Unreadable as error:
            raise TrustUnreadable(self.path, str(error).removeprefix(self.path + ": ")) from None
        if data is not self._data:
            self._data = data
            self._searches = 0
            self._tables.clear()

    def damaged_lines(self) -> int:
        """Return the number of lines without a decision, such as the torn line of a killed writer."""
        return sum(bool(line.strip()) and _parse(line) is None for line in self._data.splitlines())

    def last_of(self, digest: str, skipped: str = "") -> Decision | None:
        """Return the last decision about a text, except those of one kind; None if there is none."""
        return self._last(_DIGEST, digest.encode("ascii", "replace") + b'"', skipped)

    def last_named(self, name: bytes) -> Decision | None:
        """Return the last decision about the memory with this `Decision.name`."""
        return self._last(_NAME, name.removeprefix(_NAME))

    def all_named(self, name: bytes) -> list[Decision]:
        """Return every decision about the memory with this `Decision.name`, the oldest first."""
        lines = (line for line in self._data.splitlines() if name in line)
        return [decision for line in lines if (decision := _parse(line)) is not None]

    def since(self, end: tuple[int, int]) -> Iterable[Decision] | None:
        """Return the decisions appended after `end`, parsed one by one; None if the file was replaced or truncated."""
        if end == self.end:
            return []
        if (self.end[0] != end[0] and end != NOTHING) or self.end[1] < end[1]:
            return None
        return filter(None, map(_parse, BytesIO(self._data[end[1] :])))

    def _last(self, mark: bytes, rest: bytes, skipped: str = "") -> Decision | None:
        self._searches += 1
        at = (
            self._data.rfind(mark + rest)
            if self._searches < _MAX_SEARCHES
            else self._table(mark).get(hash(rest), -1)
        )
        while at >= 0:
            start = self._data.rfind(b"\n", 0, at) + 1
            line = self._line(start)
            decision = _parse(line) if mark + rest in line else None
            if decision is not None and decision.how != skipped:
                return decision
            at = self._data.rfind(mark + rest, 0, start)
        return None

    def _line(self, start: int) -> bytes:
        end = self._data.find(b"\n", start)
        return self._data[start:end] if end >= 0 else self._data[start:]

    def _table(self, mark: bytes) -> dict[int, int]:
        """Return the last offset of each digest or name by its hash. No value can contain the mark, because JSON escapes its quotes."""
        if mark not in self._tables:
            table: dict[int, int] = {}
            for at in positions(self._data, mark):
                rest = self._line(at + len(mark))
                table[hash(rest[: rest.find(b'"') + 1] if mark == _DIGEST else rest)] = at
            self._tables[mark] = table
        return self._tables[mark]

    def append(self, decisions: Iterable[Decision]) -> None:
        """Append decisions in one write and wait for the disk. Raises OSError; then the write is undone if possible."""
        lines = b"".join(map(_line_of, decisions))
        if not lines:
            return
        files.make_folder(os.path.dirname(self.path))
        files.append_lines(self.path, lines, durable=True)
        self.load()

    def rewrite(self, changed: Callable[[Decision], Decision | None]) -> None:
        """Replace each decision by the result of `changed` (None removes it); all other lines stay. Raises OSError."""
        lines = []
        for line in self._data.splitlines(keepends=True):
            decision = _parse(line)
            new = None if decision is None else changed(decision)
            if decision is None or new == decision:
                lines.append(line)
            elif new is not None:
                lines.append(line[: line.index(_NAME)] + new.name + b"\n")
        if (data := b"".join(lines)) != self._data:
            files.replace_file(self.path, data)
            self.load()


def _content(path: str) -> tuple[bytes, tuple[int, int]]:
    """Return the bytes of a file and its end, from the last read of this process if the file has not changed. Raises Unreadable."""
    with suppress(OSError):
        if path in _contents and _contents[path][0] == files.stamp(os.lstat(path)):
            return _contents[path][1:]
    data, status = files.read_regular(path, _MAX_BYTES)
    _contents[path] = (files.stamp(status), data, (status.st_ino, len(data)))
    return _contents[path][1:]


def _line_of(decision: Decision) -> bytes:
    head = {"schema": SCHEMA, "time": now_iso(), "digest": decision.digest, "how": decision.how}
    return dumps(head).encode("ascii")[:-1] + b"," + decision.name + b"\n"


def _parse(line: bytes) -> Decision | None:
    row = load_object(line)
    if row is None or row.get("schema") != SCHEMA:
        return None
    values = [str(row[name]) for name in Decision._fields if isinstance(row.get(name), str)]
    return Decision(*values) if len(values) == len(Decision._fields) else None
