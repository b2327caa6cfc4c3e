"""What users and replies said about a memory, and the thresholds that follow."""

from __future__ import annotations

from ..memories.hygiene import shown_line
from ..memories.survey import Item
from ..recall.decision import shifted_threshold
from ..recall.feedback import Feedback
from .context import WorkContext

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
