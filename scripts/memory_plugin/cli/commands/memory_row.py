"""One memory as the commands show it: a JSON object for programs, a row for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.hygiene import shown_items, shown_line
from ...memories.record import ACTIVE
from ...memories.survey import life, unmistakable
from ...memories.trust import TRUSTED

if TYPE_CHECKING:
    from ...memories.survey import Item

__all__ = ["as_json", "as_row", "replaced_lines", "shown_name", "standing"]

_LONGEST = 1000
HEADERS = ("ID", "CATEGORY", "SCOPE", "UPDATED", "STANDING", "TITLE")


def as_json(item: Item) -> dict[str, object]:
    """The fields that a program needs; what files hold is shown without secrets and hidden characters."""
    memory = item.stored.memory
    return {
        "id": memory.id,
        "title": shown_line(memory.title),
        "category": memory.category,
        "scope": item.stored.store.scope,
        "status": memory.status,
        "life": life(item),
        "trust": item.trust,
        "waits_because": item.reason,
        "tags": shown_items(memory.tags, _LONGEST),
        "files": shown_items(memory.files, _LONGEST),
        "path": item.stored.path,
        "created_at": shown_line(memory.created_at),
        "updated_at": shown_line(memory.updated_at),
        "expires_at": memory.expires_at,
        "superseded_by": shown_name(item.superseded_by or memory.superseded_by, item.stored.key),
        "supersedes": [shown_line(name) for name in memory.supersedes],
    }


def shown_name(key: str, beside: str) -> str:
    """Return a memory's id out of its key, or the whole key where it is of another scope or category than the memory `beside`."""
    place = beside.rpartition("/")[0] + "/"
    return shown_line(key.removeprefix(place))


def as_row(item: Item) -> list[str]:
    """The cells of a table row, in the order of `HEADERS`."""
    memory = item.stored.memory
    cells = [memory.id, memory.category, item.stored.store.scope, memory.updated_at[:10]]
    return [*cells, standing(item), shown_line(memory.title)]


def standing(item: Item) -> str:
    """In a word or two, whether a memory is recalled, and if not, why not."""
    words = [] if life(item) == ACTIVE else [life(item)]
    if item.trust != TRUSTED:
        words.append(item.trust)
    return ", ".join(words) or ACTIVE


def replaced_lines(before: list[Item], after: list[Item], gone: str) -> list[str]:
    """Return what to say of the memories that one replaced which is recalled no more; `gone` is its key."""
    lives, names = {item.stored.key: life(item) for item in after}, unmistakable(after)
    lines = []
    for item in before:
        key = item.stored.key
        if item.superseded_by == gone and lives.get(key) == ACTIVE:
            lines.append("  %s, which it replaced, is recalled again" % names[key])
        elif item.superseded_by == gone and key in names:
            words = names[key], names[key]
            lines.append(
                "  %s, which it replaced, stays superseded; memory restore %s brings it back" % words
            )
    return lines
