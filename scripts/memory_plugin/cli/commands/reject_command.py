"""`memory reject`: reject pending memories, so that these texts are never recalled or offered again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.hygiene import shown_line
from ...memories.record import InvalidMemory
from ...memories.survey import choose, shortest_names, survey
from ...memories.trust import REJECTED, TRUSTED, load_trust
from ..after_change import refresh_index
from ..candidate_entries import decide_candidates, named_candidates
from ..command_context import UsageError
from ..review_entries import REJECT, find_group

if TYPE_CHECKING:
    import argparse

    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "reject pending memories, so that these texts are never recalled or offered again"
EXAMPLES = """\
  memory reject use-mysql retry-policy
  memory reject c-0123456789              drops a candidate of memory review
  memory reject --group g1f2e3d4c         a whole group of memory review
  memory list --status rejected
  memory accept use-mysql                 undoes a rejection
"""

DONE = 0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="memory ids (id or category/id), or candidate ids"
    )
    parser.add_argument("--group", metavar="GROUP", default="", help="a group listed by memory review")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Reject the named memories or a group, and print them. Requires approval."""
    if bool(arguments.ids) == bool(arguments.group):
        raise UsageError("name the memories to reject, or use --group with a group listed by memory review")
    context.require_approval("reject memories")
    candidates = named_candidates(arguments.ids)
    if candidates:
        return _reject_candidates(candidates, arguments, context)
    rejected = _reject_group(arguments.group, context) if arguments.group else _reject(arguments.ids, context)
    refresh_index(context)
    if arguments.json:
        context.console.json({"rejected": [name for name, _ in rejected]})
        return DONE
    for name, title in rejected:
        context.console.line("rejected: %s  %s" % (name, title))
    context.console.line("  To undo this: memory accept ID. The files stay where they are.")
    return DONE


def _reject_candidates(ids: list[str], arguments: argparse.Namespace, context: CommandContext) -> int:
    """Drop candidates; only `memory capture clear` undoes that."""
    if len(ids) < len(set(arguments.ids)):
        raise UsageError("name candidates or memories, not both")
    entries, _ = decide_candidates(context, ids, REJECT)
    if arguments.json:
        context.console.json({"rejected": [entry.id for entry in entries]})
        return DONE
    for entry in entries:
        context.console.line("dropped: %s  %s" % (entry.id, entry.title))
    return DONE


def _reject_group(identity: str, context: CommandContext) -> list[tuple[str, str]]:
    source, group = find_group(context, identity)
    if not group.together:
        raise UsageError("%s: the entries of this group are decided one by one; name their ids" % identity)
    source.apply(REJECT, group.together)
    return [(entry.id, entry.title) for entry in group.together]


def _reject(ids: list[str], context: CommandContext) -> list[tuple[str, str]]:
    items = survey(context.paths, context.accept_from).items
    names = shortest_names(items)
    chosen = [choose(items, name) for name in dict.fromkeys(ids)]
    for item in chosen:
        name = names[item.stored.key]
        if item.trust == TRUSTED:
            raise InvalidMemory("%s is trusted; to stop recalling it: memory forget %s" % (name, name))
        if item.trust == REJECTED:
            raise InvalidMemory("%s is already rejected; to undo that: memory accept %s" % (name, name))
    load_trust(context.paths).reject(*(item.stored for item in chosen))
    return [(names[item.stored.key], shown_line(item.stored.memory.title)) for item in chosen]
