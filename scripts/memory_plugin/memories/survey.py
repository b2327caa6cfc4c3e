"""Read all memories of the current stores, each with its trust: for the commands that list, name, check and count them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from glob import escape, glob
from html import unescape
from typing import NamedTuple

from ..kernel.context import now_iso
from ..kernel.paths import Paths
from . import InvalidMemory
from .hygiene import clean_data
from .memory_files import FileProblem, StoredMemory, all_memories, read_memory, stores, why_not_read
from .record import ACTIVE, categories
from .relations import Link, Resolution, meant_key, plain_title, resolve
from .trust import PENDING, REJECTED, TRUSTED, Trust

_CUT_OFF = "\u2026. "
_MAX_NAMED = 10
_MAX_NEAREST = 3
EXPIRED, SUPERSEDED = "expired", "superseded"
CHANGED, NEW, REFUSED = "changed since you trusted it", "you have not accepted it", "you rejected it"
PHRASES = "its search phrases changed since you accepted them"
TAKEN = "%s already has this title; to change that one: memory edit %s --body '...'"


class Item(NamedTuple):
    """A memory, its trust (trusted, pending or rejected), and why it is not trusted (empty for a trusted one, or PHRASES).

    `superseded_by` is the key of the memory that replaces it; if that one does not exist, the name in the file; else empty.
    The data of a memory whose file was not read is empty.
    """

    stored: StoredMemory
    trust: str
    reason: str
    superseded_by: str = ""

    @property
    def is_pending(self) -> bool:
        """Return whether it, or its phrases, awaits approval and would have an effect once accepted."""
        return (self.trust == PENDING or self.reason == PHRASES) and life_cycle_state(self) == ACTIVE


def read_item(item: Item) -> Item:
    """Return a memory with its text, read from its file unless it was already. Raises InvalidMemory and OSError.

    A text that changed just now counts as pending.
    """
    if item.stored.memory.data:
        return item
    stored = read_memory(item.stored.store, categories()[item.stored.memory.category], item.stored.path)
    if stored.digest == item.stored.digest:
        return item._replace(stored=stored)
    return item._replace(stored=stored, trust=PENDING, reason=CHANGED)


class Survey(NamedTuple):
    """The content of the stores: memories, files that are not memories, and why some stores are not read (`left_alone`)."""

    items: list[Item]
    problems: list[FileProblem]
    left_alone: list[str]


def survey(paths: Paths, accept_from: Collection[str] = ()) -> Survey:
    """Return everything in the stores, without changing any trust.

    `accept_from` is the user's setting of that name. Raises TrustUnreadable.
    """
    result = Survey([], [], [])
    trust = None if paths.state_dir is None else Trust(paths, accept_from)
    found: list[Item] = []  # in all stores, because one memory may supersede another in the other store
    for store in stores(paths):
        result.left_alone.extend(filter(None, [why_not_read(store)]))
        memories = all_memories(store, result.problems)
        found += [item_of(stored, trust, paths.why_no_state) for stored in memories]
    superseded = supersession(found).superseded
    result.items.extend(one._replace(superseded_by=superseded.get(one.stored.key, "")) for one in found)
    return result


def item_of(stored: StoredMemory, trust: Trust | None, why_no_state: str) -> Item:
    """Return a memory with its trust, by its text as it is now."""
    if trust is None:
        return Item(stored, PENDING, why_no_state.partition("; ")[0])
    state = trust.state_of(stored)
    return judged_item(stored, state, trust, has_new_phrases=bool(trust.new_phrases(stored)))


def judged_item(stored: StoredMemory, state: str, trust: Trust, *, has_new_phrases: bool) -> Item:
    """Return a memory whose trust is known, with the reason for it."""
    memory, why = stored.memory, PHRASES if has_new_phrases else ""
    if state == PENDING:
        why = CHANGED if trust.has_trusted_name(stored.store, memory.category, memory.id) else NEW
    return Item(stored, state, REFUSED if state == REJECTED else why)


def supersession(items: list[Item]) -> Resolution:
    """Return which of these memories are superseded, and what the newer ones inherit."""
    links = {item.stored.key: _link(item) for item in items if item.stored.memory.status == ACTIVE}
    naming = {key: link for key, link in links.items() if link.superseded_by or link.supersedes}
    return resolve(naming, links.get)


def superseding(items: list[Item], old: Item) -> list[Item]:
    """Return the active memories that name this one in `supersedes`, with their texts."""
    links = {item.stored.key: _link(item) for item in items if item.stored.memory.status == ACTIVE}

    def names_old(key: str) -> bool:
        return any(meant_key(name, key, links.get) == old.stored.key for name in links[key].supersedes)

    return [read_item(item) for item in items if item.stored.key in links and names_old(item.stored.key)]


def successors(items: list[Item], item: Item) -> list[str]:
    """Return the keys of the memories that replace this one, the nearest first."""
    by_key = {other.stored.key: other.superseded_by for other in items}
    keys: list[str] = []
    key = by_key.get(item.stored.key, "")
    while key and key not in keys:
        keys.append(key)
        key = by_key.get(key, "")
    return keys


def _link(item: Item) -> Link:
    key, one = item.stored.key, item.stored.memory
    return Link(key, item.trust == TRUSTED, one.superseded_by, one.supersedes, one.asked_as)


def life_cycle_state(item: Item) -> str:
    """Return where a memory is in its life cycle: active, retired, archived, superseded or expired; only active ones are recalled."""
    memory = item.stored.memory
    if memory.status != ACTIVE:
        return memory.status
    if item.superseded_by:
        return SUPERSEDED
    return EXPIRED if memory.expires_at and memory.expires_at < now_iso() else ACTIVE


def without_phrases(items: list[Item]) -> list[Item]:
    """Return the memories that may be recalled but have no phrases, by which prompts in other words find a memory."""
    bare = (item for item in items if item.trust == TRUSTED and not item.stored.memory.asked_as)
    return [item for item in bare if life_cycle_state(item) == ACTIVE]


def choose(items: list[Item], name: str, *, first: str = TRUSTED) -> Item:
    """Return the memory that a user means by an id, `category/id`, `scope:category/id` or title, or by the beginning of one of these.

    Of memories with this id, the trusted one is meant, whose name no pulled file can claim; `first` is PENDING for commands that decide
    about pending ones. Of others, an active one, and a trusted one with the whole title. Raises InvalidMemory, which names the candidates
    if the name fits several, and the files of those with this id.
    """
    hits = [item for item in items if name in _names(item)]
    is_id = bool(hits)
    if is_id:
        hits = [item for item in hits if item.trust == first] or hits
    else:
        hits = [item for item in items if may_mean(name, item.stored.key, item.stored.memory.title)]
        hits = [item for item in hits if life_cycle_state(item) == ACTIVE] or hits
        trusted = [(item, _comparable(item.stored.memory.title)) for item in hits if item.trust == TRUSTED]
        hits = [item for item, title in trusted if title == _comparable(name)] or hits
    if not hits:
        raise InvalidMemory(_unknown(items, name))
    if len(hits) > 1:
        names = shortest_names(items)
        files = {item.stored.key: " (%s)" % item.stored.path if is_id else "" for item in hits}
        shown = ", ".join(sorted(names[key] + file for key, file in files.items())[:_MAX_NAMED])
        more = len(hits) - _MAX_NAMED
        shown += " and %d more" % more if more > 0 else ""
        raise InvalidMemory("%s: %d memories fit; name one of %s" % (name, len(hits), shown))
    return read_item(hits[0])


def _unknown(items: list[Item], name: str) -> str:
    for root in {item.stored.store.root for item in items if name}:
        for path in glob(os.path.join(escape(root), "*", escape(name) + "*.json")):
            return "%s cannot be read; see: memory doctor" % path
    short = shortest_names(items)
    names = {item.stored.memory.id: short[item.stored.key] for item in items}
    near = nearest(name, [(item.stored.memory.id, item.stored.memory.title) for item in items])
    hint = "Did you mean %s? " % ", ".join(names[identity] for identity in near) if near else ""
    return "%s: no memory has this id or title. %sTo find it: memory search WORDS" % (name, hint)


def nearest(name: str, memories: Collection[tuple[str, str]]) -> list[str]:
    """Return the ids, at most three, of the memories whose id and title have all words of a name, else those with a similar id."""
    from difflib import get_close_matches  # only for a mistake

    words, ids = set(_words(name)), [identity for identity, _ in memories]
    near = [one for one, title in memories if words and words <= {*_words(one), *_words(title)}]
    return near[:_MAX_NEAREST] or get_close_matches(name, ids, _MAX_NEAREST)


def _words(name: str) -> list[str]:
    return _comparable(name.replace("-", " ")).split()


def may_mean(name: str, key: str, title: str) -> bool:
    """Return whether a name begins a memory's id, also after its category or scope, or its title as the catalog shows it (escaped, cut)."""
    begun, at = _comparable(name), key.rfind("/") + 1
    starts = (start for start in (at, key.find(":") + 1, 0) if key.startswith(name, start))
    is_id = any(start + len(name) > at for start in starts)
    return bool(begun) and (is_id or _comparable(title).startswith(begun))


