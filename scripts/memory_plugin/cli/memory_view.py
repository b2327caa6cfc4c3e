"""How commands print a memory: as JSON data, or as a table row."""

from __future__ import annotations

from ..memories.hygiene import shown_items, shown_line
from ..memories.record import ACTIVE
from ..memories.survey import Item, life_cycle_state
from ..memories.trust import TRUSTED
from ..memories.writing import Written

_MAX_ITEMS = 1000
HEADERS = ("ID", "CATEGORY", "SCOPE", "UPDATED", "STATUS", "TITLE")


def as_json(item: Item) -> dict[str, object]:
    """Return the fields of a memory as JSON data, without secrets and hidden characters."""
    memory = item.stored.memory
    return {
        "id": memory.id,
        "title": shown_line(memory.title),
        "category": memory.category,
        "scope": item.stored.store.scope,
        "status": memory.status,
        "life": life_cycle_state(item),
        "trust": item.trust,
        "waits_because": item.reason,
        "tags": shown_items(memory.tags, _MAX_ITEMS),
        "files": shown_items(memory.files, _MAX_ITEMS),
        "path": item.stored.path,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "expires_at": memory.expires_at,
        "superseded_by": shown_name(item.superseded_by or memory.superseded_by, item.stored.key),
        "supersedes": [shown_line(name) for name in memory.supersedes],
    }


def shown_name(key: str, other: str) -> str:
    """Return a memory's id from its key, or the whole key if its scope or category differs from that of the key `other`."""
    return shown_line(key.removeprefix(other.rpartition("/")[0] + "/"))


def as_row(item: Item) -> list[str]:
    """Return the cells of a table row, in the order of `HEADERS`."""
    memory = item.stored.memory
    cells = [memory.id, memory.category, item.stored.store.scope, memory.updated_at[:10]]
    return [*cells, status_text(item), shown_line(memory.title)]


def status_text(item: Item) -> str:
    """Return a memory's status in one or two words, such as `active` or `archived, pending`."""
    words = [] if life_cycle_state(item) == ACTIVE else [life_cycle_state(item)]
    if item.trust != TRUSTED:
        words.append(item.trust)
    return ", ".join(words) or ACTIVE


def approval_lines(item: Item, name: str) -> list[str]:
    """Return a line that says how to accept a pending memory; no lines for any other."""
    return ["  It awaits approval: memory accept %s" % name] if item.waits else []


def redaction_lines(written: Written) -> list[str]:
    """Return a line for each rule and field of what was redacted before a memory was stored."""
    return ["redacted in %s: %s" % (field, rule) for rule, field in dict.fromkeys(written.redacted)]
