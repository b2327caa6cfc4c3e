"""What a command does after it changed a store: refresh the index, name similar memories, say what a removal brings back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..hooks.background import start_refresh
from ..kernel.files import in_words
from ..kernel.sqlite import SqliteError
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE, body_text
from ..memories.similarity import NEAR_DUPLICATE, SAME_TITLE, Similarity
from ..memories.survey import life_cycle_state, shortest_names, survey
from ..recall import index_refresh
from ..recall.index_file import IndexUnavailable
from ..recall.memory_search import neighbors
from .console import counted
from .status_counts import prepare_counts

if TYPE_CHECKING:
    from ..memories.record import Memory
    from ..memories.survey import Item
    from .command_context import CommandContext

__all__ = ["Similar", "refresh_index", "replaced_lines", "similar_lines", "similar_to"]

_CANDIDATES = 20
_COMPARED_WITH = 300
_MAX_SIMILAR = 3
_MAX_NEW = 200


def refresh_index(context: CommandContext, *, scrub: bool = False) -> bool:
    """Refresh the index, so that the next prompt sees the change; return whether it is up to date, and say so if not.

    The change itself is stored in any case, and a later prompt refreshes the index. With `scrub` no text of what was
    deleted remains in the file of the index.
    """
    try:
        report = index_refresh.refresh_index(context.paths, context.settings, rounds=1)
        prepare_counts(context)
        if scrub:
            index_refresh.scrub_index(context.paths)
    except (IndexUnavailable, SqliteError, OSError) as error:
        context.console.error(
            "done, but the index could not be refreshed (%s); the next prompt tries again" % in_words(error)
        )
        return False
    if report.left:
        start_refresh(context.paths)
        context.console.error(
            "done; the index is being refreshed in the background: %s left" % counted(report.left, "file")
        )
    return True


class Similar(NamedTuple):
    """A memory similar to a new one, why it is similar, and the command that lets the new one replace it."""

    id: str
    title: str
    why: str
    command: str


def similar_to(
    context: CommandContext, new: list[tuple[str, Memory]], *, repeated_only: bool = False
) -> list[list[Similar]]:
    """Return for each memory at most three similar active ones; of two similar new ones, the later names the earlier.

    Args:
        context: the stores, and the index, which holds what was just stored.
        new: the memories with their keys; only the first 200 are compared. A draft has a key of no stored memory and gets no
            command.
        repeated_only: only memories that say the same, not those that answer the same question in another way.
    """
    looked_at = new[:_MAX_NEW]
    texts = ["%s\n%s\n%s" % (one.title, "\n".join(one.asked_as), body_text(one)) for _, one in looked_at]
    near = neighbors(context.paths, context.settings, texts, _CANDIDATES) if texts else None
    if near is None:
        return [[] for _ in new]
    items = survey(context.paths, context.accept_from).items
    active = {item.stored.key: item for item in items if life_cycle_state(item) == ACTIVE}
    around = {item.stored.key: item for item in items[:_COMPARED_WITH]}
    around.update((key, active[key]) for keys in near.keys for key in keys if key in active)
    compared = Similarity((item.stored.memory for item in around.values()), near.stop)
    names = shortest_names(items)
    later = {key: at for at, (key, _) in enumerate(new)}
    found: list[list[Similar]] = [[] for _ in new]
    for at, ((key, memory), keys) in enumerate(zip(looked_at, near.keys)):
        others = [active[one] for one in keys if one in active and later.get(one, -1) < at]
        found[at] = _named(memory, names.get(key, ""), others, compared, names, repeated_only)
    return found


def _named(
    memory: Memory,
    name: str,
    others: list[Item],
    compared: Similarity,
    names: dict[str, str],
    repeated_only: bool,
) -> list[Similar]:
    found = []
    for item in others:
        why = compared.why(memory, item.stored.memory)
        if why and (not repeated_only or why in (SAME_TITLE, NEAR_DUPLICATE)):
            old = names[item.stored.key]
            command = "memory edit %s --superseded-by %s" % (old, name) if name else ""
            found.append(Similar(old, shown_line(item.stored.memory.title), why, command))
    return found[:_MAX_SIMILAR]


def similar_lines(found: list[Similar]) -> list[str]:
    """Return lines for people about similar memories, with what to do."""
    lines = []
    for one in found:
        lines.append("  %s: %s  %s" % (one.why, one.id, one.title))
        if one.command:
            lines.append("    if the new one replaces it: " + one.command)
    return lines


def replaced_lines(before: list[Item], after: list[Item], gone: str) -> list[str]:
    """Return lines about the memories that the removed one (`gone` is its key) had replaced."""
    lives, names = {item.stored.key: life_cycle_state(item) for item in after}, shortest_names(after)
    lines = []
    for item in before:
        key = item.stored.key
        if item.superseded_by == gone and lives.get(key) == ACTIVE:
            lines.append("  %s, which it had replaced, is recalled again" % names[key])
        elif item.superseded_by == gone and key in names:
            text = "  %s, which it had replaced, stays superseded; to bring it back: memory restore %s"
            lines.append(text % (names[key], names[key]))
    return lines
