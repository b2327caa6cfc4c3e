"""`memory reject`: reject pending memories, so that these texts are never recalled or offered again."""

from __future__ import annotations

import argparse

from ...memories import InvalidMemory
from ...memories.hygiene import shown_line
from ...memories.survey import choose, shortest_names
from ...memories.trust import REJECTED, TRUSTED, load_trust
from ..after_change import refresh_index
from ..approval import Approval
from ..command_context import CommandContext, UsageError
from ..review_entries import REJECT
from ..review_groups import about_selection, add_selection, decide_selected

HELP = "reject pending memories, so that these texts are never recalled or offered again"
EXAMPLES = """\
  memory reject use-mysql retry-policy
  memory reject c-0123456789              rejects a candidate of memory review
  memory reject --group g1f2e3d4c         a whole group of memory review
  memory list --status rejected
  memory accept use-mysql                 undoes a rejection
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_selection(parser)


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval:
    """Return the texts to reject."""
    _check(arguments)
    return about_selection("reject", arguments, context)


def _check(arguments: argparse.Namespace) -> None:
    """Raise UsageError unless the arguments select memories in one way."""
    if bool(arguments.ids) == bool(arguments.group):
        raise UsageError("name the memories to reject, or use --group with a group listed by memory review")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Reject the named memories, candidates or a group, and print them."""
    _check(arguments)
    decided = decide_selected(arguments, context, REJECT)
    rejected = (
        _reject(arguments.ids, context)
        if decided is None
        else [(entry.id, entry.title) for entry in decided[0]]
    )
    lines = ["rejected: %s  %s" % row for row in rejected]
    if decided is None or arguments.group:  # only `memory capture clear` undoes it for candidates
        refresh_index(context)
        lines.append("  To undo this: memory accept ID. The files stay where they are.")
    context.console.result(arguments.json, {"rejected": [name for name, _ in rejected]}, *lines)


def _reject(ids: list[str], context: CommandContext) -> list[tuple[str, str]]:
    items = context.survey().items
    names = shortest_names(items)
    chosen = [choose(items, name) for name in dict.fromkeys(ids)]
    for item in chosen:
        name = names[item.stored.key]
        if item.trust == TRUSTED and not item.waits:
            raise InvalidMemory("%s is trusted; to stop recalling it: memory forget %s" % (name, name))
        if item.trust == REJECTED:
            raise InvalidMemory("%s is already rejected; to undo that: memory accept %s" % (name, name))
    load_trust(context.paths).reject(*(item.stored for item in chosen))
    return [(names[item.stored.key], shown_line(item.stored.memory.title)) for item in chosen]
