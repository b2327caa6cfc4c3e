"""After a change to a store: refresh the index and the counts of the status line, list similar memories, and those that become active."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from ..kernel.data import write_state
from ..kernel.files import error_text
from ..kernel.sqlite import SqliteError
from ..memories import InvalidMemory
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE, Memory, body_text
from ..memories.relations import NEAR_DUPLICATE, SAME_TITLE, Similarity
from ..memories.survey import Item, life_cycle_state, read_item, shortest_names, without_phrases
from ..memories.trust import TRUSTED
from ..recall import index_refresh
from ..recall.index_file import IndexUnavailable
from ..recall.memory_search import neighbors
from ..work.background import start_refresh
from ..work.status_line import FOLDER, counts_path
from .command_context import CommandContext
from .console import counted

_CANDIDATES = 20
_COMPARED_WITH = 100  # memories whose words say which ones are rare; reading more of them changes little
_MAX_SIMILAR = 3
_MAX_NEW = 200


def refresh_index(context: CommandContext, *, scrub: bool = False) -> bool:
    """Refresh the index so that the next prompt sees the change. Return False, after printing a warning, if that failed.

    The change itself is stored either way, and a later prompt retries. With `scrub`, no text of deleted memories remains in
    the index file.
    """
    try:
        report = index_refresh.refresh_index(context.paths, context.settings, rounds=1, full=False)
        prepare_counts(context)
        if scrub:
            index_refresh.scrub_index(context.paths)
    except (IndexUnavailable, SqliteError, OSError) as error:
        text = (
            "The change is stored, but the index could not be refreshed (%s). The next prompt will try again."
        )
        context.console.error(text % error_text(error))
        return False
    if report.remaining:
        start_refresh(context.paths)
        text = "The change is stored. The index is still being refreshed in the background: %s left."
        context.console.error(text % counted(report.remaining, "file"))
    return True


class Similar(NamedTuple):
    """A stored memory that is similar to a new one: why, and the command that replaces it with the new one."""

    id: str
    title: str
    why: str
    command: str


def similar_to(
    context: CommandContext, new: list[tuple[str, Memory]], *, repeated_only: bool = False
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


def similar_lines(similar_memories: list[Similar]) -> list[str]:
    """Return the lines that list similar memories, with the commands that resolve them."""
    lines = []
    for similar in similar_memories:
        lines.append("  %s: %s  %s" % (similar.why, similar.id, similar.title))
        if similar.command:
            lines.append("    if the new one replaces it: " + similar.command)
    return lines


def phrase_lines(context: CommandContext) -> list[str]:
    """Return a line about the memories without search phrases; no lines if all have some."""
    number = len(without_phrases(context.survey().items))
    text = "%s without search phrases; to add some: /memory:phrases in Claude Code"
    return [text % counted(number, "memory")] if number else []


def replaced_lines(before: list[Item], after: list[Item], gone: str) -> list[str]:
    """Return lines about the memories that the removed one had superseded; `gone` is the key of the removed memory."""
    states, names = {item.stored.key: life_cycle_state(item) for item in after}, shortest_names(after)
    lines = []
    for item in before:
        key = item.stored.key
        if item.superseded_by == gone and states.get(key) == ACTIVE:
            lines.append("  %s, which it had replaced, is recalled again" % names[key])
        elif item.superseded_by == gone and key in names:
            text = "  %s, which it had replaced, stays superseded; to bring it back: memory restore %s"
            lines.append(text % (names[key], names[key]))
    return lines


def prepare_counts(context: CommandContext) -> None:
    """Write the counts of this project if the status line is installed. Raises OSError and TrustUnreadable."""
    paths = context.paths
    if paths.state_dir is None or not os.path.isdir(paths.state(FOLDER)):
        return
    write_state(counts_path(paths), current_counts(context))


def current_counts(context: CommandContext) -> dict[str, object]:
    """Return how many memories of this project are active and pending, and whether recall is on. Raises TrustUnreadable."""
    items = context.overview().items
    return {
        "memories": sum(life_cycle_state(item) == ACTIVE and item.trust == TRUSTED for item in items),
        "pending": sum(item.waits for item in items),
        "recall": context.settings.flag("retrieval.enabled"),
    }
