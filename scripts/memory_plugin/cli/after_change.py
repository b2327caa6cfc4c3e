"""After a command changed a store: the index is brought up to date, so that the very next prompt sees the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..hooks.background import start_healing
from ..kernel.files import in_words
from ..kernel.sqlite import SqliteError
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE, body_text
from ..memories.similarity import NEAR_DUPLICATE, SAME_TITLE, Similarity
from ..memories.survey import life, survey, unmistakable
from ..recall.healing import heal_now, scrub_index
from ..recall.index.file import IndexError_
from ..recall.neighbors import neighbors

if TYPE_CHECKING:
    from ..memories.record import Memory
    from ..memories.survey import Item
    from .command_context import CommandContext

__all__ = ["Similar", "refresh_index", "similar_lines", "similar_to"]

_CANDIDATES = 20
_WEIGHED_BY = 300
_MOST_NAMED = 3
_MOST_NEW = 200


def refresh_index(context: CommandContext, *, scrub: bool = False) -> bool:
    """Whether the index is up to date now; where not, the user is told: the change itself is stored, and a later prompt heals.

    With `scrub` no word of what was deleted is left in the index's file either.
    """
    try:
        report = heal_now(context.places, context.settings, rounds=1)
        if scrub:
            scrub_index(context.places)
    except (IndexError_, SqliteError, OSError) as error:
        context.console.error(
            "done, but the index is not up to date yet (%s); the next prompt sees to it" % in_words(error)
        )
        return False
    if report.left:
        start_healing(context.places)
        context.console.error(
            "done; the index is still being brought up to date in the background: %d files are left"
            % report.left
        )
    return True


class Similar(NamedTuple):
    """A memory that is like a new one, why it is named, and the command that lets the new one replace it."""

    id: str
    title: str
    why: str
    command: str


def similar_to(
    context: CommandContext, new: list[tuple[str, Memory]], *, repeated_only: bool = False
) -> list[list[Similar]]:
    """Return for each memory the active ones that it resembles, at most three; of two new ones that are alike, the later names the other.

    Args:
        context: the stores, and the index, which holds what was just stored.
        new: the memories with their keys; of more than 200 the first are looked at. A draft has a key of no stored memory and gets no
            command.
        repeated_only: only those that say the same, not those that answer the same question in another way.
    """
    looked_at = new[:_MOST_NEW]
    texts = ["%s\n%s\n%s" % (one.title, "\n".join(one.asked_as), body_text(one)) for _, one in looked_at]
    near = neighbors(context.places, context.settings, texts, _CANDIDATES) if texts else None
    if near is None:
        return [[] for _ in new]
    items = survey(context.places, context.accepts_pulls).items
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
