"""`memory accept`: approve pending memories, so that they are recalled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...memories.files import why_left_alone
from ...memories.hygiene import shown_line
from ...memories.lifecycle import accept
from ...memories.stores import PROJECT, stores
from ...memories.survey import choose, survey
from ...memories.trust import TRUSTED, load_trust
from ..after_change import refresh_index
from ..command_context import UsageError

if TYPE_CHECKING:
    import argparse

    from ...memories.stores import Store
    from ...memories.survey import Item
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "approve pending memories, so that they are recalled"
EXAMPLES = """\
  memory list --status pending            read them first
  memory accept use-postgres retry-policy
  memory accept --all                     everything pending; this project's store is yours from then on
"""

DONE = 0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="ids, or category/id")
    parser.add_argument(
        "--all", action="store_true", help="all pending memories; the project's store becomes yours"
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Accept the named memories and print them. Needs approval."""
    if bool(arguments.ids) == arguments.all:
        raise UsageError("name the memories to accept, or use --all")
    context.require_approval("accept memories")
    found = survey(context.places, context.accepts_pulls)
    if arguments.all:
        chosen = [item for item in found.items if item.trust != TRUSTED]
    else:
        chosen = [choose(found.items, name) for name in dict.fromkeys(arguments.ids)]
    for store in stores(context.places):
        _accept_in(store, chosen, arguments.all, context)
    refresh_index(context)
    _report(arguments, context, chosen)
    return DONE


def _accept_in(store: Store, chosen: list[Item], everything: bool, context: CommandContext) -> None:
    if why_left_alone(store) or not os.path.isdir(store.root):
        return
    memories = [item.stored for item in chosen if item.stored.store == store]
    whole_store = everything and store.scope == PROJECT
    if memories or whole_store:
        accept(context.places, store, memories, whole_store=whole_store)


def _report(arguments: argparse.Namespace, context: CommandContext, chosen: list[Item]) -> None:
    store = stores(context.places)[0]
    mine = load_trust(context.places, store).mine
    if arguments.json:
        accepted = [item.stored.memory.id for item in chosen]
        context.console.json({"accepted": accepted, "store": store.root, "mine": mine})
        return
    if not chosen:
        context.console.line("no memory was pending")
    for item in chosen:
        memory = item.stored.memory
        context.console.line("accepted: %s  %s" % (memory.id, shown_line(memory.title)))
        if memory.supersedes:
            context.console.line("  it replaces " + ", ".join(map(shown_line, memory.supersedes)))
    if arguments.all and mine:
        context.console.line("%s is yours from now on; what git brings still needs approval" % store.root)
