"""`memory feedback`: rate memories, show the ratings and which memories replies used, or reset both."""

from __future__ import annotations

import argparse

from ...kernel.text.clean import counted
from ...memories.hygiene import shown_line
from ...memories.survey import Item, choose, shortest_names
from ...recall.feedback import USED, USEFUL, WRONG, Feedback, record_feedback, reset_feedback
from ...work.state import THRESHOLDS, as_json, shifted
from ..command_context import Approval, CommandContext, UsageError, titled
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
_SHIFTED = "shown in full at %d%% or more, by title at %d%% or more (other memories: %d%% and %d%%)"


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
        return Approval("delete the feedback on %s?" % (", ".join(arguments.ids) or "all memories"))
    titles = [item.stored.memory.title for item in _chosen(arguments, context.overview().items)]
    return Approval(titled("rate as %s" % arguments.action, titles))


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Rate the named memories, or show or reset the feedback."""
    kind = arguments.action
    if kind == _RESET:
        _reset(arguments, context)
        return
    if arguments.all or (arguments.ids and kind == _SHOW):
        raise UsageError("only `memory feedback reset` takes --all, and `memory feedback show` takes no ids")
    items = context.overview().items
    record: dict[str, object] = {}
    if kind != _SHOW:
        chosen = _chosen(arguments, items)
        keys = [item.stored.key for item in chosen]
        record_feedback(context.paths, keys, kind)
        context.append("feedback", {"kind": kind, "memories": keys})
        record["rated"] = kind
    feedback = Feedback(context.paths)
    if kind == _SHOW:
        chosen = [item for item in items if any(feedback.counts(item.stored.key).values())]
    if arguments.json:
        context.console.json({**record, "memories": [as_json(item, feedback, context) for item in chosen]})
    elif chosen:
        _print(chosen, feedback, shortest_names(items), context)
    else:
        context.console.line("No memory has been rated, and no reply has used one yet.")


def _chosen(arguments: argparse.Namespace, items: list[Item]) -> list[Item]:
    """Return the named memories. Raises UsageError if none is named."""
    if not arguments.ids:
        raise UsageError("name the memories: memory feedback %s ID" % arguments.action)
    return [choose(items, name) for name in dict.fromkeys(arguments.ids)]


def _print(items: list[Item], feedback: Feedback, names: dict[str, str], context: CommandContext) -> None:
    """Print the counts of the memories, and the thresholds that differ from those of the settings."""
    rows, lines = [], []
    for item in items:
        counts, name = feedback.counts(item.stored.key), names[item.stored.key]
        figures = [str(counts[kind]) for kind in (USEFUL, WRONG, USED)]
        rows.append([*figures, name, shown_line(item.stored.memory.title)])
        if feedback.shift(item.stored.key):
            usual = map(context.settings.number, THRESHOLDS)
            shares = [round(100 * share) for share in (*shifted(item, feedback, context), *usual)]
            lines.append("%s: %s" % (name, _SHIFTED % tuple(shares)))
    context.console.table(["USEFUL", "WRONG", "USED", "ID", "TITLE"], rows)
    for line in lines:
        context.console.paragraph(line, "", 2)


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
