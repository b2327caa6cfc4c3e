"""How commands print a memory's guard, and whether a change to it needs the user's confirmation."""

from __future__ import annotations

from ..memories.guard import guard_in_words, guard_json
from ..memories.hygiene import shown_line
from ..memories.memory_files import StoredMemory
from ..memories.record import Memory, guard_problem
from ..memories.trust import load_trust
from ..recall.guard_rows import guarded_version
from .command_context import CommandContext

_MAX_GUARD = 2000


def guard_as_json(memory: Memory) -> dict[str, object] | None:
    """Return the guard as JSON data without secrets and hidden characters; None if there is no guard."""
    if memory.guard is None:
        return None
    return {
        name: [shown_line(item) for item in value] if isinstance(value, list) else value
        for name, value in guard_json(memory.guard).items()
    }


def guard_lines(memory: Memory) -> list[str]:
    """Return a line that describes the guard, or why it is invalid; no lines without a guard."""
    if memory.guard is not None:
        return ["guard: " + shown_line(guard_in_words(memory.guard), _MAX_GUARD)]
    problem = guard_problem(memory)
    return ["its guard is invalid: " + shown_line(problem, _MAX_GUARD)] if problem else []


def holds_guard(stored: StoredMemory) -> bool:
    """Return whether a memory's file has a `guard` field, valid or not."""
    return stored.memory.data.get("guard") is not None


def is_guarded(stored: StoredMemory, context: CommandContext) -> bool:
    """Return whether a guard of this memory is in force, in its current version or its last trusted one."""
    if context.paths.state_dir is None:
        return False
    return guarded_version(stored, load_trust(context.paths, context.accept_from)) is not None


def may_trust(context: CommandContext, *, guarded: bool) -> bool:
    """Return whether a save is trusted immediately, and count it.

    Guards need the user's own confirmation: inside the client, a save that adds, changes or removes one is always pending.
    """
    return not (guarded and context.inside_client) and context.approve_saves()
