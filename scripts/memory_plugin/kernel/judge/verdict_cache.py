"""The cache of verdicts: the same question to the same model is paid for once a week. It holds digests and values, no text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..clock import now
from ..state_file import read_state, write_state
from .budget import limit

if TYPE_CHECKING:
    from .question import Values

_MAX_BYTES = 1 << 20


class VerdictCache:
    """The file `verdicts.json` in a folder. It has no lock: of two writers one may lose an entry, which costs one more question."""

    __slots__ = ("_path", "_rows")

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "verdicts.json")
        self._rows: dict[str, list[Any]] | None = None

    def get(self, key: str) -> Values | None:
        """Return the values of an earlier verdict; None if there is none or it is too old."""
        row = self._read().get(key)
        return row[1] if row is not None and _is_fresh(row) else None

    def put(self, verdicts: dict[str, Values]) -> None:
        """Store some verdicts. Raises OSError."""
        self._rows = None
        rows = {key: row for key, row in self._read().items() if _is_fresh(row)}
        rows.update({key: [now(), values] for key, values in verdicts.items()})
        newest = sorted(rows.items(), key=lambda item: -item[1][0])[: int(limit("cache", "entries"))]
        self._rows = dict(newest)
        write_state(self._path, self._rows)

    def clear(self) -> int:
        """Delete all verdicts and return how many there were. Raises OSError."""
        count = len(self._read())
        self._rows = {}
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            return 0
        return count

    def _read(self) -> dict[str, list[Any]]:
        if self._rows is None:
            rows = read_state(self._path, _MAX_BYTES)
            self._rows = {key: row for key, row in rows.items() if _is_row(row)}
        return self._rows


def _is_row(row: object) -> bool:
    return isinstance(row, list) and len(row) == 2 and isinstance(row[0], float) and isinstance(row[1], dict)


def _is_fresh(row: list[Any]) -> bool:
    return bool(0 <= now() - row[0] < limit("cache", "seconds"))
