"""Save a memory: read the stored ones, check the new one, write it, index it, compare it with the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from ..memories import InvalidMemory, lifecycle
from ..memories.hygiene import clean_data, shown_line
from ..memories.memory_files import PROJECT, named_store
from ..memories.record import ACTIVE, MAX_TITLE, Memory, body_text, categories, new_memory
from ..memories.relations import NEAR_DUPLICATE, SAME_TITLE, Similarity, older_names, plain_title
from ..memories.survey import Item, choose, life_cycle_state, read_item, shortest_names
from ..memories.trust import TRUSTED, load_trust
from ..memories.writing import Written
from ..recall.memory_search import neighbors
from . import WorkContext, WorkError, memory_facts
from .refresh import refresh


class NewMemory(NamedTuple):
    """What is to be saved.

    `extra` holds further fields of the record, such as tags, files, phrases, a guard and a day of expiry. `supersedes` names the memory
    that the new one replaces, and `candidate` the candidate of capture that it is based on; empty for none.
    """

    category: str
    title: str
    content: dict[str, object]
    scope: str
    extra: dict[str, object]
    supersedes: str = ""
    candidate: str = ""


class Saved(NamedTuple):
    """What was stored, as data and as lines to print; `title` is that of the memory, `name` its shortest unique one.

    `is_approved` says whether it is trusted at once. `notices` say what is left to do, such as that a pending memory replaces nothing yet.
    """

    name: str
    title: str
    is_approved: bool
    record: dict[str, object]
    lines: list[str]
    notices: list[str]


def save(new: NewMemory, context: WorkContext) -> Saved:
    """Store a memory. Raises InvalidMemory, and WorkError if another active memory has its title."""
    names = [new.supersedes] if new.supersedes else []
    items = context.overview(names=names, title=shown_line(new.title, MAX_TITLE)).items
    old = choose(items, new.supersedes) if new.supersedes else None
    data = _data(new, old, context)
    if taken := TakenTitles(items, new.scope, old).owner(data):
        raise WorkError((_TAKEN + _OR_REPLACE) % (taken, taken, taken))
    guarded = "guard" in data or (old is not None and memory_facts.is_guarded(old.stored, context))
    approved = memory_facts.may_trust(context, guarded=guarded)
    store = named_store(context.paths, new.scope)
    written = lifecycle.save(context.paths, store, data, approved, only_new=context.only_new)
    if approved:
        _settle(new, old, written, context)
    notices = [refresh(context).notice]
    replaced = old.stored.memory.id if old is not None else ""
    if replaced and not approved:
        notices.append(_NOT_REPLACED % replaced)
        replaced = ""
    key, memory = written.stored.key, written.stored.memory
    item, name = memory_facts.current(context, key)
    similar = similar_to(context, [(key, memory)])[0]
    record = {
        **memory_facts.as_json(item),
        "guard": memory_facts.guard_as_json(memory),
        "redacted": [redaction._asdict() for redaction in written.redacted],
        "created": written.created,
        "superseded": replaced,
        "similar": [row._asdict() for row in similar],
    }
    lines = _lines(new, written, name) + (["  %s is no longer shown" % replaced] if replaced else [])
    lines += similar_lines(similar) if written.created else []
    lines += [] if item.trust == TRUSTED else [_PENDING, "next: memory accept " + name]
    if new.scope == PROJECT and memory_facts.is_personal(memory.category, memory.title):
        lines += ["To keep it to yourself, out of the team's store:", "memory edit %s --scope user" % name]
    return Saved(name, memory.title, approved, record, lines, list(filter(None, notices)))


def _lines(new: NewMemory, written: Written, name: str) -> list[str]:
    """Return lines about what was stored, and what was cut, redacted and guarded."""
    memory, line = written.stored.memory, "already saved as {2} ({0}): {1}"
    if written.created:
        line = "saved {0}: {1}\nundo: memory forget {2}"
    lines = line.format(memory.category, shown_line(memory.title, _LONG_TITLE), name).split("\n")
    if len(new.title) > MAX_TITLE:
        lines.append("  The title was cut to %d characters." % MAX_TITLE)
    return lines + [
        "  " + line for line in memory_facts.redaction_lines(written) + memory_facts.guard_lines(memory)
    ]


def _data(new: NewMemory, old: Item | None, context: WorkContext) -> dict[str, object]:
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


_LONG_TITLE = 80
_PENDING = "  Pending: Claude does not see it until you accept it. In Claude Code: /memory:review"
_NOT_REPLACED = "%s is not replaced yet: the new memory is pending"
_TAKEN = "%s already has this title; to change that one: memory edit %s --body '...'"
_OR_REPLACE = "; to replace it: --supersedes %s; to keep both, choose another title"


class TakenTitles:
    """The titles taken in a scope: those of its active memories, and of memories about to be stored there."""

    def __init__(self, items: list[Item], scope: str, excluded: Item | None = None) -> None:
        """Collect the titles, except that of `excluded`, a memory that is being replaced or changed."""
        self._items = items
        self._by_title: dict[str, list[Item]] = {}
        self._new: dict[str, dict[str, object]] = {}
        others = (
            items if excluded is None else [one for one in items if one.stored.key != excluded.stored.key]
        )
        for item in others:
            if item.stored.store.scope == scope and life_cycle_state(item) == ACTIVE:
                self._by_title.setdefault(plain_title(item.stored.memory.title), []).append(item)

    def owner(self, data: dict[str, object], or_same: bool = False) -> str:
        """Return the name of a stored memory with the title of `data` but different text (or any text, if `or_same`); else empty."""
        cleaned = clean_data(data)[0] if self._by_title else data
        for item in self._by_title.get(plain_title(str(cleaned["title"])), ()):
            if or_same or not _is_same_memory(read_item(item).stored.memory.data, cleaned):
                return shortest_names(self._items)[item.stored.key]
        return ""

    def take(self, data: dict[str, object], source: str) -> str:
        """Reserve the title of a new memory; return why it is taken, or "". `source` names the memory in later reasons."""
        if owner := self.owner(data):
            return _TAKEN % (owner, owner)
        first = self._new.setdefault(plain_title(str(data["title"])), {**data, "source": source})
        if _is_same_memory(first, data):
            return ""
        return "%s has this title too; give one of them another title" % first["source"]


def _is_same_memory(old: dict[str, object], new: dict[str, object]) -> bool:
    return all(old.get(name) == new.get(name) for name in ("category", "title", "content"))


_CANDIDATES = 20
_COMPARED_WITH = 100  # memories whose words say which ones are rare; reading more of them changes little
_MAX_SIMILAR = 3
_MAX_NEW = 200


class Similar(NamedTuple):
    """A stored memory that is similar to a new one: why, and the command that replaces it with the new one."""

    id: str
    title: str
    why: str
    command: str


def similar_lines(similar_memories: Iterable[Similar]) -> list[str]:
    """Return the lines that list similar memories, with the commands that resolve them."""
    lines = []
    for similar in similar_memories:
        lines.append("  %s: %s  %s" % (similar.why, similar.id, similar.title))
        if similar.command:
            lines.append("    to replace it: " + similar.command)
    return lines


def similar_to(
    context: WorkContext, new: list[tuple[str, Memory]], *, repeated_only: bool = False
) -> list[list[Similar]]:
    """Return up to three similar active memories for each new one; of two similar new ones, only the later lists the other.

    Args:
        context: gives access to the stores and to the index, which already contains the new memories.
        new: memories with their keys; only the first 200 are compared. A draft has a key that is not in the store, so it gets no
            command.
        repeated_only: report only near duplicates, not memories that answer the same question differently.
    """
    texts = ["\n".join((memory.title, *memory.asked_as, body_text(memory))) for _, memory in new[:_MAX_NEW]]
    near = neighbors(context.paths, context.settings, texts, _CANDIDATES, _COMPARED_WITH) if texts else None
    results: list[list[Similar]] = [[] for _ in new]
    if near is None:
        return results
    positions = {key: at for at, (key, _) in enumerate(new)}
    compared_with = {*chain.from_iterable(near.keys), *near.others}
    items = context.overview(is_current=True, names=compared_with.union(positions)).items
    names, active = shortest_names(items), dict(_active(items, compared_with))
    similarity = Similarity(active.values(), near.stopwords)
    for at, ((key, memory), near_keys) in enumerate(zip(new, near.keys)):
        for near_key in near_keys:
            other = active.get(near_key)
            if other is None or positions.get(near_key, -1) >= at:
                continue
            why = similarity.why(memory, other)
            if why in (SAME_TITLE, NEAR_DUPLICATE) or (why and not repeated_only):
                old, name = names[near_key], names.get(key, "")
                command = "memory edit %s --superseded-by %s" % (old, name) if name else ""
                results[at].append(Similar(old, shown_line(other.title), why, command))
    return [similar[:_MAX_SIMILAR] for similar in results]


def _active(items: list[Item], keys: set[str]) -> Iterator[tuple[str, Memory]]:
    """Yield those active memories with one of these keys whose files can be read."""
    for item in items:
        if item.stored.key in keys and life_cycle_state(item) == ACTIVE:
            with suppress(InvalidMemory, OSError):
                yield item.stored.key, read_item(item).stored.memory
