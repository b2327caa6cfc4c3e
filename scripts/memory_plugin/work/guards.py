"""The guards of a project: their state, and what they would do."""

from __future__ import annotations

from typing import NamedTuple

from ..memories.guard_file import GuardFile
from ..memories.record import ACTIVE, Memory, guard_problem
from ..memories.survey import Item, life_cycle_state
from ..memories.trust import TRUSTED, Trust, load_trust
from ..recall.guarding import GuardedCall
from ..recall.in_force import guarded_version
from .context import WorkContext
from .memory_facts import holds_guard

IN_FORCE, LAST_TRUSTED, INVALID, OFF = "in force", "last trusted version in force", "invalid", "off"


class _GuardRow(NamedTuple):
    """A memory with a guard: its state, the version in force or pending, and why the guard is invalid (usually empty)."""

    item: Item
    state: str
    version: Memory
    problem: str


def guard_rows(items: list[Item], context: WorkContext) -> list[_GuardRow]:
    """Return the memories that have a guard, with its state, sorted by key."""
    if context.paths.state_dir is None:
        return []
    trust = load_trust(context.paths, context.accept_from)
    enabled = context.settings.flag("guards.enabled")
    rows = [row for item in items if (row := _row(item, trust, enabled=enabled)) is not None]
    return sorted(rows, key=lambda row: row.item.stored.key)


def _row(item: Item, trust: Trust, *, enabled: bool) -> _GuardRow | None:
    memory = item.stored.memory
    version = guarded_version(item.stored, trust)
    replaced = bool(item.superseded_by) and item.trust == TRUSTED
    if version is not None and not replaced and (item.trust != TRUSTED or life_cycle_state(item) == ACTIVE):
        state = IN_FORCE if version is memory else LAST_TRUSTED
        return _GuardRow(item, state if enabled else OFF, version, "")
    if not holds_guard(item.stored) or life_cycle_state(item) != ACTIVE:
        return None
    problem = guard_problem(memory)
    return _GuardRow(item, INVALID if problem else item.trust, memory, problem)


def match_rows(command: str | None, file: str | None, context: WorkContext) -> list[dict[str, str]]:
    """Return the guards in force that cover a command or a file, from the same file that the hook reads."""
    root, guards = context.paths.project_root, GuardFile(context.paths)
    if file is None:
        tool, tool_input = "Bash", {"command": command}
    else:
        tool, tool_input = "Edit", {"file_path": file}
    call = GuardedCall({"tool_name": tool, "tool_input": tool_input, "cwd": root}, guards, root)
    return [
        {"key": guard.key, "title": call.text(guard, "title"), "matched": pattern, "action": guard.action}
        for guard, pattern in call.matches
    ]
