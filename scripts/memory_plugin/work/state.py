"""What is stored, and how the last session began."""

from __future__ import annotations

from collections import Counter

from ..kernel.fastjson import as_integer, as_texts
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE
from ..memories.survey import Item, Survey, life_cycle_state, shortest_names
from ..recall import explain
from ..recall.decision import shifted_threshold
from ..recall.feedback import Feedback
from .context import WorkContext


def stored_counts(survey: Survey) -> list[tuple[str, str, str, int]]:
    """Return how many active memories there are of each scope, category and trust."""
    items = [item for item in survey.items if life_cycle_state(item) == ACTIVE]
    kinds = Counter((item.stored.store.scope, item.stored.memory.category, item.trust) for item in items)
    return [(*kind, number) for kind, number in sorted(kinds.items())]


def catalog(context: WorkContext) -> dict[str, int] | None:
    """Return the size of the last session catalog in this project; None if there was none, or catalogs are off."""
    if not context.settings.integer("retrieval.catalog.max_tokens"):
        return None
    row = explain.find_decision(context.paths, explain.LAST, place="catalog")
    if row is None or row.get("outcome") == "silent":
        return None
    told = len(as_texts(row.get("injected")))
    numbers = {name: as_integer(row.get(name)) or 0 for name in ("listed", "unlisted", "tokens")}
    rules = as_integer(row.get("rules"))
    return {"rules": told, "all_rules": told if rules is None else rules, **numbers}


def titles_and_names(result: Survey) -> dict[str, str]:
    """Return a memory's title and the name that commands take, by key."""
    names = shortest_names(result.items)
    return {
        item.stored.key: "%s (%s)" % (shown_line(item.stored.memory.title), names[item.stored.key])
        for item in result.items
    }


THRESHOLDS = ("retrieval.inject_threshold", "retrieval.pointer_threshold")


def as_json(item: Item, feedback: Feedback, context: WorkContext) -> dict[str, object]:
    """Return a memory's feedback and thresholds as JSON data."""
    key = item.stored.key
    full, pointer = shifted(item, feedback, context)
    return {
        "id": item.stored.memory.id,
        "title": shown_line(item.stored.memory.title),
        **feedback.counts(key),
        "used_at": feedback.used_at(key) or None,
        "inject_threshold": full,
        "pointer_threshold": pointer,
    }


def shifted(item: Item, feedback: Feedback, context: WorkContext) -> tuple[float, ...]:
    """Return a memory's thresholds for its full text and for its title."""
    shift = feedback.shift(item.stored.key)
    return tuple(round(shifted_threshold(context.settings.number(name), shift), 3) for name in THRESHOLDS)
