"""Save a memory: read the stored ones, check the new one, write it, index it, compare it with the others."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..memories import InvalidMemory, lifecycle
from ..memories.hygiene import shown_line
from ..memories.memory_files import named_store
from ..memories.record import MAX_TITLE, categories, new_memory
from ..memories.relations import older_names
from ..memories.survey import Item, choose, shortest_names
from ..memories.trust import load_trust
from ..memories.writing import Written
from .context import WorkContext
from .memory_facts import is_guarded, may_trust
from .refresh import Refreshed, refresh
from .similar import Similar, similar_to
from .titles import refuse_taken_title


class NewMemory(NamedTuple):
    """What is to be saved.

    `extra` holds further fields of the record, such as tags, files, phrases, a guard and a day of expiry. `supersedes` names the memory
    that the new one replaces, and `candidate` the candidate of capture that it is based on; empty for none.
    """

    category: str
    title: str
    content: dict[str, Any]
    scope: str
    extra: dict[str, Any]
    supersedes: str = ""
    candidate: str = ""


class Saved(NamedTuple):
    """What was stored: the memory as it is now, its shortest unique name, the one that it was to replace, and similar ones.

    `is_approved` says whether it is trusted at once; otherwise it is pending and replaces nothing yet.
    """

    written: Written
    item: Item
    name: str
    old: Item | None
    is_approved: bool
    refreshed: Refreshed
    similar: list[Similar]

    @property
    def replaced(self) -> str:
        """Return the id of the memory that is no longer recalled; empty for none."""
        return self.old.stored.memory.id if self.old is not None and self.is_approved else ""


def save(new: NewMemory, context: WorkContext) -> Saved:
    """Store a memory. Raises InvalidMemory, and WorkError if another active memory has its title."""
    names = [new.supersedes] if new.supersedes else []
    items = context.overview(names=names, title=shown_line(new.title, MAX_TITLE)).items
    old = choose(items, new.supersedes) if new.supersedes else None
    data = _data(new, old, context)
    refuse_taken_title(items, new.scope, data, old)
    guarded = "guard" in data or (old is not None and is_guarded(old.stored, context))
    approved = may_trust(context, guarded=guarded)
    store = named_store(context.paths, new.scope)
    written = lifecycle.save(context.paths, store, data, approved, only_new=context.only_new)
    if approved:
        _settle(new, old, written, context)
    refreshed = refresh(context)
    key = written.stored.key
    items = context.overview(is_current=True, names=[key]).items
    similar = similar_to(context, [(key, written.stored.memory)])[0]
    return Saved(written, choose(items, key), shortest_names(items)[key], old, approved, refreshed, similar)


def _data(new: NewMemory, old: Item | None, context: WorkContext) -> dict[str, Any]:
    category, extra = categories()[new.category], dict(new.extra)
    if new.candidate:
        from .candidate_check import find_candidate  # most saves have no candidate

        extra["source"] = find_candidate(context, new.candidate).source
    if old is not None:
        key = "%s:%s/" % (new.scope, category.name)
        extra["supersedes"] = older_names(old.stored.key, old.stored.memory.supersedes, key)
    return new_memory(category, "", new.title, new.content, extra)


def _settle(new: NewMemory, old: Item | None, written: Written, context: WorkContext) -> None:
    """Close the candidate, and let the new memory supersede the old one. Raises InvalidMemory if both are the same."""
    if new.candidate:
        from ..capture.candidate import CandidateFile

        CandidateFile(context.paths).change(lambda candidates: candidates.close([new.candidate]))
    if old is None:
        return
    if written.stored.key == old.stored.key:
        text = "--supersedes: %s is the same memory, which is already stored"
        raise InvalidMemory(text % old.stored.memory.id)
    trust = load_trust(context.paths, context.accept_from).state_of(written.stored)
    lifecycle.supersede(context.paths, old, Item(written.stored, trust, ""))
