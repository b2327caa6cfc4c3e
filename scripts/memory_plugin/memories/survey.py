"""All memories of the stores at hand, each with its standing: what the commands list, check and count."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import now_iso
from .files import FileProblem, StoredMemory, all_memories, why_left_alone
from .record import ACTIVE, InvalidMemory
from .stores import stores
from .trust import FOREIGN, TRUSTED, load_trust

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from .stores import Store

__all__ = ["Item", "Survey", "choose", "life", "survey", "unmistakable"]

EXPIRED, SUPERSEDED = "expired", "superseded"
CAME_WITH_STORE = "came with the repository"


class Item(NamedTuple):
    """A memory, its standing (trusted, pending or foreign), and why it is not trusted (empty for a trusted one)."""

    stored: StoredMemory
    trust: str
    reason: str

    @property
    def waits(self) -> bool:
        """Whether it would be recalled if only the user accepted it."""
        return self.trust != TRUSTED and life(self.stored) == ACTIVE


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
        if scope in ("", store.scope):
            reason = why_left_alone(store)
            if reason:
                found.left_alone.append(reason)
            found.items.extend(_items(places, store, accept_pulls, found.problems))
    return found


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


def life(stored: StoredMemory) -> str:
    """Where a memory is in its life: active, retired, archived, superseded or expired; only active ones are recalled."""
    memory = stored.memory
    if memory.status != ACTIVE:
        return memory.status
    if memory.superseded_by:
        return SUPERSEDED
    return EXPIRED if memory.expires_at and memory.expires_at < now_iso() else ACTIVE


def choose(items: list[Item], name: str) -> Item:
    """The memory that a user means by an id, `category/id` or `scope:category/id`; a waiting one goes before a trusted one.

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
