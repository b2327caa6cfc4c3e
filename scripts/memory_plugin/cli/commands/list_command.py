"""`memory list`: list the stored memories and their status."""

from __future__ import annotations

import argparse

from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE, ARCHIVED, RETIRED
from ...memories.stores import PROJECT, USER
from ...memories.survey import Item, Survey
from ...memories.trust import PENDING, REJECTED
from ..command_context import CommandContext, UsageError
from ..console import counted, inflected
from ..memory_input import add_category
from ..memory_view import HEADERS, as_json, as_row, named_notes
from ..options import add_flag

HELP = "list the memories"
EXAMPLES = """\
  memory list
  memory list --status pending            what awaits your approval
  memory list --notes                     Claude Code's own notes; memory import promote turns one into a memory
  memory list --tag billing --limit 10
  memory list --status all --category decision --json
"""

ALL = "all"
_STATUS_WORDS = {
    ACTIVE: "is active",
    RETIRED: "is forgotten",
    ARCHIVED: "is archived",
    PENDING: "awaits approval",
    REJECTED: "is rejected",
    ALL: "is stored",
}
_MAX_REASON = 300


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    statuses = (ACTIVE, RETIRED, ARCHIVED, PENDING, REJECTED, ALL)
    parser.add_argument(
        "--status", choices=statuses, default=ACTIVE, help="only memories with this status (default: active)"
    )
    add_category(parser, "only this category, one of %s")
    parser.add_argument("--tag", metavar="TAG", help="only memories with this tag")
    parser.add_argument("--limit", type=int, metavar="N", help="only the newest N memories")
    parser.add_argument(
        "--scope", choices=(PROJECT, USER), default="", help="only the project's store, or only your own"
    )
    add_flag(parser, "--notes", "only Claude Code's own notes")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the memories, newest first, and the number of unreadable files on standard error."""
    if arguments.notes:
        _list_notes(arguments, context)
        return
    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError("--limit: expected 1 or more, got %d" % arguments.limit)
    result = context.overview(arguments.scope)
    items = [item for item in result.items if _is_wanted(item, arguments)]
    items.sort(key=lambda item: item.stored.memory.updated_at, reverse=True)
    items = items[: arguments.limit]
    if arguments.json:
        problems = [
            {"path": problem.path, "reason": plain(problem.reason, _MAX_REASON)}
            for problem in result.problems
        ]
        context.console.json(
            {
                "memories": [as_json(item) for item in items],
                "problems": problems,
                "left_alone": result.left_alone,
                "notes": [note.as_json() for note in named_notes(context)],
            }
        )
        return
    _print(items, result, arguments, context)
    number = len(named_notes(context))
    if number and not arguments.scope and not arguments.category and arguments.status in (ACTIVE, ALL):
        text = "Also %s in Claude Code's own memory. To list them: memory list --notes"
        context.console.line(text % counted(number, "note"))


def _list_notes(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the notes of Claude Code's own memory, which are recalled unchanged."""
    notes = named_notes(context)
    if arguments.json:
        context.console.json({"notes": [note.as_json() for note in notes]})
    elif notes:
        context.console.table(("NOTE", "TITLE"), [[note.name, shown_line(note.note.title)] for note in notes])
        context.console.line("To turn one into a memory: memory import promote NOTE")
    else:
        context.console.line("Claude Code has no notes for this project.")


def _is_wanted(item: Item, arguments: argparse.Namespace) -> bool:
    if arguments.category and item.stored.memory.category != arguments.category:
        return False
    if arguments.tag and arguments.tag.casefold() not in map(str.casefold, item.stored.memory.tags):
        return False
    if arguments.status == PENDING:
        return item.waits
    if arguments.status == REJECTED:
        return item.trust == REJECTED
    return arguments.status in (ALL, item.stored.memory.status)


def _nothing(result: Survey, arguments: argparse.Namespace) -> str:
    """Return the message for an empty list."""
    if not result.items and not arguments.scope:
        return "Nothing is stored for this project yet. To begin: memory save --help"
    of = " of the category %s" % arguments.category if arguments.category else ""
    of += " with the tag %s" % plain(arguments.tag, _MAX_REASON) if arguments.tag else ""
    where = {PROJECT: " in this project's store", USER: " in your own store", "": ""}[arguments.scope]
    return "No memory%s%s %s." % (of, where, _STATUS_WORDS[arguments.status])


def _print(items: list[Item], result: Survey, arguments: argparse.Namespace, context: CommandContext) -> None:
    if items:
        context.console.table(HEADERS, [as_row(item) for item in items])
    else:
        context.console.line(_nothing(result, arguments))
    if context.paths.why_no_state:
        context.console.error(context.paths.why_no_state + "; nothing is recalled until this is fixed")
    if result.problems:
        subject = inflected(
            len(result.problems), "file cannot be read as a memory", "files cannot be read as memories"
        )
        context.console.error(subject + "; see: memory doctor")
    for reason in result.left_alone:
        context.console.error(reason)
