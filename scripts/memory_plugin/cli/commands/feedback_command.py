"""`memory feedback`: rate memories, show the ratings and which memories replies used, or reset both."""

from __future__ import annotations

import argparse

from ...memories.hygiene import shown_line
from ...memories.survey import Item, choose, shortest_names
from ...recall.decision import shifted_threshold
from ...recall.feedback import USED, USEFUL, WRONG, Feedback, record_feedback, reset_feedback
from ..command_context import Approval, CommandContext, UsageError, titled
from ..console import counted
from ..options import add_flag

HELP = "rate memories as useful or wrong, and show or reset the ratings"
EXAMPLES = """\
  memory feedback                         lists ratings, thresholds, and how often replies used a memory
  memory feedback useful use-postgres     it is recalled more readily
  memory feedback wrong use-postgres      it was recalled where it did not belong
  memory edit use-postgres --body '...'   if the memory itself is out of date
  memory feedback reset use-postgres      undoes the rating
  memory feedback reset --all
"""
_SHOW, _RESET = "show", "reset"
_THRESHOLDS = ("retrieval.inject_threshold", "retrieval.pointer_threshold")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=[_SHOW, USEFUL, WRONG, _RESET],
        default=_SHOW,
        metavar="ACTION",
        help="show (default), useful, wrong or reset",
    )
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="the memories to rate, or whose feedback to delete"
    )
    add_flag(parser, "--all", "with reset: all memories in all projects")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return which memories to rate or to reset; None for showing the feedback."""
    if arguments.action == _SHOW:
        return None
    if arguments.action == _RESET:
        return Approval("delete the feedback on %s" % (", ".join(arguments.ids) or "all memories"))
    titles = [item.stored.memory.title for item in _chosen(arguments, context.overview().items)]
    return Approval(titled("rate as %s" % arguments.action, titles))


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Rate the named memories, or show or reset the feedback."""
    if arguments.action == _RESET:
        _reset(arguments, context)
        return
    if arguments.all or (arguments.ids and arguments.action == _SHOW):
        raise UsageError("only `memory feedback reset` takes --all, and `memory feedback show` takes no ids")
    items = context.overview().items
    if arguments.action == _SHOW:
        _show(arguments, items, context)
    else:
        _rate(arguments, items, context)


def _chosen(arguments: argparse.Namespace, items: list[Item]) -> list[Item]:
    """Return the named memories. Raises UsageError if none is named."""
    if not arguments.ids:
        raise UsageError("name the memories: memory feedback %s ID" % arguments.action)
    return [choose(items, name) for name in dict.fromkeys(arguments.ids)]


def _rate(arguments: argparse.Namespace, items: list[Item], context: CommandContext) -> None:
    """Count the memories as useful or wrong, and print their thresholds."""
    kind, chosen = arguments.action, _chosen(arguments, items)
    keys = [item.stored.key for item in chosen]
    record_feedback(context.paths, keys, kind)
    context.append("feedback", {"kind": kind, "memories": keys})
    feedback, names = Feedback(context.paths), shortest_names(items)
    if arguments.json:
        memories = [_as_json(item, feedback, context) for item in chosen]
        context.console.json({"rated": kind, "memories": memories})
        return
    for item in chosen:
        title = shown_line(item.stored.memory.title)
        context.console.paragraph("%s: %s  %s" % (kind, names[item.stored.key], title), "", 2)
        context.console.paragraph(_thresholds_text(item, feedback, context), "  ", 2)


def _show(arguments: argparse.Namespace, items: list[Item], context: CommandContext) -> None:
    feedback, names = Feedback(context.paths), shortest_names(items)
    rated = [item for item in items if any(feedback.counts(item.stored.key).values())]
    if arguments.json:
        context.console.json({"memories": [_as_json(item, feedback, context) for item in rated]})
        return
    if not rated:
        context.console.line("No memory has been rated, and no reply has used one yet.")
        return
    rows = []
    for item in rated:
        counts = feedback.counts(item.stored.key)
        figures = [str(counts[kind]) for kind in (USEFUL, WRONG, USED)]
        rows.append([*figures, names[item.stored.key], shown_line(item.stored.memory.title)])
    context.console.table(["USEFUL", "WRONG", "USED", "ID", "TITLE"], rows)
    for item in rated:
        if feedback.shift(item.stored.key):
            text = "%s: %s" % (names[item.stored.key], _thresholds_text(item, feedback, context))
            context.console.paragraph(text, "", 2)


def _reset(arguments: argparse.Namespace, context: CommandContext) -> None:
    if bool(arguments.ids) == arguments.all:
        raise UsageError("name the memories, or use --all")
    keys = None
    if arguments.ids:
        keys = [item.stored.key for item in _chosen(arguments, context.overview().items)]
    count = reset_feedback(context.paths, keys)
    context.append("feedback", {"kind": _RESET, "memories": keys or [], "all": keys is None})
    text = "forgotten: the feedback on %s" % counted(count, "memory")
    context.console.result(arguments.json, {"reset": count}, text)


def _as_json(item: Item, feedback: Feedback, context: CommandContext) -> dict[str, object]:
    """Return a memory's feedback and thresholds as JSON data."""
    key = item.stored.key
    full, pointer = _shifted(item, feedback, context)
    return {
        "id": item.stored.memory.id,
        "title": shown_line(item.stored.memory.title),
        **feedback.counts(key),
        "used_at": feedback.used_at(key) or None,
        "inject_threshold": full,
        "pointer_threshold": pointer,
    }


def _thresholds_text(item: Item, feedback: Feedback, context: CommandContext) -> str:
    """Return a memory's thresholds as text, with the thresholds of the settings if they differ."""
    own, usual = _shifted(item, feedback, context), tuple(map(context.settings.number, _THRESHOLDS))
    if own[0] == usual[0]:
        return "injected in full at %d%% or more, like every memory" % round(100 * own[0])
    text = "injected in full at %d%% or more, listed by title at %d%% or more (other memories: %d%% and %d%%)"
    return text % tuple(round(100 * threshold) for threshold in (*own, *usual))


def _shifted(item: Item, feedback: Feedback, context: CommandContext) -> tuple[float, ...]:
    """Return a memory's thresholds for its full text and for its title."""
    shift = feedback.shift(item.stored.key)
    return tuple(round(shifted_threshold(context.settings.number(name), shift), 3) for name in _THRESHOLDS)
