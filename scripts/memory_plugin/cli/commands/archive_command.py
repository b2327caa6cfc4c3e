"""`memory archive`: keep a memory, but stop recalling it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.lifecycle import archive
from ...memories.survey import choose, shortest_names
from ...memories.trust import load_trust
from ..after_change import refresh_index, replaced_lines
from ..approval import Approval, titled
from ..guard_view import is_guarded
from ..memory_view import as_json

if TYPE_CHECKING:
    import argparse

    from ..command_context import CommandContext

HELP = "keep a memory, but stop recalling it"
EXAMPLES = """\
  memory archive old-release-process --reason "replaced by the new pipeline"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="the memory's id, or category/id")
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, kept in the file")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return which guard ends; None for a memory without one."""
    stored = choose(context.overview().items, arguments.id).stored
    return (
        Approval(titled("archive the guard of", [stored.memory.title]))
        if is_guarded(stored, context)
        else None
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Stop recalling the memory; its file stays."""
    items = context.overview().items
    item = choose(items, arguments.id)
    guarded = is_guarded(item.stored, context)
    written = archive(context.paths, item.stored, arguments.reason)
    if guarded:  # until the archived version is trusted, the guard of the last trusted version stays in force
        load_trust(context.paths).accept([written.stored], "archive")
    refresh_index(context)
    name = shortest_names(items)[item.stored.key]
    context.console.result(
        arguments.json,
        as_json(item._replace(stored=written.stored)),
        "archived: %s; to bring it back: memory restore %s" % (item.stored.memory.id, name),
        *replaced_lines(items, context.overview(is_current=True).items, item.stored.key),
    )
