"""`memory guards`: list the guards, or test what they would do about a command or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...memories.guard import guard_in_words
from ...memories.guard_file import GuardFile
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE, guard_problem
from ...memories.survey import life_cycle_state, shortest_names, survey
from ...memories.trust import TRUSTED, load_trust
from ...recall.guard_rows import guarded_version
from ...recall.guarding import ToolCall, match_call
from ..after_change import refresh_index
from ..command_context import UsageError
from ..guard_view import guard_as_json, holds_guard

if TYPE_CHECKING:
    import argparse

    from ...memories.record import Memory
    from ...memories.survey import Item
    from ...memories.trust import Trust
    from ...recall.guarding import GuardMatch
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "list the guards, or test what they would do about a command or a file"
EXAMPLES = """\
  memory guards
  memory guards test "cd app && git push --force"
  memory guards test --file db/migrations/0007_users.sql
"""

DONE = 0
_LIST, _TEST = "list", "test"
IN_FORCE, LAST_TRUSTED, PENDING, INVALID, OFF = (
    "in force",
    "last trusted version in force",
    "pending",
    "invalid",
    "off",
)
_LONGEST = 2000
_OFF = "guards are switched off: memory config set guards.enabled true"


class _Listed(NamedTuple):
    """A memory with a guard: its state, the version in force or pending, and why the guard is invalid (usually empty)."""

    item: Item
    state: str
    version: Memory
    problem: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", nargs="?", choices=(_LIST, _TEST), default=_LIST, help="default: list")
    parser.add_argument(
        "tested", nargs="?", metavar="COMMAND", help="the command line to test; it is not run"
    )
    parser.add_argument("--file", metavar="PATH", help="test a change to this file")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """List the guards with their state, or print which of them cover a command or a file."""
    if arguments.action == _LIST:
        if arguments.tested is not None or arguments.file is not None:
            raise UsageError("list takes no command or file; to test one: memory guards test")
        return _list(arguments, context)
    if (arguments.tested is None) == (arguments.file is None):
        raise UsageError("test: expected a command or --file PATH")
    return _test(arguments, context)


def _list(arguments: argparse.Namespace, context: CommandContext) -> int:
    items = survey(context.paths, context.accept_from).items
    found = _listed(items, context)
    enabled = context.settings.flag("guards.enabled")
    if arguments.json:
        rows = [
            {"id": row.item.stored.memory.id, "key": row.item.stored.key, "title": shown_line(row.version.title),
             "state": row.state, "guard": guard_as_json(row.version), "problem": shown_line(row.problem)}
            for row in found
        ]  # fmt: skip
        context.console.json({"enabled": enabled, "guards": rows})
        return DONE
    names = shortest_names(items)
    for row in found:
        context.console.line("%s  %s" % (names[row.item.stored.key], shown_line(row.version.title)))
        description = row.problem or (guard_in_words(row.version.guard) if row.version.guard else "")
        context.console.paragraph("%s: %s" % (row.state, shown_line(description, _LONGEST)), "  ", 2)
        if row.state in (PENDING, LAST_TRUSTED):
            context.console.line(
                "  The version in its file awaits approval: memory accept " + names[row.item.stored.key]
            )
    if not found:
        context.console.line(
            'No memory has a guard. To add one: memory edit ID --guard-command "git push --force"'
        )
    if not enabled:
        context.console.line(_OFF)
    return DONE


def _listed(items: list[Item], context: CommandContext) -> list[_Listed]:
    if context.paths.state_dir is None:
        return []
    trust = load_trust(context.paths, context.accept_from)
    enabled = context.settings.flag("guards.enabled")
    rows = [row for item in items if (row := _row(item, trust, enabled=enabled)) is not None]
    return sorted(rows, key=lambda row: row.item.stored.key)


def _row(item: Item, trust: Trust, *, enabled: bool) -> _Listed | None:
    memory = item.stored.memory
    version = guarded_version(item.stored, trust)
    replaced = bool(item.superseded_by) and item.trust == TRUSTED
    if version is not None and not replaced and (item.trust != TRUSTED or life_cycle_state(item) == ACTIVE):
        state = IN_FORCE if version is memory else LAST_TRUSTED
        return _Listed(item, state if enabled else OFF, version, "")
    if not holds_guard(item.stored) or life_cycle_state(item) != ACTIVE:
        return None
    problem = guard_problem(memory)
    return _Listed(item, INVALID if problem else item.trust, memory, problem)


def _test(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print what the guards in force would do, using the same file that the hook reads."""
    refresh_index(context)
    matches = _matches(arguments, context)
    prepared = GuardFile(context.paths) if context.paths.state_dir is not None else None
    enabled = context.settings.flag("guards.enabled")
    rows = [
        {"key": match.guard.key, "title": prepared.text(match.guard.key, "title") if prepared else "",
         "matched": match.pattern, "action": match.guard.action}
        for match in matches
    ]  # fmt: skip
    if arguments.json:
        context.console.json({"enabled": enabled, "matches": rows})
        return DONE
    for row in rows:
        does = (
            "the client would ask you"
            if row["action"] == "ask"
            else "Claude would be reminded once a session"
        )
        context.console.line("`%s` covers it: %s" % (shown_line(row["matched"]), does))
        context.console.line("  %s  %s" % (row["key"], shown_line(row["title"])))
    if not rows:
        context.console.line("No guard in force matches.")
    elif not enabled:
        context.console.line(_OFF)
    return DONE


def _matches(arguments: argparse.Namespace, context: CommandContext) -> list[GuardMatch]:
    if context.paths.state_dir is None:
        return []
    given = {"command": arguments.tested} if arguments.file is None else {"file_path": arguments.file}
    tool = "Bash" if arguments.file is None else "Edit"
    call = ToolCall({"tool_name": tool, "tool_input": given, "cwd": context.paths.project_root})
    return match_call(call, GuardFile(context.paths), context.paths.project_root)
