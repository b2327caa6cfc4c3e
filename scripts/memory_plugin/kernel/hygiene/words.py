"""Word lists that filters and rules refer to, by the names they have in `words.json`."""

from __future__ import annotations

from functools import cache

from .data import strings, table

__all__ = ["words"]


@cache
def words(name: str) -> tuple[str, ...]:
    """The list of that name. Raises DataError when there is none."""
    return strings(table("words.json")[name], "words.json: " + name)
