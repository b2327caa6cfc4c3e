"""`memory list`: list the stored memories and their status."""

from __future__ import annotations

import argparse

from ...kernel.text.clean import counted, plain
from ...memories.claude_notes import native_folders, note_files
from ...memories.hygiene import shown_line
from ...memories.memory_files import PROJECT, USER
from ...memories.record import ACTIVE, ARCHIVED, RETIRED
from ...memories.survey import Item, Survey, life_cycle_state
from ...memories.trust import PENDING, REJECTED, TRUSTED
from ...recall.documents import is_standing_rule
from ...work.memory_facts import as_json, named_notes
from ..command_context import CommandContext, UsageError
from ..console import columns
from ..memory_input import add_category
from ..memory_view import HEADERS, as_row
from ..options import add_flag

HELP = "list the memories"
EXAMPLES = """\
  memory list
  memory list --status pending            what you have not accepted yet
  memory list --rules                     the standing rules
  memory list --notes                     Claude Code's own notes; memory import promote turns one into a memory
  memory list --tag billing --limit 10
  memory list --status all --category decision --json
"""

ALL = "all"
_MAX_REASON = 300
_NO_NOTES = "Claude Code has no notes for this project."
_UNCONFIRMED = """\
Claude Code has notes in %s, but no session in that folder names this project, and several projects can share its name. They are read
after the next session here."""


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
    add_flag(parser, "--rules", "only the standing rules, which Claude sees at the start of every session")
    add_flag(parser, "--notes", "only Claude Code's own notes")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the memories, newest first, and the number of unreadable files on standard error."""
    if arguments.notes:
        _list_notes(arguments, context)
        return
    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError("--limit: expected 1 or more, got %d" % arguments.limit)
    result = context.overview(arguments.scope)  # also brings the index up to date
    items = [item for item in result.items if _is_wanted(item, arguments)]
    items.sort(key=lambda item: item.stored.memory.updated_at, reverse=True)
    items = items[: arguments.limit]
    notes = named_notes(context)
    if arguments.json:
        reasons = [(problem.path, plain(problem.reason, _MAX_REASON)) for problem in result.problems]
        record: dict[str, object] = {"memories": [as_json(item) for item in items]}
        record["problems"] = [{"path": path, "reason": reason} for path, reason in reasons]
        record["left_alone"], record["notes"] = result.left_alone, [note.as_json() for note in notes]
        context.console.json(record)
        return
    _print(items, result, arguments, context)
    if notes and not arguments.scope and not arguments.category and arguments.status in (ACTIVE, ALL):
        text = "Also %s in Claude Code's own memory. To list them: memory list --notes"
        context.console.line(text % counted(len(notes), "note"))


def _list_notes(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the notes of Claude Code's own memory, which are recalled unchanged."""
    notes = named_notes(context)
    if arguments.json:
        context.console.json({"notes": [note.as_json() for note in notes]})
    elif notes:
        context.console.table(("NOTE", "TITLE"), [[note.name, shown_line(note.note.title)] for note in notes])
        context.console.line("To turn one into a memory: memory import promote NOTE")
    else:
        is_on = context.settings.flag("native.enabled")
        folders = native_folders(context.paths, confirmed=False) if is_on else []
        unread = [folder for folder in folders if note_files(folder)]
        context.console.paragraph(_UNCONFIRMED.replace("\n", " ") % unread[0] if unread else _NO_NOTES)


def _is_wanted(item: Item, arguments: argparse.Namespace) -> bool:
    if arguments.category and item.stored.memory.category != arguments.category:
        return False
    if arguments.tag and arguments.tag.casefold() not in map(str.casefold, item.stored.memory.tags):
        return False
    if arguments.rules and not (
        is_standing_rule(item.stored.memory) and (item.trust, life_cycle_state(item)) == (TRUSTED, ACTIVE)
    ):
        return False
    if arguments.status == PENDING:
        return item.waits
    if arguments.status == REJECTED:
        return item.trust == REJECTED
    is_refused = arguments.status == ACTIVE and item.trust == REJECTED
    return arguments.status in (ALL, item.stored.memory.status) and not is_refused


def _nothing(result: Survey, arguments: argparse.Namespace) -> str:
    """Return the message for an empty list."""
    if not result.items and not arguments.scope:
        return 'No memories in this project yet. Save one: memory save "..."  Import notes: memory import CLAUDE.md docs --dry-run'
    if arguments.rules:
        return 'No standing rules yet. To add one: memory save --category constraint "..."'
    return "No memories match. To list all: memory list --status all"


def _print_items(items: list[Item], context: CommandContext) -> None:
    """Print a table if the terminal has room for it, else each memory's title with its id below, both whole."""
    console, rows = context.console, [as_row(item) for item in items]
    needed = [max(map(columns, column)) for column in zip(HEADERS, *rows)]
    if not console.wraps or sum(needed) + 2 * (len(needed) - 1) <= console.width:
        console.table(HEADERS, rows)
        return
    for identity, category, scope, updated, status, title in rows:
        console.line(console.style(title, "bold"))
        facts = ", ".join(
            fact for fact in (category, scope, status, updated) if fact not in (PROJECT, ACTIVE)
        )
        console.line("    %s  %s" % (console.style(identity, "cyan"), console.style(facts, "dim")))


def _print(items: list[Item], result: Survey, arguments: argparse.Namespace, context: CommandContext) -> None:
    if items:
        _print_items(items, context)
    else:
        context.console.line(_nothing(result, arguments))
    if context.paths.why_no_state:
        context.console.error(context.paths.why_no_state + "; Claude is shown nothing until this is fixed")
    if result.problems:
        number = counted(len(result.problems), "file")
        context.console.error("%s cannot be read; see: memory doctor" % number)
    for reason in result.left_alone:
        context.console.error(reason)
