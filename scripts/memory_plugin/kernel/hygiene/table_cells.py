"""Cells of Markdown tables that belong to the name of a secret, as the assignments that they mean."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cells"]

_ROW = re.compile(r"\|[^\n]{3,2000}\|[ \t]{0,20}\r?(?=\n|\Z)")
_MARGIN = 20  # characters before a row: indentation, quotation marks
_RULE = re.compile(r"[\s>|:-]+\Z")
_NAME = re.compile(r"(?i)pass|pwd|secret|token|key|cred|pin\b|kennwort|contrase|clave|senha")
_CELL = re.compile(r"[^|]+")
_MOST_NAMES = 4  # columns that are named like secrets


def cells(text: str) -> Iterator[list[tuple[str, int, int]]]:
    """Yield the pieces of `name: cell` for each cell below or right of one that may name a secret."""
    header: list[tuple[int, int, int]] = []
    before: list[tuple[int, int]] = []
    end = -1
    for row in _ROW.finditer(text):
        margin = text[max(0, row.start() - _MARGIN) : row.start()].rpartition("\n")[2]
        if margin.strip(" \t>"):
            continue
        if row.start() - len(margin) > end + 1:  # another table
            header, before = [], []
        end = row.end()
        if _RULE.match(row[0]):
            header = [(n, *cell) for n, cell in enumerate(before) if _NAME.search(text, *cell)][:_MOST_NAMES]
            continue
        before = [
            _trimmed(text, row.start() + c.start(), row.start() + c.end())
            for c in _CELL.finditer(row[0].rstrip())
        ]
        yield from (_pair(text, (start, stop), before[n]) for n, start, stop in header if n < len(before))
        named = [n for n in range(len(before) - 1) if _NAME.search(text, *before[n])] if not header else []
        yield from (_pair(text, before[n], before[n + 1]) for n in named[:_MOST_NAMES])


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    cell = text[start:end]
    return start + len(cell) - len(cell.lstrip(" \t`*")), start + len(cell.rstrip(" \t`*"))


def _pair(text: str, name: tuple[int, int], value: tuple[int, int]) -> list[tuple[str, int, int]]:
    return [
        (text[slice(*name)].replace(" ", "_"), *name),
        (": ", value[0], value[0]),
        (text[slice(*value)], *value),
    ]
