"""`memory accept` and `memory reject`: decide about pending memories and candidates, by id or as a group of `memory review`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter

from ...capture.candidate import is_candidate_id
from ...kernel.text.clean import counted
from ...memories import InvalidMemory
from ...memories.hygiene import shown_line
from ...memories.memory_files import StoredMemory
from ...memories.survey import choose, shortest_names
from ...memories.trust import PENDING, REJECTED, TRUSTED, Trust
from ...work import review
from ...work.candidate_check import NO_CANDIDATE
from ...work.memory_facts import guard_lines, holds_guard
from ..command_context import Approval, CommandContext, CommandError, Handler, UsageError, about, titled
from ..options import add_flag

_ACCEPT_TEXT = """\
accept pending memories, or save suggestions
  memory review                           shows them first, in groups
  memory accept use-postgres retry-policy
  memory accept c-0123456789              saves a suggestion of memory review
  memory accept --group GROUP             one group of memory review
  memory accept --all                     everything pending, except guards
  memory accept --all --guards            guards too
"""

_NOTHING_PENDING = "nothing was accepted; for suggestions: memory review"
_LEFT_OUT = "not accepted, because they have a guard (name them, or use --guards): %s"
_EFFECTS = {"accept": "Claude will see this from then on.", "reject": "Claude will not see it."}
_GUARDS_INSIDE = "nothing changed. Accept guarded memories one at a time: memory accept ID"


def _configure_ids(parser: ArgumentParser) -> None:
    """Declare the ids and the group, which both commands take."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="ids of memories or suggestions")
    parser.add_argument("--group", metavar="GROUP", default="", help="a group listed by memory review")
    parser.set_defaults(all=False, guards=False)


def _configure_accept(parser: ArgumentParser) -> None:
    _configure_ids(parser)
    add_flag(parser, "--all", "accept all pending memories, except those with a guard")
    add_flag(parser, "--guards", "with --all: include memories with a guard")


def _require_one_way(arguments: Namespace) -> None:
    """Raise UsageError unless the arguments select memories in one way."""
    if bool(arguments.ids) + arguments.all + bool(arguments.group) != 1:
        text = "name the memories to %s, or use %s--group with a group listed by memory review"
        raise UsageError(text % (arguments.command, "--all, or " if arguments.command == "accept" else ""))
    if arguments.guards and not arguments.all:
        raise UsageError("--guards only works with --all; a memory that you name needs no --guards")


def _approval(arguments: Namespace, context: CommandContext) -> Approval:
    """Return the texts to decide about. Raises CommandError for all guards at once."""
    _require_one_way(arguments)
    if arguments.guards:
        raise CommandError(_GUARDS_INSIDE)
    entries = _chosen_entries(arguments, context)
    if entries:
        # A group is of one kind, and entries named by their ids are candidates.
        question = titled(arguments.command, [entry.title for entry in entries], entries[0].kind)
        texts = {entry.version for entry in entries}
        return Approval("%s %s" % (question, _EFFECTS[arguments.command]), texts)
    chosen = _named(arguments, context)
    if arguments.all:
        trust = Trust(context.paths, context.accept_from)
        chosen = [stored for stored in review.pending_memories(context, trust) if not holds_guard(stored)]
        if not chosen:
            return Approval("accept all pending memories? None is pending now.")
    return about(arguments.command, list(chosen), _EFFECTS[arguments.command])


def _named(arguments: Namespace, context: CommandContext) -> list[StoredMemory]:
    """Return the memories with the given ids."""
    items = context.survey().items if arguments.ids else []
    return [choose(items, name, first=PENDING).stored for name in dict.fromkeys(arguments.ids)]


def _chosen_entries(arguments: Namespace, context: CommandContext) -> list[review.ReviewEntry]:
    """Return the entries of the given group, or the candidates with the given ids; none if the ids name memories.

    Raises UsageError for ids of both and for a group whose entries are decided one by one, CommandError for an unknown group, and
    InvalidMemory for a candidate that is not open.
    """
    if arguments.group:
        entries = review.find_group(context, arguments.group).together
        if not entries:
            text = "%s: the entries of this group are decided one by one; name their ids"
            raise UsageError(text % arguments.group)
        return entries
    named = [is_candidate_id(identity) for identity in arguments.ids]
    if not any(named):
        return []
    if not all(named):
        raise UsageError("name suggestions or memories, not both")
    candidates = {entry.id: entry for entry in review.candidate_entries(context)}
    unknown = [identity for identity in arguments.ids if identity not in candidates]
    if unknown:
        raise InvalidMemory(NO_CANDIDATE % unknown[0])
    return [candidates[identity] for identity in dict.fromkeys(arguments.ids)]


def _decide(entries: list[review.ReviewEntry], action: review.Action, context: CommandContext) -> list[str]:
    """Accept or reject entries and return lines to print. Raises InvalidMemory for a candidate that cannot be stored."""
    for entry in entries:
        if action not in entry.actions:
            text = "%s: there is nothing to store; to see what to do: memory review, to reject it: memory reject %s"
            raise InvalidMemory(text % (entry.id, entry.id))
    return review.apply(action, entries, context) or []


