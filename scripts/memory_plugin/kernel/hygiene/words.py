"""Word lists that filters and rules refer to, by the names they have in `words.json`."""

from __future__ import annotations

from functools import cache

from .data import DataError, strings, table

__all__ = ["words"]


@cache
def words(name: str) -> tuple[str, ...]:
    """The list of that name. Raises DataError when there is none."""
    found = table("words.json").get(name)
    if found is None:
        raise DataError("words.json: no list " + name)
    return strings(found, "words.json: " + name)
