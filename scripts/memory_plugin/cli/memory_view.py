"""How commands print a memory, its guard, and what to do about similar memories and those without search phrases."""

from __future__ import annotations

import shlex

from ..kernel.text.clean import counted
from ..memories.guard import guard_in_words
from ..memories.guarded_commands import guard_words, other_spellings
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE, Memory, guard_problem
from ..memories.survey import Item, life_cycle_state, without_phrases
from ..memories.trust import REJECTED, TRUSTED
from ..work.save import Similar
from .command_context import CommandContext

_MAX_GUARD = 2000
HEADERS = ("ID", "CATEGORY", "SCOPE", "UPDATED", "STATUS", "TITLE")


def as_row(item: Item) -> list[str]:
    """Return the cells of a table row, in the order of `HEADERS`."""
    memory = item.stored.memory
    cells = [memory.id, memory.category, item.stored.store.scope, memory.updated_at[:10]]
    return [*cells, status_text(item), shown_line(memory.title)]


def status_text(item: Item) -> str:
    """Return a memory's status in one or two words, such as `active` or `archived, pending`."""
    words = [] if life_cycle_state(item) == ACTIVE else [life_cycle_state(item)]
    if item.trust != TRUSTED:
        words.append(item.trust)
    return ", ".join(words) or ACTIVE


def approval_lines(item: Item, name: str) -> list[str]:
    """Return a line that says how to accept a pending or rejected memory; no lines for any other."""
    if item.trust == REJECTED:
        return ["  You rejected it, and that stays so. next: memory accept %s" % name]
    return ["  Pending: Claude does not see it. next: memory accept %s" % name] if item.waits else []


def guard_lines(memory: Memory) -> list[str]:
    """Return a line that describes the guard, or why it is invalid; no lines without a guard."""
    if memory.guard is not None:
        commands = memory.guard.commands
        covered = [set(guard_words(command)) for command in commands]
        others = [other for command in commands for other in other_spellings(command)]
        missing = [other for other in others if set(other.split()) not in covered]
        lines = ["guard: " + shown_line(guard_in_words(memory.guard), _MAX_GUARD)]
        if missing:
            options = "".join(" --guard-command " + shlex.quote(each) for each in (*commands, *missing))
            what = ", ".join("`%s`" % other for other in missing), memory.id, options
            lines.append(
                shown_line("not guarded, though it does the same: %s. To guard both: memory edit %s%s" % what)
            )
        return lines
    problem = guard_problem(memory)
    return ["its guard is invalid: " + shown_line(problem, _MAX_GUARD)] if problem else []


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
