"""`memory reject`: decide against pending memories and candidates, by id or as a group of `memory review`."""

from __future__ import annotations

import argparse

from ...memories import InvalidMemory
from ...memories.hygiene import shown_line
from ...memories.survey import choose, shortest_names
from ...memories.trust import PENDING, REJECTED, TRUSTED, load_trust
from ...work.review import REJECT
from ..after_change import refresh_index
from ..command_context import CommandContext
from .accept_command import approval as decided_texts
from .accept_command import chosen_entries, configure_ids, decide, require_one_way

HELP = "reject pending memories or suggestions: Claude never sees these texts"
EXAMPLES = """\
  memory reject use-mysql retry-policy
  memory reject c-0123456789              rejects a suggestion of memory review
  memory reject --group g1f2e3d4c         a whole group of memory review
  memory list --status rejected
  memory accept use-mysql                 undoes a rejection
"""

_UNDO = "  Rejected texts stay in the repository. undo: memory accept ID"

configure, approval = configure_ids, decided_texts


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Reject the named memories, candidates or a group, and print them."""
    require_one_way(arguments)
    entries = chosen_entries(arguments, context)
    if entries:
        decide(entries, REJECT, context)
    rejected = [(entry.id, entry.title) for entry in entries] or _reject_items(arguments.ids, context)
    lines = ["rejected: %s  %s" % row for row in rejected]
    if not entries or arguments.group:  # only `memory capture clear` undoes it for candidates
        refresh_index(context)
        lines.append(_UNDO)
    context.console.result(arguments.json, {"rejected": [name for name, _ in rejected]}, *lines)


def _reject_items(ids: list[str], context: CommandContext) -> list[tuple[str, str]]:
    items = context.survey().items
    names = shortest_names(items)
    chosen = [choose(items, name, first=PENDING) for name in dict.fromkeys(ids)]
    for item in chosen:
        name = names[item.stored.key]
        if item.trust == TRUSTED and not item.waits:
            raise InvalidMemory("%s is trusted; to stop using it: memory forget %s" % (name, name))
        if item.trust == REJECTED:
            raise InvalidMemory("%s is already rejected; to undo that: memory accept %s" % (name, name))
    load_trust(context.paths).reject(*(item.stored for item in chosen))
    return [(names[item.stored.key], shown_line(item.stored.memory.title)) for item in chosen]
