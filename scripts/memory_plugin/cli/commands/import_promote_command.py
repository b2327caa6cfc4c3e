"""`memory import promote`: turn a note of Claude Code's own memory into a memory."""

from __future__ import annotations

import argparse

from ...memories.record import DEFAULT_CATEGORY, MAX_TITLE
from ...work.memory_facts import find_note
from ...work.save import save
from ..command_context import Approval, CommandContext, titled
from ..memory_input import add_category, add_fields, add_scope, check_fields
from .save_command import new_memory, print_saved

HELP = "turn a note from Claude Code's own memory into a memory of yours or the team's"
EXAMPLES = """\
  memory list --notes
  memory import promote MEMORY.md#2
  memory import promote testing.md --category constraint --title "Tests never use the network" --asked-as "flaky tests"
  memory import promote style.md --scope user
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `import promote`."""
    parser.add_argument("note", metavar="NOTE", help="the note's name, as listed by memory list --notes")
    add_category(parser, "one of %%s (default: %s)" % DEFAULT_CATEGORY)
    text = "one line, at most %d characters (default: the note's title)" % MAX_TITLE
    parser.add_argument("--title", metavar="TEXT", help=text)
    add_fields(parser)
    add_scope(parser)


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval:
    """Return the note to store."""
    return Approval(
        titled("store", [arguments.title or find_note(arguments.note, context).note.title], "note")
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Store the note as `memory save` would. The note itself is kept: only Claude Code writes its file."""
    note = find_note(arguments.note, context).note
    arguments.title, arguments.body = arguments.title or note.title, note.body
    arguments.category = arguments.category or DEFAULT_CATEGORY
    check_fields(arguments)
    print_saved(save(new_memory(arguments, context), context), arguments, context)
    if not arguments.json:
        context.console.line("  the note stays in " + note.path)
