"""`memory promote`: store a note of Claude Code's own memory as a memory."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...memories.import_categories import category_for
from ...memories.record import MAX_TITLE, categories
from ...memories.stores import PROJECT, USER
from ..memory_input import to_category
from ..note_view import find_note
from . import save_command

if TYPE_CHECKING:
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "turn a note from Claude Code's own memory into a memory of yours or the team's"
EXAMPLES = """\
  memory list --notes
  memory promote MEMORY.md#2
  memory promote testing.md --category constraint --title "Tests never use the network" --asked-as "flaky tests"
  memory promote style.md --scope user
"""

_DEFAULTS = {
    "context": None,
    "content_json": None,
    "files": None,
    "expires": None,
    "guard_commands": None,
    "guard_files": None,
    "guard_action": None,
    "supersedes": None,
    "candidate": None,
    "text": None,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("note", metavar="NOTE", help="the note's name, as listed by memory list --notes")
    parser.add_argument(
        "--category",
        type=to_category,
        metavar="NAME",
        help="one of %s (default: derived from the title)" % ", ".join(categories()),
    )
    parser.add_argument(
        "--title",
        metavar="TEXT",
        help="one line, at most %d characters (default: the note's title)" % MAX_TITLE,
    )
    parser.add_argument("--tags", type=_words, metavar="a,b", help="tags, separated by commas")
    parser.add_argument(
        "--asked-as",
        action="append",
        metavar="PHRASE",
        help="a phrase by which a prompt may ask for it; can be repeated",
    )
    parser.add_argument(
        "--scope",
        choices=(PROJECT, USER),
        default=PROJECT,
        help="this project (default), or all your projects",
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Store the note as `memory save` would. The note itself is kept: only Claude Code writes its file."""
    note = find_note(arguments.note, context).note
    given = {**vars(arguments), **_DEFAULTS, "body": note.body}
    given["title"] = arguments.title or note.title
    given["category"] = arguments.category or category_for(note.title, otherwise=True)
    code = save_command.run(argparse.Namespace(**given), context)
    if not arguments.json:
        context.console.line("  the note stays in " + note.path)
    return code
