"""`memory restore`: bring back a forgotten, archived or replaced memory."""

from __future__ import annotations

import argparse

from ...memories import InvalidMemory
from ...memories.lifecycle import restore, unsupersede
from ...memories.survey import (
    SUPERSEDED,
    choose,
    life_cycle_state,
    read_item,
    shortest_names,
    superseding,
)
from ...memories.trust import REJECTED, TRUSTED
from ...memories.written_trust import before_write
from ...work.memory_facts import as_json
from ..after_change import refresh_index
from ..command_context import Approval, CommandContext, about
from ..memory_view import approval_lines, status_text

HELP = "bring back a forgotten, archived or replaced memory"
EXAMPLES = """\
  memory list --status retired
  memory restore use-mysql
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="a memory's id or title, or the start of one")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return the memory that is recalled again; None for one that stays pending or cannot be restored."""
    stored = read_item(choose(context.overview().items, arguments.id)).stored
    if before_write(context.paths, stored).state != TRUSTED:
        return None
    return about("restore", [stored], "Claude will see it from then on.")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Make the memory active again; a text that the user never accepted stays pending."""
    before = context.overview().items
    item = choose(before, arguments.id)
    if item.trust == REJECTED:
        text = "%s was rejected, not forgotten; to undo that: memory accept %s"
        raise InvalidMemory(text % ((shortest_names(before)[item.stored.key],) * 2))
    approved = not context.only_new
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
