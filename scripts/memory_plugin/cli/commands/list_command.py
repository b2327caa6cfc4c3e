"""`memory list`: list what is stored, and whether it is recalled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.text.clean import plain
from ...memories.record import ACTIVE, ARCHIVED, RETIRED, categories
from ...memories.stores import PROJECT, USER
from ...memories.survey import survey
from ..memory_input import to_category
from ..memory_view import HEADERS, as_json, as_row

if TYPE_CHECKING:
    import argparse

    from ...memories.survey import Item, Survey
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "list the memories"
EXAMPLES = """\
  memory list
  memory list --status pending            what awaits your approval
  memory list --status all --category decision --json
"""

PENDING, ALL = "pending", "all"
_STATUS_WORDS = {
    ACTIVE: "is active",
    RETIRED: "is forgotten",
    ARCHIVED: "is archived",
    PENDING: "awaits approval",
    ALL: "is stored",
}
_MAX_REASON = 300


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    statuses = (ACTIVE, RETIRED, ARCHIVED, PENDING, ALL)
    parser.add_argument(
        "--status", choices=statuses, default=ACTIVE, help="only memories of this status (default: active)"
    )
    parser.add_argument(
        "--category",
        type=to_category,
        metavar="NAME",
        help="only this category, one of " + ", ".join(categories()),
    )
    parser.add_argument("--scope", choices=(PROJECT, USER), default="", help="only this store")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print the memories, newest first; count unreadable files on standard error."""
    found = survey(context.places, context.accepts_pulls, arguments.scope)
    items = [item for item in found.items if _is_wanted(item, arguments)]
    items.sort(key=lambda item: item.stored.memory.updated_at, reverse=True)
    if arguments.json:
        problems = [
            {"path": problem.path, "reason": plain(problem.reason, _MAX_REASON)} for problem in found.problems
        ]
        context.console.json(
            {
                "memories": [as_json(item) for item in items],
                "problems": problems,
                "left_alone": found.left_alone,
            }
        )
        return 0
    _print(items, found, arguments, context)
    return 0


def _is_wanted(item: Item, arguments: argparse.Namespace) -> bool:
    if arguments.category and item.stored.memory.category != arguments.category:
        return False
    if arguments.status == PENDING:
        return item.waits
    return arguments.status in (ALL, item.stored.memory.status)


def _nothing(found: Survey, arguments: argparse.Namespace) -> str:
    """Return the message for an empty list."""
    if not found.items and not arguments.scope:
        return "Nothing is stored for this project yet. To begin: memory save --help"
    of = " of the category %s" % arguments.category if arguments.category else ""
    where = {PROJECT: " in this project's store", USER: " in your own store", "": ""}[arguments.scope]
    return "No memory%s%s %s." % (of, where, _STATUS_WORDS[arguments.status])


def _print(items: list[Item], found: Survey, arguments: argparse.Namespace, context: CommandContext) -> None:
    if items:
        context.console.table(HEADERS, [as_row(item) for item in items])
    else:
        context.console.line(_nothing(found, arguments))
    if context.places.why_no_state:
        context.console.error(context.places.why_no_state + "; until then nothing is recalled")
    if len(found.problems) == 1:
        context.console.error("1 file cannot be read as a memory; see: memory doctor")
    elif found.problems:
        context.console.error("%d files cannot be read as memories; see: memory doctor" % len(found.problems))
    for reason in found.left_alone:
        context.console.error(reason)