def _accept(arguments: Namespace, context: CommandContext) -> None:
    """Accept the named memories, a group, or all, and print them; --all asks for confirmation in a terminal."""
    _require_one_way(arguments)
    if arguments.all:
        _accept_all(arguments, context)
        return
    with context.console.working("accept"):
        entries = _chosen_entries(arguments, context)
        if entries:
            accepted = [entry.id for entry in entries]
            lines = ["accepted: %s  %s" % (entry.id, entry.title) for entry in entries]
            lines += ["  " + line for line in _decide(entries, review.ACCEPT, context)]
        else:
            chosen = _named(arguments, context)
            Trust(context.paths).accept(chosen, "accept")
            accepted, lines = [stored.memory.id for stored in chosen], _lines(chosen)
        context.refresh_index()
    context.console.result({"accepted": accepted, "left_out": []}, *lines)


def _accept_all(arguments: Namespace, context: CommandContext) -> None:
    """Accept everything pending, but memories with a guard only with --guards."""
    trust = Trust(context.paths, context.accept_from)
    with context.console.working("accept"):
        pending = list(review.pending_memories(context, trust))
    chosen = [stored for stored in pending if arguments.guards or not holds_guard(stored)]
    left_out = [stored.memory.id for stored in pending if not arguments.guards and holds_guard(stored)]
    counts = sorted(Counter(stored.memory.category for stored in chosen).items())
    total = "%s (%s)" % (counted(len(chosen), "memory"), ", ".join("%s: %d" % count for count in counts))
    if chosen and context.console.can_prompt() and not context.console.confirm("Accept %s?" % total):
        context.console.line("Nothing changed. To read them first: memory review")
        return
    with context.console.working("accepting"):
        trust.accept(chosen, "accept")
        context.refresh_index()
    lines = [*_lines(chosen), "accepted %s" % total] if chosen else [_NOTHING_PENDING]
    if left_out:
        lines.append(_LEFT_OUT % ", ".join(left_out))
    context.console.result({"accepted": [one.memory.id for one in chosen], "left_out": left_out}, *lines)


def _lines(accepted: list[StoredMemory]) -> list[str]:
    lines = []
    for memory in (stored.memory for stored in accepted):
        lines.append("accepted: %s  %s" % (memory.id, shown_line(memory.title)))
        lines += ["  " + line for line in guard_lines(memory)]
        if memory.supersedes:
            lines.append("  it replaces " + ", ".join(map(shown_line, memory.supersedes)))
    return lines


_REJECT_TEXT = """\
reject pending memories or suggestions: Claude never sees these texts
  memory reject use-mysql retry-policy
  memory reject c-0123456789              rejects a suggestion of memory review
  memory reject --group GROUP             one group of memory review
  memory accept use-mysql                 undoes a rejection
"""

_STAYS = "  Rejected texts stay in the repository."


def _reject(arguments: Namespace, context: CommandContext) -> None:
    """Reject the named memories, candidates or a group, and print them."""
    _require_one_way(arguments)
    entries = _chosen_entries(arguments, context)
    if entries:
        rejected = [(entry.id, entry.title) for entry in entries]
        notes = _decide(entries, review.REJECT, context)
    else:
        rejected, notes = _reject_items(arguments.ids, context)
    lines = ["rejected: %s  %s" % row for row in rejected] + ["  " + note for note in notes]
    # For candidates, only `memory capture clear` undoes it.
    if all(entry.kind == review.MEMORY for entry in entries):
        context.refresh_index()
        lines += [_STAYS, "undo: memory accept " + " ".join(name for name, _ in rejected)]
    context.console.result({"rejected": [name for name, _ in rejected]}, *lines)


def _reject_items(ids: list[str], context: CommandContext) -> tuple[list[tuple[str, str]], list[str]]:
    """Reject memories; return their names and titles, and lines about the memories that they replace."""
    items = context.survey().items
    names = shortest_names(items)
    chosen = [choose(items, name, first=PENDING) for name in dict.fromkeys(ids)]
    for item in chosen:
        name = names[item.stored.key]
        if item.trust == TRUSTED and not item.is_pending:
            raise InvalidMemory("%s is trusted; to stop using it: memory forget %s" % (name, name))
        if item.trust == REJECTED:
            raise InvalidMemory("%s is already rejected; to undo that: memory accept %s" % (name, name))
    Trust(context.paths).reject(*(item.stored for item in chosen))
    rejected = [(names[item.stored.key], shown_line(item.stored.memory.title)) for item in chosen]
    return rejected, review.stays_replaced({item.stored.key for item in chosen}, context)


HANDLERS = {
    "accept": Handler(_ACCEPT_TEXT, _accept, _configure_accept, _approval),
    "reject": Handler(_REJECT_TEXT, _reject, _configure_ids, _approval),
}
