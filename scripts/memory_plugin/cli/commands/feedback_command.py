"""`memory feedback`: show or reset the ratings of memories and the record of which ones replies used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.hygiene import shown_line
from ...memories.survey import choose, shortest_names
from ...recall.feedback import USED, USEFUL, WRONG, Feedback, reset_feedback
from ..approval import Approval
from ..command_context import UsageError
from ..console import counted
from ..options import add_flag
from ..ratings import as_json, thresholds_text

if TYPE_CHECKING:
    import argparse

    from ...memories.survey import Item
    from ..command_context import CommandContext

HELP = "show your ratings of memories and how often replies used them, or reset both"
EXAMPLES = """\
  memory feedback
  memory feedback --json
  memory feedback reset use-postgres
  memory feedback reset --all
"""
_RESET = "reset"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", nargs="?", choices=["show", _RESET], default="show")
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="with reset: the memories whose feedback to delete"
    )
    add_flag(parser, "--all", "with reset: all memories in all projects")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return the feedback to reset; None for showing it."""
    if arguments.action != _RESET:
        return None
    return Approval("delete the feedback on %s" % (", ".join(arguments.ids) or "all memories"))


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Show or reset the feedback."""
    if arguments.action == _RESET:
        _reset(arguments, context)
        return
    if arguments.ids or arguments.all:
        raise UsageError("only `memory feedback reset` takes ids or --all")
    feedback = Feedback(context.paths)
    items = context.overview().items
    rated = [item for item in items if any(feedback.counts(item.stored.key).values())]
    if arguments.json:
        context.console.json({"memories": [as_json(item, feedback, context) for item in rated]})
    elif rated:
        _show(rated, shortest_names(items), feedback, context)
    else:
        context.console.line("No memory has been rated, and no reply has used one yet.")


def _show(rated: list[Item], names: dict[str, str], feedback: Feedback, context: CommandContext) -> None:
    rows = []
    for item in rated:
        counts = feedback.counts(item.stored.key)
        figures = [str(counts[kind]) for kind in (USEFUL, WRONG, USED)]
        rows.append([*figures, names[item.stored.key], shown_line(item.stored.memory.title)])
    context.console.table(["USEFUL", "WRONG", "USED", "ID", "TITLE"], rows)
    for item in rated:
        if feedback.shift(item.stored.key):
            text = "%s: %s" % (names[item.stored.key], thresholds_text(item, feedback, context))
            context.console.paragraph(text, "", 2)


def _reset(arguments: argparse.Namespace, context: CommandContext) -> None:
    if bool(arguments.ids) == arguments.all:
        raise UsageError("name the memories, or use --all")
    keys = None
    if arguments.ids:
        items = context.overview().items
        keys = [choose(items, name).stored.key for name in dict.fromkeys(arguments.ids)]
    count = reset_feedback(context.paths, keys)
    context.append("feedback", {"kind": _RESET, "memories": keys or [], "all": keys is None})
    text = "forgotten: the feedback on %s" % counted(count, "memory")
    context.console.result(arguments.json, {"reset": count}, text)
