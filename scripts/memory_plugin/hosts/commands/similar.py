"""What is there already that a new memory may repeat or replace: the index names candidates, `memories.similarity` compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE, body_text
from ...memories.similarity import NEAR_DUPLICATE, SAME_TITLE, Similarity
from ...memories.survey import life, survey, unmistakable
from ...recall.neighbors import neighbors

if TYPE_CHECKING:
    from ...memories.files import StoredMemory
    from ...memories.survey import Item
    from ..session_context import Session

__all__ = ["Similar", "similar_lines", "similar_to"]

_CANDIDATES = 20
_WEIGHED_BY = 300
_MOST_NAMED = 3


class Similar(NamedTuple):
    """A memory that is like a new one, why it is named, and the command that lets the new one replace it."""

    id: str
    title: str
    why: str
    command: str


def similar_to(
    session: Session, new: list[StoredMemory], *, repeated_only: bool = False
) -> list[list[Similar]]:
    """Return for each memory that was just stored, and is in the index, the active ones that it resembles, at most three each.

    With `repeated_only` only those that say the same, not those that answer the same question in another way.
    """
    texts = [
        "%s\n%s\n%s" % (one.memory.title, "\n".join(one.memory.asked_as), body_text(one.memory))
        for one in new
    ]
    near = neighbors(session.places, session.settings, texts, _CANDIDATES) if texts else None
    if near is None:
        return [[] for _ in new]
    items = survey(session.places, session.accepts_pulls).items
    active = {item.stored.key: item for item in items if life(item) == ACTIVE}
    around = {item.stored.key: item for item in items[:_WEIGHED_BY]}
    around.update((key, active[key]) for keys in near.keys for key in keys if key in active)
    compared = Similarity((item.stored.memory for item in around.values()), near.stop)
    names = unmistakable(items)
    found = []
    for one, keys in zip(new, near.keys):
        others = [active[key] for key in keys if key in active and key != one.key]
        found.append(_named(one, others, compared, names, repeated_only))
    return found


def _named(
    new: StoredMemory, others: list[Item], compared: Similarity, names: dict[str, str], repeated_only: bool
) -> list[Similar]:
    found = []
    for item in others:
        why = compared.why(new.memory, item.stored.memory)
        if why and (not repeated_only or why in (SAME_TITLE, NEAR_DUPLICATE)):
            old = names[item.stored.key]
            command = "memory edit %s --superseded-by %s" % (old, names.get(new.key, new.key))
            found.append(Similar(old, shown_line(item.stored.memory.title), why, command))
    return found[:_MOST_NAMED]


def similar_lines(found: list[Similar]) -> list[str]:
    """Return the lines that tell a person about similar memories, with what to do."""
    lines = []
    for one in found:
        lines.append("  %s: %s  %s" % (one.why, one.id, one.title))
        lines.append("    if the new one replaces it: " + one.command)
    return lines
