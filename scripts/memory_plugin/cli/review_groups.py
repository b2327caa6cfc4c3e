"""Collect what awaits the user's decision from all sources, in groups that can be decided together."""

from __future__ import annotations

from typing import NamedTuple, Union

from ..kernel.fastjson import digest
from .candidate_entries import CandidateEntries
from .command_context import CommandContext, CommandError
from .review_entries import BY, PendingEntries, ReviewEntry

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


def find_group(context: CommandContext, identity: str) -> tuple[Source, Group]:
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
