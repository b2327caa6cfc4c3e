"""Read the ledgers in a folder once, as a stream. Only the rows of one period and project are parsed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.fastjson import loads
from ...kernel.ledger import open_to_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["LedgerFolder", "Period", "best_candidate", "candidates_of"]

_MAX_LINE = 1 << 20
_BLOCK = 1 << 16  # bytes; a block and its lines stay in the processor's cache
_REPORT_EVERY = 20_000
_CANDIDATES = ',"candidates":['  # a JSON text contains no unescaped quote, so only the field itself matches
_BEST_WITHIN = 400  # characters after the beginning of the candidates
_HEAD = '{"schema":1,"time":"'  # the start of every record of ours
_DAMAGED = "?"  # replaces a line that is not UTF-8; it is not valid JSON
_BEST = re.compile(r'\{"key":"([^"\\]{1,300})","confidence":([0-9.]{1,9})[,}]')


class Period(NamedTuple):
    """The rows that count: from `since` to before `until` (texts as in ledgers), of one project, or of all (empty)."""

    since: str
    until: str
    project: str


class LedgerFolder:
    """A folder with ledgers and their older parts; `skipped` counts lines without a valid record, `lines` all lines read."""

    def __init__(self, folder: str, period: Period, progress: Callable[[int, int, int], None]) -> None:
        """Find the files; `progress` is called with the bytes read, the total bytes, and the lines read."""
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
        """Return whether the folder contains no ledger."""
        return not self._files

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a ledger in the period, oldest part first."""
        for lines in self.blocks(name):
            for line in lines:
                row = self.parsed(line)
                if row is not None:
                    yield row

    def parsed(self, line: str) -> dict[str, Any] | None:
        """Return the record of a line; None outside the period or project. An invalid line gives None too, and is counted."""
        try:
            row = loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            self.skipped += 1
            return None
        return row if self._is_wanted(row) else None

    def blocks(self, name: str) -> Iterator[list[str]]:
        """Yield a few hundred lines at a time, without those that start with a time outside the period or name another project.

        A ledger may have millions of lines, and a list costs a tenth of a generator's time for each.
        """
        since, until = self.period.since, self.period.until
        mark = '"project":"%s"' % self.period.project if self.period.project else ""
        first, last = len(_HEAD), len(_HEAD) + 20
        for text in self._texts(name):
            yield [
                line
                for line in text.split("\n")
                if line and (since <= line[first:last] < until or not line.startswith(_HEAD)) and mark in line
            ]

    def _is_wanted(self, row: dict[str, Any]) -> bool:
        time = row.get("time")
        if not isinstance(time, str) or not self.period.since <= time < self.period.until:
            return False
        return not self.period.project or row.get("project") == self.period.project

    def _texts(self, name: str) -> Iterator[str]:
        """Yield the text of a ledger's files, in pieces that end at a line's end."""
        reported = self.lines
        for path, size in self._files.get(name, ()):
            start = self._read
            try:
                with open(path, "rb", buffering=0, opener=open_to_read) as file:
                    for block in _blocks(file):
                        self._read += len(block)
                        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))
                        if self.lines - reported >= _REPORT_EVERY:
                            reported = self.lines
                            self._progress(self._read, self._bytes, reported)
                        yield _text(block)
            except OSError:
                self.skipped += 1
            self._read = start + size


def _blocks(file: Any) -> Iterator[bytes]:  # noqa: ANN401  (an open file of bytes)
    """Yield whole lines. A line that is too long comes in pieces, none of which is a valid record."""
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


def _text(block: bytes) -> str:
    """Return a block as text. Our lines are ASCII; any other block is decoded line by line, so one bad line affects no other."""
    if block.isascii():
        return block.decode("ascii")
    return "\n".join(map(_line, block.split(b"\n")))


def _line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except ValueError:
        return _DAMAGED


def _ledger_files(folder: str) -> dict[str, list[tuple[str, int]]]:
    """Return paths and sizes by ledger, the oldest part first: `recalls.2.jsonl`, `recalls.1.jsonl`, `recalls.jsonl`."""
    ledgers: dict[str, list[tuple[int, str, int]]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            name, *suffixes = entry.name.split(".")
            if suffixes[-1:] != ["jsonl"] or len(suffixes) > 2 or not entry.is_file(follow_symlinks=False):
                continue
            number = suffixes[0]
            part = int(number) if number.isdigit() and len(number) < 10 else 0
            ledgers.setdefault(name, []).append((part, entry.path, entry.stat().st_size))
    return {
        name: [(path, size) for _, path, size in sorted(parts, reverse=True)]
        for name, parts in ledgers.items()
    }


def candidates_of(line: str) -> str:
    """Return the first characters of the candidates in a line of the `recalls` ledger; empty if it has none."""
    at = line.find(_CANDIDATES)
    return line[at : at + _BEST_WITHIN] if at > 0 else ""


def best_candidate(text: str) -> tuple[str, float] | None:
    """Return the key and confidence of the best candidate, which is the first, from their first characters. None if there is none."""
    match = _BEST.search(text)
    if match is None:
        return None
    try:
        return match[1], float(match[2])
    except ValueError:
        return None
