"""After a change to a store: refresh the index and the counts of the status line, list similar memories, and those that become active."""

from __future__ import annotations

from ..kernel.text.clean import counted
from ..memories.record import ACTIVE
from ..memories.survey import Item, life_cycle_state, shortest_names, without_phrases
from ..work.refresh import Refreshed, refresh
from ..work.save import Similar
from .command_context import CommandContext


def refresh_index(context: CommandContext, *, scrub: bool = False) -> bool:
    """Refresh the index as `work.refresh` does, and print what is left to do. Return whether it could be refreshed."""
    refreshed = refresh(context, scrub=scrub)
    print_notice(refreshed, context)
    return refreshed.is_done


def print_notice(refreshed: Refreshed, context: CommandContext) -> None:
    """Print what is left to do after a refresh of the index, if anything."""
    if refreshed.notice:
        context.console.error(refreshed.notice)


def similar_lines(similar_memories: list[Similar]) -> list[str]:
    """Return the lines that list similar memories, with the commands that resolve them."""
    lines = []
    for similar in similar_memories:
        lines.append("  %s: %s  %s" % (similar.why, similar.id, similar.title))
        if similar.command:
            lines.append("    to replace it: " + similar.command)
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
            lines.append("  %s, which it had replaced, is shown again" % names[key])
        elif item.superseded_by == gone and key in names:
            text = "  %s, which it had replaced, stays replaced; to bring it back: memory restore %s"
            lines.append(text % (names[key], names[key]))
    return lines
