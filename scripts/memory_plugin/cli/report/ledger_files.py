"""The files of a folder of ledgers, read once as a stream: only the rows of a period and of a project are parsed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.fastjson import loads
from ...kernel.ledger import open_to_read
from .quick_rows import CANDIDATES, quick_recall, quick_score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["LedgerFolder", "Period", "best_candidate"]

_MAX_LINE = 1 << 20
_REPORT_EVERY = 20_000
_BEST_WITHIN = 400  # bytes after the beginning of the candidates
_HEAD = b'{"schema":1,"time":"'  # how each record of ours begins
_TIME = slice(len(_HEAD), len(_HEAD) + 20)
_BEST = re.compile(r'\{"key":"([^"\\]{1,300})","confidence":([0-9.]{1,9})[,}]')


class Period(NamedTuple):
    """The rows that count: from `since` to before `until` (texts as in ledgers), of one project, or of all (empty)."""

    since: str
    until: str
    project: str


class LedgerFolder:
    """A folder with ledgers and their older parts; `skipped` counts lines without a record, `lines` all lines read."""

    def __init__(self, folder: str, period: Period, progress: Callable[[int, int, int], None]) -> None:
        """Find the files; `progress` gets the bytes read, the bytes in all, and the lines read."""
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
        """Return whether no file of the folder is a ledger."""
        return not self._files

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a ledger in the period, oldest part first."""
        for line in self._wanted_lines(name):
            row = _row(line)
            if row is not None and self._is_wanted(row):
                yield row
            self.skipped += row is None

    def recalls(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the records of `recalls` without their candidates, each with the text of these."""
        for line in self._wanted_lines("recalls"):
            text = _ascii(line)
            found = quick_recall(text)
            if found is None:
                start = text.find(CANDIDATES)
                row = _row(line)
                found = (
                    None if row is None else (row, text[start : start + _BEST_WITHIN] if start > 0 else "")
                )
            if found is None:
                self.skipped += 1
            elif self._is_wanted(found[0]):
                yield found

    def scores(self) -> Iterator[dict[str, Any]]:
        """Yield the records of `scores`."""
        for line in self._wanted_lines("scores"):
            row = quick_score(_ascii(line)) or _row(line)
            if row is not None and self._is_wanted(row):
                yield row
            self.skipped += row is None

    def _wanted_lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines but those whose beginning says that they belong to another time or project."""
        since, until = self.period.since.encode(), self.period.until.encode()
        mark = b'"project":"%s"' % self.period.project.encode() if self.period.project else b""
        for line in self._lines(name):
            if not (line.startswith(_HEAD) and not since <= line[_TIME] < until) and mark in line:
                yield line

    def _is_wanted(self, row: dict[str, Any]) -> bool:
        time = row.get("time")
        if not isinstance(time, str) or not self.period.since <= time < self.period.until:
            return False
        return not self.period.project or row.get("project") == self.period.project

    def _lines(self, name: str) -> Iterator[bytes]:
        for path, size in self._files.get(name, ()):
            start = self._read
            try:
                with open(path, "rb", buffering=1 << 18, opener=open_to_read) as file:
                    for line in _bounded_lines(file):
                        self._read += len(line)
                        self.lines += 1
                        if self.lines % _REPORT_EVERY == 0:
                            self._progress(self._read, self._bytes, self.lines)
                        if len(line) > 1:
                            yield line
            except OSError:
                self.skipped += 1
            self._read = start + size


def _bounded_lines(file: Any) -> Iterator[bytes]:  # noqa: ANN401  (an open file of bytes)
    """Yield the lines; one that is too long comes in pieces, which hold no record."""
    while line := file.readline(_MAX_LINE):
        yield line


def _ascii(line: bytes) -> str:
    """Return a line of ours as text; empty for any other one, since ours are ASCII."""
    return line.decode("ascii") if line.isascii() else ""


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = loads(line.decode("utf-8"))
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _ledger_files(folder: str) -> dict[str, list[tuple[str, int]]]:
    """Return paths and sizes by ledger, the oldest part first: `recalls.2.jsonl`, `recalls.1.jsonl`, `recalls.jsonl`."""
    found: dict[str, list[tuple[int, str, int]]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            words = entry.name.split(".")
            if words[-1] != "jsonl" or len(words) > 3 or not entry.is_file(follow_symlinks=False):
                continue
            part = int(words[1]) if len(words) == 3 and words[1].isdigit() and len(words[1]) < 10 else 0
            found.setdefault(words[0], []).append((part, entry.path, entry.stat().st_size))
    return {
        name: [(path, size) for _, path, size in sorted(parts, reverse=True)] for name, parts in found.items()
    }


def best_candidate(candidates: str) -> tuple[str, float] | None:
    """Return key and confidence of the first candidate, which is the best one; None where the row says none."""
    match = _BEST.search(candidates, 0, _BEST_WITHIN)
    if match is None:
        return None
    try:
        return match[1], float(match[2])
    except ValueError:
        return None
