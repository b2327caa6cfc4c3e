"""All memories of the stores at hand, each with its standing: what the commands list, check and count."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import now_iso
from .files import FileProblem, StoredMemory, all_memories, why_left_alone
from .record import ACTIVE, InvalidMemory
from .stores import stores
from .supersession import Link, Resolution, named_keys, resolve
from .trust import FOREIGN, TRUSTED, load_trust

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from .stores import Store

__all__ = [
    "Item",
    "Survey",
    "choose",
    "life",
    "naming",
    "successors",
    "supersession",
    "survey",
    "unmistakable",
]

EXPIRED, SUPERSEDED = "expired", "superseded"
CAME_WITH_STORE = "came with the repository"


class Item(NamedTuple):
    """A memory, its standing (trusted, pending or foreign), and why it is not trusted (empty for a trusted one).

    `superseded_by` is the key of the memory that replaces it, or the name that the memory gives where there is none such; else empty.
    """

    stored: StoredMemory
    trust: str
    reason: str
    superseded_by: str = ""

    @property
    def waits(self) -> bool:
        """Whether it would be recalled if only the user accepted it."""
        return self.trust != TRUSTED and life(self) == ACTIVE


class Survey(NamedTuple):
    """What lies in the stores: memories, files that are none, and stores that are not read at all with the reason."""

    items: list[Item]
    problems: list[FileProblem]
    left_alone: list[str]


def survey(places: Places, accept_pulls: bool, scope: str = "") -> Survey:
    """Everything in the stores, or in those of one scope; looking changes no standing.

    `accept_pulls` is the user's wish to trust what git brings (security rule 4).
    """
    found = Survey([], [], [])
    for store in stores(places):
        problems = found.problems if scope in ("", store.scope) else []
        reason = why_left_alone(store)
        if reason and scope in ("", store.scope):
            found.left_alone.append(reason)
        found.items.extend(_items(places, store, accept_pulls, problems))
    superseded = supersession(found.items).superseded
    found.items[:] = [
        item._replace(superseded_by=superseded.get(item.stored.key, ""))
        for item in found.items
        if scope in ("", item.stored.store.scope)
    ]
    return found


def supersession(items: list[Item]) -> Resolution:
    """Return which of these memories are superseded, and what the newer ones inherit."""
    active = {item.stored.key: item for item in items if item.stored.memory.status == ACTIVE}
    links = {key: _link(item) for key, item in active.items() if _names_others(item)}
    return resolve(links, lambda key: _link(active[key]) if key in active else None)


def naming(items: list[Item], old: Item) -> list[Item]:
    """Return the active memories that name this one in `supersedes`."""
    active = {item.stored.key for item in items if item.stored.memory.status == ACTIVE}
    return [
        item
        for item in items
        if item.stored.key in active
        and any(
            old.stored.key
            == next(
                (key for key in named_keys(name, item.stored.key) if key in active - {item.stored.key}), ""
            )
            for name in item.stored.memory.supersedes
        )
    ]


def successors(items: list[Item], item: Item) -> list[str]:
    """Return the keys of the memories that replace this one, the nearest first."""
    by_key = {one.stored.key: one.superseded_by for one in items}
    found: list[str] = []
    key = by_key.get(item.stored.key, "")
    while key and key not in found:
        found.append(key)
        key = by_key.get(key, "")
    return found


def _names_others(item: Item) -> bool:
    return bool(item.stored.memory.superseded_by or item.stored.memory.supersedes)


def _link(item: Item) -> Link:
    memory = item.stored.memory
    return Link(
        item.stored.key, item.trust == TRUSTED, memory.superseded_by, memory.supersedes, memory.asked_as
    )


def _items(places: Places, store: Store, accept_pulls: bool, problems: list[FileProblem]) -> list[Item]:
    memories = list(all_memories(store, problems))
    if places.state_dir is None:
        return [Item(stored, FOREIGN, places.why_no_state) for stored in memories]
    trust = load_trust(places, store)
    standings = trust.review(memories, accept_pulls)
    return [
        Item(
            stored,
            standings[stored.key],
            "" if standings[stored.key] == TRUSTED else _why(trust.reason(stored)),
        )
        for stored in memories
    ]


def _why(reason: str) -> str:
    return reason or CAME_WITH_STORE


def life(item: Item) -> str:
    """Return where a memory is in its life: active, retired, archived, superseded or expired; only active ones are recalled."""
    memory = item.stored.memory
    if memory.status != ACTIVE:
        return memory.status
    if item.superseded_by:
        return SUPERSEDED
    return EXPIRED if memory.expires_at and memory.expires_at < now_iso() else ACTIVE


def choose(items: list[Item], name: str) -> Item:
    """Return the memory that a user means by an id, `category/id` or `scope:category/id`; a waiting one goes before a trusted one.

    Raises InvalidMemory when there is none, or when the name fits several.
    """
    hits = [item for item in items if name in _names(item)]
    waiting = [item for item in hits if item.trust != TRUSTED]
    hits = waiting or hits
    if not hits:
        raise InvalidMemory("%s: no memory has this id; `memory list --status all` shows all" % name)
    if len(hits) > 1:
        keys = ", ".join(item.stored.key for item in hits)
        raise InvalidMemory("%s: more than one memory has this id; name one of %s" % (name, keys))
    return hits[0]


def unmistakable(items: list[Item]) -> dict[str, str]:
    """For each memory, by its key, the shortest name that means it and no other: for a command that is to be typed next."""
    taken = Counter(name for item in items for name in _names(item))
    return {
        item.stored.key: next((name for name in _names(item) if taken[name] == 1), item.stored.key)
        for item in items
    }


def _names(item: Item) -> tuple[str, str, str]:
    memory = item.stored.memory
    return memory.id, "%s/%s" % (memory.category, memory.id), item.stored.key
