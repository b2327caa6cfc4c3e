"""Ratings of single memories, shared by `memory useful`, `memory wrong` and `memory feedback`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..memories.hygiene import shown_line
from ..memories.survey import choose, shortest_names
from ..recall.decision import shifted_threshold
from ..recall.feedback import Feedback, record_feedback
from .approval import Approval, titled

if TYPE_CHECKING:
    import argparse

    from ..memories.survey import Item
    from .command_context import CommandContext

FULL, POINTER = "retrieval.inject_threshold", "retrieval.pointer_threshold"


def add_ids(parser: argparse.ArgumentParser) -> None:
    """Declare the memories to rate."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="ids, or category/id")


def about_rating(arguments: argparse.Namespace, context: CommandContext, kind: str) -> Approval:
    """Return what the user decides about: rating the named memories as USEFUL or WRONG."""
    items = context.overview().items
    chosen = (choose(items, name) for name in dict.fromkeys(arguments.ids))
    return Approval(titled("rate as %s" % kind, [item.stored.memory.title for item in chosen]))


def rate(arguments: argparse.Namespace, context: CommandContext, kind: str) -> None:
    """Count the named memories as USEFUL or WRONG and print their thresholds."""
    items = context.overview().items
    chosen = [choose(items, name) for name in dict.fromkeys(arguments.ids)]
    record_feedback(context.paths, [item.stored.key for item in chosen], kind)
    context.append("feedback", {"kind": kind, "memories": [item.stored.key for item in chosen]})
    feedback, names = Feedback(context.paths), shortest_names(items)
    if arguments.json:
        memories = [as_json(item, feedback, context) for item in chosen]
        context.console.json({"rated": kind, "memories": memories})
        return
    for item in chosen:
        title = shown_line(item.stored.memory.title)
        context.console.paragraph("%s: %s  %s" % (kind, names[item.stored.key], title), "", 2)
        context.console.paragraph(thresholds_text(item, feedback, context), "  ", 2)


def as_json(item: Item, feedback: Feedback, context: CommandContext) -> dict[str, object]:
    """Return a memory's feedback and thresholds as JSON data."""
    key = item.stored.key
    full, pointer = _thresholds(item, feedback, context)
    return {
        "id": item.stored.memory.id,
        "title": shown_line(item.stored.memory.title),
        **feedback.counts(key),
        "used_at": feedback.used_at(key) or None,
        "inject_threshold": full,
        "pointer_threshold": pointer,
    }


def thresholds_text(item: Item, feedback: Feedback, context: CommandContext) -> str:
    """Return a memory's thresholds as text, with the thresholds of the settings if they differ."""
    full, pointer = _thresholds(item, feedback, context)
    usual = context.settings.number(FULL), context.settings.number(POINTER)
    if full == usual[0]:
        return "injected in full at %d%% or more, like every memory" % round(100 * full)
    return (
        "injected in full at %d%% or more, listed by title at %d%% or more (other memories: %d%% and %d%%)"
        % tuple(round(100 * threshold) for threshold in (full, pointer, *usual))
    )


def _thresholds(item: Item, feedback: Feedback, context: CommandContext) -> tuple[float, float]:
    shift = feedback.shift(item.stored.key)
    full, pointer = (shifted_threshold(context.settings.number(name), shift) for name in (FULL, POINTER))
    return round(full, 3), round(pointer, 3)
