"""What is there already that a new memory may repeat or replace: the index names candidates, `memories.similarity` compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE, body_text
from ...memories.similarity import NEAR_DUPLICATE, SAME_TITLE, Similarity
from ...memories.survey import life, survey, unmistakable
from ...recall.memory_search import neighbors

if TYPE_CHECKING:
    from ...memories.record import Memory
    from ...memories.survey import Item
    from ..command_context import Session

__all__ = ["Similar", "similar_lines", "similar_to"]

_CANDIDATES = 20
_WEIGHED_BY = 300
_MOST_NAMED = 3
_MOST_NEW = 200


class Similar(NamedTuple):
    """A memory that is like a new one, why it is named, and the command that lets the new one replace it."""

    id: str
    title: str
    why: str
    command: str


def similar_to(
    session: Session, new: list[tuple[str, Memory]], *, repeated_only: bool = False
) -> list[list[Similar]]:
    """Return for each memory the active ones that it resembles, at most three; of two new ones that are alike, the later names the other.

    Args:
        session: whose stores, and whose index, which holds what was just stored.
        new: the memories with their keys; of more than 200 the first are looked at. A draft has a key of no stored memory and gets no
            command.
        repeated_only: only those that say the same, not those that answer the same question in another way.
    """
    looked_at = new[:_MOST_NEW]
    texts = ["%s\n%s\n%s" % (one.title, "\n".join(one.asked_as), body_text(one)) for _, one in looked_at]
    near = neighbors(session.places, session.settings, texts, _CANDIDATES) if texts else None
    if near is None:
        return [[] for _ in new]
    items = survey(session.places, session.accepts_pulls).items
    active = {item.stored.key: item for item in items if life(item) == ACTIVE}
    around = {item.stored.key: item for item in items[:_WEIGHED_BY]}
    around.update((key, active[key]) for keys in near.keys for key in keys if key in active)
    compared = Similarity((item.stored.memory for item in around.values()), near.stop)
    names = unmistakable(items)
    later = {key: at for at, (key, _) in enumerate(new)}
    found: list[list[Similar]] = [[] for _ in new]
    for at, ((key, memory), keys) in enumerate(zip(looked_at, near.keys)):
        others = [active[one] for one in keys if one in active and later.get(one, -1) < at]
        found[at] = _named(memory, names.get(key, ""), others, compared, names, repeated_only)
    return found


def _named(
    memory: Memory,
    name: str,
    others: list[Item],
    compared: Similarity,
    names: dict[str, str],
    repeated_only: bool,
) -> list[Similar]:
    found = []
    for item in others:
        why = compared.why(memory, item.stored.memory)
        if why and (not repeated_only or why in (SAME_TITLE, NEAR_DUPLICATE)):
            old = names[item.stored.key]
            command = "memory edit %s --superseded-by %s" % (old, name) if name else ""
            found.append(Similar(old, shown_line(item.stored.memory.title), why, command))
    return found[:_MOST_NAMED]


def similar_lines(found: list[Similar]) -> list[str]:
    """Return the lines that tell a person about similar memories, with what to do."""
    lines = []
    for one in found:
        lines.append("  %s: %s  %s" % (one.why, one.id, one.title))
        if one.command:
            lines.append("    if the new one replaces it: " + one.command)
    return lines
