"""Changes of a memory that concern others: its title, and the memory that replaces it."""

from __future__ import annotations

from typing import Any

from ..memories import InvalidMemory
from ..memories.hygiene import shown_line
from ..memories.lifecycle import edit, supersede, unsupersede
from ..memories.memory_files import StoredMemory
from ..memories.record import ACTIVE, MAX_TITLE
from ..memories.relations import name_for, plain_title
from ..memories.survey import (
    Item,
    choose,
    life_cycle_state,
    shortest_names,
    successors,
    superseding,
)
from ..memories.trust import TRUSTED
from .context import WorkContext
from .titles import TakenTitles

NONE = "none"

_SAME_TITLE = "%s already has this title. Choose a different one; if both say the same: memory edit %s --superseded-by %s"
_PENDING = "--superseded-by: %s awaits approval and replaces nothing yet; first run: memory accept %s"
_REPLACED = "--superseded-by: %s is itself superseded by %s; first run: memory edit %s --superseded-by none"


def refuse_title(context: WorkContext, item: Item, changes: dict[str, Any]) -> None:
    """Raise InvalidMemory if another active memory of the scope has the new title."""
    data = {**item.stored.memory.data, **changes}
    same = plain_title(str(data["title"])) == plain_title(item.stored.memory.title)
    if same or life_cycle_state(item) != ACTIVE:
        return
    title = shown_line(str(data["title"]), MAX_TITLE)
    items = context.overview(is_current=True, names=[item.stored.key], title=title).items
    name = TakenTitles(items, item.stored.store.scope, item).owner(data, or_same=True)
    if name:
        raise InvalidMemory(_SAME_TITLE % (name, shortest_names(items)[item.stored.key], name))


def chosen_successor(name: str | None, item: Item, items: list[Item]) -> Item | None:
    """Return the memory named by --superseded-by. Raises InvalidMemory for the memory itself, or one that it replaces."""
    if name in (None, NONE):
        return None
    chosen = choose(items, str(name))
    identity = chosen.stored.memory.id
    if chosen.stored.key == item.stored.key:
        raise InvalidMemory("--superseded-by: a memory cannot replace itself")
    if chosen.trust != TRUSTED:
        raise InvalidMemory(_PENDING % (identity, shortest_names(items)[chosen.stored.key]))
    if item.stored.key in successors(items, chosen):
        raise InvalidMemory(_REPLACED % (identity, item.stored.memory.id, identity))
    return chosen


def resupersede(
    context: WorkContext, item: Item, successor: Item | None, items: list[Item], approved: bool
) -> StoredMemory:
    """Set or remove the memory that replaces this one; return the updated memory."""
    if successor is None:
        return unsupersede(context.paths, item.stored, superseding(items, item), approved)
    if approved:
        return supersede(context.paths, item, successor)
    change = {"superseded_by": name_for(successor.stored.key, item.stored.key)}
    return edit(context.paths, item.stored, lambda _: change, "edited: superseded by", approved=False).stored
