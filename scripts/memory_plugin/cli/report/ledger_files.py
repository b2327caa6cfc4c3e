"""Read a folder of ledgers as a stream, and parse only the rows of the wanted period and project."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.fastjson import loads
from ...kernel.ledger import open_to_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_MAX_LINE = 1 << 20
_BLOCK = 1 << 16  # bytes; a block and its lines stay in the processor's cache
_PROGRESS_EVERY = 20_000  # lines
_CANDIDATES = (
    ',"candidates":['  # a quote inside a JSON string is escaped, so this matches only the field itself
)
_MAX_BEST = 400  # characters from the start of the candidates within which the first one ends
_RECORD_START = '{"schema":1,"time":"'
_DAMAGED = "?"  # replaces a line that is not UTF-8; it is not valid JSON either
_BEST = re.compile(r'\{"key":"([^"\\]{1,300})","confidence":([0-9.]{1,9})[,}]')


class Period(NamedTuple):
    """The wanted rows: times from `since` up to but not including `until`, as ledgers write them, and a project key ("" for all)."""

    since: str
    until: str
    project: str


class LedgerFolder:
    """A folder of ledgers and their older parts; `lines` counts all lines read, `skipped` those without a record."""

    def __init__(self, folder: str, period: Period, progress: Callable[[int, int, int], None]) -> None:
        """List the files; `progress` is called with the bytes read, the total bytes, and the lines read."""
        self.folder = folder
        self.period = period
        self.skipped = 0
        self.lines = 0
        self._progress = progress
        self._files = _ledger_files(folder)
        self._bytes = sum(size for files in self._files.values() for _, size in files)
        self._read = 0

    @property
    def is_empty(self) -> bool:
        """Return whether the folder holds no ledger."""
        return not self._files

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a ledger in the period, oldest part first."""
        for lines in self.blocks(name):
            for line in lines:
                row = self.parse(line)
                if row is not None:
                    yield row

    def parse(self, line: str) -> dict[str, Any] | None:
        """Return the record in a line, or None if it is not wanted; a line without a record counts as skipped."""
        try:
            row = loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            self.skipped += 1
            return None
        return row if self._is_wanted(row) else None

    def blocks(self, name: str) -> Iterator[list[str]]:
        """Yield lists of a few hundred lines, without lines that are clearly of another time or project.

        Ledgers have millions of lines, and lists cost a tenth of what a generator of lines does.
        """
        since, until = self.period.since, self.period.until
        project_field = '"project":"%s"' % self.period.project if self.period.project else ""
        time_start, time_end = len(_RECORD_START), len(_RECORD_START) + 20
        for text in self._texts(name):
            yield [
                line
                for line in text.split("\n")
                if line
                and (since <= line[time_start:time_end] < until or not line.startswith(_RECORD_START))
                and project_field in line
            ]

    def _is_wanted(self, row: dict[str, Any]) -> bool:
        time = row.get("time")
        if not isinstance(time, str) or not self.period.since <= time < self.period.until:
            return False
        return not self.period.project or row.get("project") == self.period.project

    def _texts(self, name: str) -> Iterator[str]:
        """Yield the text of a ledger in pieces that end at the end of a line."""
        reported = self.lines
        for path, size in self._files.get(name, ()):
            start = self._read
            try:
                with open(path, "rb", buffering=0, opener=open_to_read) as file:
                    for block in _blocks(file):
                        self._read += len(block)
                        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))
                        if self.lines - reported >= _PROGRESS_EVERY:
                            reported = self.lines
                            self._progress(self._read, self._bytes, reported)
                        yield _decode(block)
            except OSError:
                self.skipped += 1
            self._read = start + size


def _blocks(file: Any) -> Iterator[bytes]:  # noqa: ANN401  (an open file of bytes)
    """Yield blocks of whole lines; a line longer than 1 MiB is split, and its pieces are not records."""
    rest = b""
    while data := file.read(_BLOCK):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = data[end:]
        else:
            rest += data
        if len(rest) > _MAX_LINE:
            yield rest
            rest = b""
    if rest:
        yield rest


def _decode(block: bytes) -> str:
    """Decode a block. The plugin writes ASCII; any other block is decoded line by line, to lose only the damaged lines."""
    if block.isascii():
        return block.decode("ascii")
    return "\n".join(map(_decode_line, block.split(b"\n")))


def _decode_line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except ValueError:
        return _DAMAGED


def _ledger_files(folder: str) -> dict[str, list[tuple[str, int]]]:
    """Return paths and sizes by ledger, oldest part first: `recalls.2.jsonl`, `recalls.1.jsonl`, `recalls.jsonl`."""
    ledgers: dict[str, list[tuple[int, str, int]]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            words = entry.name.split(".")
            if words[-1] != "jsonl" or len(words) > 3 or not entry.is_file(follow_symlinks=False):
                continue
            part = int(words[1]) if len(words) == 3 and words[1].isdigit() and len(words[1]) < 10 else 0
            ledgers.setdefault(words[0], []).append((part, entry.path, entry.stat().st_size))
    return {
        name: [(path, size) for _, path, size in sorted(parts, reverse=True)]
        for name, parts in ledgers.items()
    }


def candidates_of(line: str) -> str:
    """Return the start of the candidates in a line of the ledger `recalls`; empty without candidates."""
    start = line.find(_CANDIDATES)
    return line[start : start + _MAX_BEST] if start > 0 else ""


def best_candidate(text: str) -> tuple[str, float] | None:
    """Return the key and confidence of the first candidate, which is the best one; None without candidates."""
    match = _BEST.search(text)
    if match is None:
        return None
    try:
        return match[1], float(match[2])
    except ValueError:
        return None
