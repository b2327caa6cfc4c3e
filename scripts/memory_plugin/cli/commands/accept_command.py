"""`memory accept`: approve pending memories, so that they are recalled."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE
from ...memories.survey import choose, shortest_names, survey
from ...memories.trust import PENDING, load_trust
from ..after_change import refresh_index
from ..candidate_entries import decide_candidates, named_candidates
from ..command_context import CommandError, UsageError
from ..console import counted
from ..guard_view import guard_lines, holds_guard
from ..keys import has_terminal
from ..review_entries import ACCEPT, find_group

if TYPE_CHECKING:
    import argparse

    from ...memories.survey import Item
    from ..command_context import CommandContext
    from ..review_entries import ReviewEntry

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "approve pending memories, so that they are recalled; store candidates"
EXAMPLES = """\
  memory review                           reads them first, in groups
  memory accept use-postgres retry-policy
  memory accept c-0123456789              stores a candidate of memory review
  memory accept --group g1f2e3d4c         a whole group of memory review
  memory accept --all                     everything pending, except guards
  memory accept --all --guards            guards too
"""

DONE = 0
_GUARDS_INSIDE = "nothing was changed: inside the client, accept memories with a guard by name, so that the user decides about each"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="memory ids (id or category/id), or candidate ids"
    )
    parser.add_argument(
        "--all", action="store_true", help="accept all pending memories, except those with a guard"
    )
    parser.add_argument("--guards", action="store_true", help="with --all: include memories with a guard")
    parser.add_argument("--group", metavar="GROUP", default="", help="a group listed by memory review")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Accept the named memories, a group, or all, and print them. Requires approval; --all asks for confirmation in a terminal."""
    if bool(arguments.ids) + arguments.all + bool(arguments.group) != 1:
        raise UsageError(
            "name the memories to accept, or use --all, or --group with a group listed by memory review"
        )
    if arguments.guards and not arguments.all:
        raise UsageError("--guards only works with --all; a memory that you name needs no --guards")
    context.require_approval("accept memories")
    if arguments.guards and context.inside_client:
        raise CommandError(_GUARDS_INSIDE)
    if arguments.group:
        return _accept_group(arguments, context)
    candidates = named_candidates(arguments.ids)
    if candidates:
        return _accept_candidates(candidates, arguments, context)
    with context.console.working("accept"):
        items = survey(context.paths, context.accept_from).items
    if arguments.all:
        # Superseded ones too: the memory that replaces one inherits its phrases only from a trusted text.
        pending = [item for item in items if item.trust == PENDING and item.stored.memory.status == ACTIVE]
        return _accept_all(arguments, context, pending, items)
    chosen = [choose(items, name) for name in dict.fromkeys(arguments.ids)]
    _accept(chosen, arguments, context, [])
    return DONE


def _accept_group(arguments: argparse.Namespace, context: CommandContext) -> int:
    source, group = find_group(context, arguments.group)
    if not group.together:
        raise UsageError(
            "%s: the entries of this group are decided one by one; name their ids" % arguments.group
        )
    _print_entries(group.together, source.apply(ACCEPT, group.together).lines, arguments, context)
    return DONE


def _accept_candidates(ids: list[str], arguments: argparse.Namespace, context: CommandContext) -> int:
    """Store candidates as they were shown."""
    if len(ids) < len(set(arguments.ids)):
        raise UsageError("name candidates or memories, not both")
    _print_entries(*decide_candidates(context, ids, ACCEPT), arguments, context)
    return DONE


def _print_entries(
    entries: list[ReviewEntry], lines: list[str], arguments: argparse.Namespace, context: CommandContext
) -> None:
    refresh_index(context)
    if arguments.json:
        context.console.json({"accepted": [entry.id for entry in entries], "left_out": []})
        return
    for entry in entries:
        context.console.line("accepted: %s  %s" % (entry.id, entry.title))
    for line in lines:
        context.console.line("  " + line)


def _accept_all(
    arguments: argparse.Namespace, context: CommandContext, waiting: list[Item], items: list[Item]
) -> int:
    chosen = [item for item in waiting if arguments.guards or not holds_guard(item.stored)]
    names = shortest_names(items)
    taken = {item.stored.key for item in chosen}
    left_out = [names[item.stored.key] for item in waiting if item.stored.key not in taken]
    asks = bool(chosen) and not arguments.json and has_terminal()
    if asks and not context.console.confirm("accept %s?" % _count_by_category(chosen)):
        context.console.line("nothing was changed; to read them first: memory review")
        return DONE
    _accept(chosen, arguments, context, left_out)
    return DONE


def _accept(
    chosen: list[Item], arguments: argparse.Namespace, context: CommandContext, left_out: list[str]
) -> None:
    with context.console.working("accepting %s" % counted(len(chosen), "memory")):
        load_trust(context.paths).accept([item.stored for item in chosen], "accept")
        refresh_index(context)
    if arguments.json:
        accepted = [item.stored.memory.id for item in chosen]
        context.console.json({"accepted": accepted, "left_out": left_out})
        return
    for item in chosen:
        _print(item, context)
    if arguments.all:
        _print_summary(chosen, left_out, context)


def _print(item: Item, context: CommandContext) -> None:
    memory = item.stored.memory
    context.console.line("accepted: %s  %s" % (memory.id, shown_line(memory.title)))
    for line in guard_lines(memory):
        context.console.line("  " + line)
    if memory.supersedes:
        context.console.line("  it replaces " + ", ".join(map(shown_line, memory.supersedes)))


def _print_summary(chosen: list[Item], left_out: list[str], context: CommandContext) -> None:
    if not chosen:
        context.console.line("no memory was pending" if not left_out else "nothing was accepted")
    else:
        context.console.line("accepted %s" % _count_by_category(chosen))
    if left_out:
        text = "not accepted, because they have a guard (name them, or use --guards): %s"
        context.console.line(text % ", ".join(left_out))


def _count_by_category(chosen: list[Item]) -> str:
    """Return the number of memories, in total and by category."""
    of = Counter(item.stored.memory.category for item in chosen)
    parts = ", ".join("%d %s" % (number, category) for category, number in sorted(of.items()))
    return "%s (%s)" % (counted(len(chosen), "memory"), parts)