def _comparable(title: str) -> str:
    return " ".join(unescape(title).casefold().split()).rstrip(_CUT_OFF)


def shortest_names(items: list[Item]) -> dict[str, str]:
    """Return the shortest unambiguous name of each memory by key, for use in a suggested command."""
    counts = Counter(name for item in items for name in _names(item))
    unique = ((item.stored.key, [name for name in _names(item) if counts[name] == 1]) for item in items)
    return {key: names[0] if names else key for key, names in unique}


def _names(item: Item) -> tuple[str, str, str]:
    memory = item.stored.memory
    return memory.id, "%s/%s" % (memory.category, memory.id), item.stored.key


class TakenTitles:
    """The titles taken in a scope: those of its active memories."""

    def __init__(self, items: list[Item], scope: str, excluded: Item | None = None) -> None:
        """Collect the titles, except that of `excluded`, a memory that is being replaced or changed."""
        self._items = items
        self._by_title: dict[str, list[Item]] = {}
        out = "" if excluded is None else excluded.stored.key
        for item in (one for one in items if one.stored.key != out):
            if item.stored.store.scope == scope and life_cycle_state(item) == ACTIVE:
                self._by_title.setdefault(plain_title(item.stored.memory.title), []).append(item)

    def owner(self, data: dict[str, object], or_same: bool = False) -> str:
        """Return the name of a stored memory with the title of `data`, if all of them have another text (or any text, if `or_same`)."""
        cleaned = clean_data(data)[0] if self._by_title else data
        found = self._by_title.get(plain_title(str(cleaned["title"])), [])
        if not or_same and any(_is_same_memory(read_item(one).stored.memory.data, cleaned) for one in found):
            return ""
        return shortest_names(self._items)[found[0].stored.key] if found else ""


def _is_same_memory(old: dict[str, object], new: dict[str, object]) -> bool:
    return all(old.get(name) == new.get(name) for name in ("category", "title", "content"))
