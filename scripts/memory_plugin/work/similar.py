"""Stored memories that are similar to new ones, and what replaces them."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from ..memories import InvalidMemory
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE, Memory, body_text
from ..memories.relations import NEAR_DUPLICATE, SAME_TITLE, Similarity
from ..memories.survey import Item, life_cycle_state, read_item, shortest_names
from ..recall.memory_search import neighbors
from .context import WorkContext

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
    compared = new[:_MAX_NEW]
    texts = ["\n".join((memory.title, *memory.asked_as, body_text(memory))) for _, memory in compared]
    near = neighbors(context.paths, context.settings, texts, _CANDIDATES, _COMPARED_WITH) if texts else None
    if near is None:
        return [[] for _ in new]
    own_keys = [key for key, _ in new]
    nearest = {*chain.from_iterable(near.keys)}
    items = context.overview(is_current=True, names={*own_keys, *near.others, *nearest}).items
    corpus = _texts_of([item for item in items if item.stored.key in nearest.union(near.others)])
    active = {item.stored.key for item in items if life_cycle_state(item) == ACTIVE}
    similarity = Similarity(corpus.values(), near.stopwords)
    kinds = (SAME_TITLE, NEAR_DUPLICATE) if repeated_only else ()
    names = shortest_names(items)
    positions = {key: at for at, (key, _) in enumerate(new)}
    results: list[list[Similar]] = [[] for _ in new]
    for at, ((key, memory), near_keys) in enumerate(zip(compared, near.keys)):
        for near_key in near_keys:
            if near_key not in active.intersection(corpus) or positions.get(near_key, -1) >= at:
                continue
            other = corpus[near_key]
            why = similarity.why(memory, other)
            if why and (not kinds or why in kinds):
                old, name = names[near_key], names.get(key, "")
                command = "memory edit %s --superseded-by %s" % (old, name) if name else ""
                results[at].append(Similar(old, shown_line(other.title), why, command))
    return [similar[:_MAX_SIMILAR] for similar in results]


def _texts_of(items: list[Item]) -> dict[str, Memory]:
    """Return the memories that can be read, by key."""
    memories: dict[str, Memory] = {}
    for item in items:
        with suppress(InvalidMemory, OSError):
            memories[item.stored.key] = read_item(item).stored.memory
    return memories
