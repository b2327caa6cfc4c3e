"""Ratings of single memories, shared by `memory useful`, `memory wrong` and `memory feedback`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..memories.hygiene import shown_line
from ..memories.survey import choose, shortest_names, survey
from ..recall.decision import shifted_threshold
from ..recall.feedback import USEFUL, WRONG, Feedback, record_feedback

if TYPE_CHECKING:
    import argparse

    from ..memories.survey import Item
    from .command_context import CommandContext

__all__ = ["FULL", "POINTER", "add_ids", "as_json", "rate", "thresholds_text"]

FULL, POINTER = "retrieval.inject_threshold", "retrieval.pointer_threshold"
_SAID = {USEFUL: "useful", WRONG: "wrong"}


def add_ids(parser: argparse.ArgumentParser) -> None:
    """Declare the memories to rate."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="ids, or category/id")


def rate(arguments: argparse.Namespace, context: CommandContext, kind: str) -> int:
    """Count the named memories as USEFUL or WRONG and print their thresholds. Requires approval."""
    context.require_approval("rate memories")
    items = survey(context.paths, context.accept_from).items
    chosen = [choose(items, name) for name in dict.fromkeys(arguments.ids)]
    record_feedback(context.paths, [item.stored.key for item in chosen], kind)
    context.append("feedback", {"kind": kind, "memories": [item.stored.key for item in chosen]})
    feedback, names = Feedback(context.paths), shortest_names(items)
    if arguments.json:
        context.console.json(
            {"rated": kind, "memories": [as_json(item, feedback, context) for item in chosen]}
        )
        return 0
    for item in chosen:
        title = shown_line(item.stored.memory.title)
        context.console.paragraph("%s: %s  %s" % (_SAID[kind], names[item.stored.key], title), "", 2)
        context.console.paragraph(thresholds_text(item, feedback, context), "  ", 2)
    return 0


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
    usual = context.settings.number(FULL)
    if full == usual:
        return "told in full from %d%% sure, as every memory" % round(100 * full)
    return "told in full from %d%% sure, pointed at from %d%% (other memories: %d%% and %d%%)" % (
        round(100 * full),
        round(100 * pointer),
        round(100 * usual),
        round(100 * context.settings.number(POINTER)),
    )


def _thresholds(item: Item, feedback: Feedback, context: CommandContext) -> tuple[float, float]:
    shift = feedback.shift(item.stored.key)
    full, pointer = (shifted_threshold(context.settings.number(name), shift) for name in (FULL, POINTER))
    return round(full, 3), round(pointer, 3)
