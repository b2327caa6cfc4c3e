"""The bounds in `config/judges/limits.json`: how long a server is left alone, how much is kept."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..native import loads
from ..paths import data_path

if TYPE_CHECKING:
    from typing import Any

__all__ = ["limit"]


@cache
def _table() -> dict[str, Any]:
    with open(data_path("judges", "limits.json"), encoding="utf-8") as file:
        table = loads(file.read())
    assert isinstance(table, dict)
    return table


def limit(block: str, name: str) -> float:
    """One bound, in seconds or as a number of things. Raises KeyError for one that does not exist."""
    return float(_table()[block][name])
