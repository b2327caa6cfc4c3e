"""`memory accept`: approve pending memories, so that they are recalled."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from ...memories.hygiene import shown_line
from ...memories.memory_files import StoredMemory, all_memories
from ...memories.record import ACTIVE
from ...memories.stores import stores
from ...memories.survey import choose, shortest_names
from ...memories.trust import PENDING, Trust, load_trust
from ..after_change import refresh_index
from ..approval import Approval
from ..command_context import CommandContext, CommandError, UsageError
from ..console import counted
from ..memory_view import guard_lines, holds_guard
from ..options import add_flag
from ..review_entries import ACCEPT, ReviewEntry
from ..review_groups import about_memories, about_selection, add_selection, decide_selected

HELP = "approve pending memories, so that they are recalled; store candidates"
EXAMPLES = """\
  memory review                           reads them first, in groups
  memory accept use-postgres retry-policy
  memory accept c-0123456789              stores a candidate of memory review
  memory accept --group g1f2e3d4c         a whole group of memory review
  memory accept --all                     everything pending, except guards
  memory accept --all --guards            guards too
"""

_BATCH = 1000
_GUARDS_INSIDE = "nothing was changed: inside the client, accept memories with a guard by name, so that the user decides about each"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_selection(parser)
    add_flag(parser, "--all", "accept all pending memories, except those with a guard")
    add_flag(parser, "--guards", "with --all: include memories with a guard")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval:
    """Return the texts to accept. Raises CommandError for all guards at once."""
    _check(arguments)
    if arguments.guards:
        raise CommandError(_GUARDS_INSIDE)
    if arguments.all:
        trust = load_trust(context.paths, context.accept_from)
        return about_memories(
            "accept", [stored for stored in _pending(context, trust) if not holds_guard(stored)]
        )
    return about_selection("accept", arguments, context)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Accept the named memories, a group, or all, and print them; --all asks for confirmation in a terminal."""
    _check(arguments)
    decided = decide_selected(arguments, context, ACCEPT)
    if decided is not None:
        _print_entries(*decided, arguments, context)
    elif arguments.all:
        _accept_all(arguments, context)
    else:
        _accept_named(arguments, context)


def _check(arguments: argparse.Namespace) -> None:
    """Raise UsageError unless the arguments select memories in one way."""
    if bool(arguments.ids) + arguments.all + bool(arguments.group) != 1:
        raise UsageError(
            "name the memories to accept, or use --all, or --group with a group listed by memory review"
        )
    if arguments.guards and not arguments.all:
        raise UsageError("--guards only works with --all; a memory that you name needs no --guards")


def _print_entries(
    entries: list[ReviewEntry], lines: list[str], arguments: argparse.Namespace, context: CommandContext
) -> None:
    refresh_index(context)
    context.console.result(
        arguments.json,
        {"accepted": [entry.id for entry in entries], "left_out": []},
        *("accepted: %s  %s" % (entry.id, entry.title) for entry in entries),
        *("  " + line for line in lines),
    )


def _accept_named(arguments: argparse.Namespace, context: CommandContext) -> None:
    with context.console.working("accept"):
        items = context.survey().items
        chosen = [choose(items, name).stored for name in dict.fromkeys(arguments.ids)]
        load_trust(context.paths).accept(chosen, "accept")
        refresh_index(context)
    if arguments.json:
        accepted = [stored.memory.id for stored in chosen]
        context.console.json({"accepted": accepted, "left_out": []})
        return
    for stored in chosen:
        _print(stored, context)


def _accept_all(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Accept in batches, of which each is recorded before the next is read: a store may be large, and the command may be killed."""
    trust = load_trust(context.paths, context.accept_from)
    if not arguments.json and context.console.can_prompt():
        with context.console.working("accept"):
            pending = Counter(
                stored.memory.category for stored in _pending(context, trust) if _fits(arguments, stored)
            )
        if pending and not context.console.confirm("accept %s?" % _count_by_category(pending)):
            context.console.line("nothing was changed; to read them first: memory review")
            return
    accepted: list[str] = []
    left_out: list[str] = []
    counts: Counter[str] = Counter()
    with context.console.working("accepting"):
        found = _pending(context, trust)
        while batch := list(islice(found, _BATCH)):
            left_out += [stored.key for stored in batch if not _fits(arguments, stored)]
            chosen = [stored for stored in batch if _fits(arguments, stored)]
            trust.accept(chosen, "accept")
            accepted += [stored.memory.id for stored in chosen]
            counts.update(stored.memory.category for stored in chosen)
            for stored in () if arguments.json else chosen:
                _print(stored, context)
        refresh_index(context)
    if left_out:
        names = shortest_names(context.overview(is_current=True, names=left_out).items)
        left_out = [names.get(key, key) for key in left_out]
    if arguments.json:
        context.console.json({"accepted": accepted, "left_out": left_out})
    else:
        _print_summary(counts, left_out, context)


def _pending(context: CommandContext, trust: Trust) -> Iterator[StoredMemory]:
    """Yield the memories that are pending; superseded ones too, because one inherits phrases only from a trusted text."""
    for stored in chain.from_iterable(map(all_memories, stores(context.paths))):
        waits = trust.state_of(stored) == PENDING or trust.awaits_phrases(stored)
        if waits and stored.memory.status == ACTIVE:
            yield stored


def _fits(arguments: argparse.Namespace, stored: StoredMemory) -> bool:
    return arguments.guards or not holds_guard(stored)


def _print(stored: StoredMemory, context: CommandContext) -> None:
    memory = stored.memory
    context.console.line("accepted: %s  %s" % (memory.id, shown_line(memory.title)))
    for line in guard_lines(memory):
        context.console.line("  " + line)
    if memory.supersedes:
        context.console.line("  it replaces " + ", ".join(map(shown_line, memory.supersedes)))


def _print_summary(counts: Counter[str], left_out: list[str], context: CommandContext) -> None:
    if not counts:
        context.console.line("no memory was pending" if not left_out else "nothing was accepted")
    else:
        context.console.line("accepted %s" % _count_by_category(counts))
    if left_out:
        text = "not accepted, because they have a guard (name them, or use --guards): %s"
        context.console.line(text % ", ".join(left_out))


def _count_by_category(counts: Counter[str]) -> str:
    """Return the number of memories, in total and by category."""
    parts = ", ".join("%d %s" % (number, category) for category, number in sorted(counts.items()))
    return "%s (%s)" % (counted(sum(counts.values()), "memory"), parts)
