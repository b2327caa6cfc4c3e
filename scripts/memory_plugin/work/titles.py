"""Titles are unique: which are taken by the active memories of a scope."""

from __future__ import annotations

from typing import Any

from ..memories.hygiene import clean_data
from ..memories.record import (
    ACTIVE,
)
from ..memories.relations import plain_title
from ..memories.survey import Item, life_cycle_state, read_item, shortest_names
from .context import WorkError

_TAKEN = "%s already has this title; to change that one: memory edit %s --body '...'"
_OR_REPLACE = "; to replace it: --supersedes %s; to keep both, choose another title"


class TakenTitles:
    """The titles taken in a scope: those of its active memories, and of memories about to be stored there."""

    def __init__(self, items: list[Item], scope: str, excluded: Item | None = None) -> None:
        """Collect the titles, except that of `excluded`, a memory that is being replaced or changed."""
        self._items = items
        self._by_title: dict[str, list[Item]] = {}
        self._new: dict[str, dict[str, Any]] = {}
        own = "" if excluded is None else excluded.stored.key
        for item in items:
            stored = item.stored
            if stored.key != own and stored.store.scope == scope and life_cycle_state(item) == ACTIVE:
                self._by_title.setdefault(plain_title(stored.memory.title), []).append(item)

    def owner(self, data: dict[str, Any], or_same: bool = False) -> str:
        """Return the name of a stored memory with the title of `data` but different text (or any text, if `or_same`); else empty."""
        cleaned, _ = clean_data(data)
        for item in self._by_title.get(plain_title(str(cleaned["title"])), ()):
            if or_same or not _is_same_memory(read_item(item).stored.memory.data, cleaned):
                return shortest_names(self._items)[item.stored.key]
        return ""

    def take(self, data: dict[str, Any], source: str) -> str:
        """Reserve the title of a new memory; return why it is taken, or "". `source` names the memory in later reasons."""
        title = plain_title(str(data["title"]))
        owner = self.owner(data) if title in self._by_title else ""
        if owner:
            return _TAKEN % (owner, owner)
        first = self._new.setdefault(title, {**data, "source": source})
        if _is_same_memory(first, data):
            return ""
        return "%s has this title too; give one of them another title" % first["source"]


def refuse_taken_title(items: list[Item], scope: str, data: dict[str, Any], old: Item | None) -> None:
    """Raise WorkError if an active memory of the scope has the title of `data` and says something else.

    Storing the same text again is fine. `old` is the memory that the new one replaces, if any.
    """
    name = TakenTitles(items, scope, old).owner(data)
    if name:
        raise WorkError((_TAKEN + _OR_REPLACE) % (name, name, name))


def _is_same_memory(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return all(old.get(name) == new.get(name) for name in ("category", "title", "content"))
