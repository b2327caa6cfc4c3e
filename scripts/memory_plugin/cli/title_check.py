"""One title means one memory of a scope: a second one under the same title is refused, with the commands that do what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..memories.hygiene import clean_data, shown_line
from ..memories.record import ACTIVE
from ..memories.similarity import plain_title
from ..memories.survey import life_cycle_state, shortest_names
from .command_context import CommandError

if TYPE_CHECKING:
    from ..memories.survey import Item

__all__ = ["refuse_taken_title"]


def refuse_taken_title(items: list[Item], scope: str, data: dict[str, Any], old: Item | None) -> None:
    """Raise CommandError if an active memory of the scope has the title of `data` and says something else.

    The same text again is no second memory, and `old` is the memory that the new one replaces.
    """
    cleaned, _ = clean_data(data)
    title = plain_title(str(cleaned["title"]))
    for item in items:
        memory = item.stored.memory
        if item is old or item.stored.store.scope != scope or life_cycle_state(item) != ACTIVE:
            continue
        if plain_title(memory.title) != title or _says_the_same(memory.data, cleaned):
            continue
        name = shortest_names(items)[item.stored.key]
        raise CommandError(
            "%s has this title already: %s. To change it: memory edit %s --body '...'. To replace it: add --supersedes %s."
            " For a second memory choose another title." % (name, shown_line(memory.title), name, name)
        )


def _says_the_same(there: dict[str, Any], new: dict[str, Any]) -> bool:
    return all(there.get(name) == new.get(name) for name in ("category", "title", "content"))
