"""Collect what awaits the user's decision from all sources, in groups that can be decided together, and decide what a command selects."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple, Union

from ..capture.candidate import is_candidate_id
from ..kernel.fastjson import digest
from ..memories.memory_files import StoredMemory
from ..memories.memory_text import text_digests
from ..memories.survey import choose
from .candidate_entries import CandidateEntries, decide_candidates
from .command_context import Approval, CommandContext, CommandError, UsageError, titled
from .review_entries import BY, Action, PendingEntries, ReviewEntry

Source = Union[PendingEntries, CandidateEntries]


class Group(NamedTuple):
    """Entries with something in common. Its id changes with any text in it."""

    id: str
    kind: str
    title: str
    entries: list[ReviewEntry]

    @property
    def together(self) -> list[ReviewEntry]:
        """Return the entries that can be decided with one answer."""
        return [entry for entry in self.entries if not entry.alone]


def review_sources(context: CommandContext) -> dict[str, Source]:
    """Return the sources by the kind of their entries."""
    return {"memory": PendingEntries(context), "candidate": CandidateEntries(context)}


def grouped(sources: dict[str, Source], by: str = BY[0]) -> list[Group]:
    """Return all entries in groups, the largest first; groups whose entries are decided one by one come last."""
    members: dict[tuple[bool, str, str], list[ReviewEntry]] = {}
    for kind, source in sources.items():
        for entry in source.entries():
            members.setdefault((entry.alone, kind, entry.origin[by]), []).append(entry)
    groups = [
        Group(_group_id(entries), kind, title, sorted(entries, key=lambda entry: (entry.origin["folder"], entry.id)))
        for (_, kind, title), entries in members.items()
    ]  # fmt: skip
    return sorted(
        groups, key=lambda group: (not group.together, group.kind, -len(group.entries), group.title)
    )


def _group_id(entries: list[ReviewEntry]) -> str:
    """Return an id that only these texts have."""
    return "g" + digest("\n".join(sorted(entry.version for entry in entries)).encode("ascii"))


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Declare how a command that decides entries selects them: by their ids, or as a group."""
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="memory ids (id or category/id), or candidate ids"
    )
    parser.add_argument("--group", metavar="GROUP", default="", help="a group listed by memory review")


def about_memories(action: str, memories: Sequence[StoredMemory]) -> Approval:
    """Return that the user decides about these memories, by their exact texts."""
    texts = {text_digests(stored.memory).full for stored in memories}
    return Approval(titled(action, [stored.memory.title for stored in memories]), texts)


def about_selection(verb: str, arguments: argparse.Namespace, context: CommandContext) -> Approval:
    """Return that the user decides about the texts that `add_selection` selected."""
    if arguments.group:
        entries = _find_group(context, arguments.group)[1].together
    elif any(map(is_candidate_id, arguments.ids)):
        entries = [
            entry for entry in review_sources(context)["candidate"].entries() if entry.id in arguments.ids
        ]
    else:
        items = context.survey().items
        return about_memories(verb, [choose(items, name).stored for name in dict.fromkeys(arguments.ids)])
    titles = [entry.title for entry in entries]
    return Approval(
        titled(verb, titles, "entry" if arguments.group else "candidate"),
        {entry.version for entry in entries},
    )


def decide_selected(
    arguments: argparse.Namespace, context: CommandContext, action: Action
) -> tuple[list[ReviewEntry], list[str]] | None:
    """Accept or reject the selected group or candidates; return their entries, and lines to print. None if the ids name memories.

    Raises UsageError if the entries of the group are decided one by one, and CommandError if there is no such group.
    """
    if not arguments.group:
        return decide_candidates(context, arguments.ids, action)
    source, group = _find_group(context, arguments.group)
    if not group.together:
        text = "%s: the entries of this group are decided one by one; name their ids"
        raise UsageError(text % arguments.group)
    return group.together, source.apply(action, group.together).lines


def _find_group(context: CommandContext, identity: str) -> tuple[Source, Group]:
    """Return the group with an id, however it was grouped when it was shown, and its source.

    Raises CommandError if there is none, because an entry in it has changed or was decided.
    """
    sources = review_sources(context)
    groups = {group.id: group for by in BY for group in grouped(sources, by) if group.id == identity}
    if len(groups) == 1:
        (group,) = groups.values()
        return sources[group.kind], group
    raise CommandError(
        "%s: no group has this id, or something in it has changed; to see what is pending: memory review"
        % identity
    )
