"""`memory restore`: bring back a forgotten, archived or superseded memory."""

from __future__ import annotations

import argparse

from ...memories import InvalidMemory
from ...memories.lifecycle import restore, unsupersede
from ...memories.survey import SUPERSEDED, choose, life_cycle_state, shortest_names, superseding
from ...memories.trust import REJECTED
from ..after_change import refresh_index
from ..command_context import CommandContext
from ..memory_view import approval_lines, as_json, status_text

HELP = "bring back a forgotten, archived or superseded memory"
EXAMPLES = """\
  memory list --status retired
  memory restore use-mysql
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="the memory's id, or category/id")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Make the memory active again. Without approval, a memory that the user had forgotten is pending."""
    before = context.overview().items
    item = choose(before, arguments.id)
    if item.trust == REJECTED:
        text = "%s was rejected, not forgotten; to undo that: memory accept %s"
        raise InvalidMemory(text % ((shortest_names(before)[item.stored.key],) * 2))
    approved = context.approve_saves()
    if life_cycle_state(item) == SUPERSEDED:
        stored = unsupersede(context.paths, item.stored, superseding(before, item), approved)
    else:
        stored = restore(context.paths, item.stored, approved).stored
    refresh_index(context)
    items = context.overview(is_current=True).items
    after = choose(items, stored.key)
    name = shortest_names(items)[after.stored.key]
    context.console.result(
        arguments.json,
        as_json(after),
        "restored: %s (%s)" % (after.stored.memory.id, status_text(after)),
        *approval_lines(after, name),
    )
    if approved:
        context.report_saves([(name, after.stored.memory.title)])
