"""`memory guards`: list the guards, or test what they would do about a command or a file."""

from __future__ import annotations

import argparse

from ...memories.guard import guard_in_words
from ...memories.hygiene import shown_line
from ...memories.survey import shortest_names
from ...memories.trust import PENDING
from ...work.memory_facts import LAST_TRUSTED, guard_as_json, guard_rows, match_rows
from ..command_context import CommandContext, UsageError

HELP = "list guards, or test a command or file against them"
EXAMPLES = """\
  memory guards
  memory guards test "cd app && git push --force"
  memory guards test --file db/migrations/0007_users.sql
"""

_LIST, _TEST = "list", "test"
_MAX_GUARD = 2000
_OFF = "guards are off; to turn them on: memory config set guards.enabled true"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", nargs="?", choices=(_LIST, _TEST), default=_LIST, help="default: list")
    parser.add_argument(
        "tested", nargs="?", metavar="COMMAND", help="the command line to test; it is not run"
    )
    parser.add_argument("--file", metavar="PATH", help="test a change to this file")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """List the guards with their state, or print which of them cover a command or a file."""
    if arguments.action == _LIST:
        if arguments.tested is not None or arguments.file is not None:
            raise UsageError("list takes no command or file; to test one: memory guards test")
        _list(arguments, context)
    elif (arguments.tested is None) == (arguments.file is None):
        raise UsageError("test: expected a command or --file PATH")
    else:
        _test(arguments, context)


def _list(arguments: argparse.Namespace, context: CommandContext) -> None:
    items = context.survey().items
    found = guard_rows(items, context)
    enabled = context.settings.flag("guards.enabled")
    names = shortest_names(items)
    rows, lines = [], [] if enabled else [_OFF]
    for row in found:
        key, title, problem = row.item.stored.key, shown_line(row.version.title), shown_line(row.problem)
        head = {"id": row.item.stored.memory.id, "key": key, "title": title, "state": row.state}
        rows.append({**head, "guard": guard_as_json(row.version), "problem": problem})
        words = row.problem or (guard_in_words(row.version.guard) if row.version.guard else "")
        lines += ["%s  %s" % (names[key], title), "  %s: %s" % (row.state, shown_line(words, _MAX_GUARD))]
        if row.state in (PENDING, LAST_TRUSTED):
            lines.append("  The version in its file is pending: memory accept " + names[key])
    if not found:
        lines.append('No memory has a guard. To add one: memory edit ID --guard-command "git push --force"')
    context.console.result(arguments.json, {"enabled": enabled, "guards": rows}, *lines)


def _test(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print what the guards in force would do, using the same file that the hook reads."""
    context.refresh_index()
    rows = [] if context.paths.state_dir is None else match_rows(arguments.tested, arguments.file, context)
    enabled = context.settings.flag("guards.enabled")
    lines = []
    for row in rows:
        effect = "Claude Code would ask you"
        if row["action"] != "ask":
            effect = "the first call in each session would be blocked"
        lines.append("`%s` matches: %s" % (shown_line(row["matched"]), effect))
        lines.append("  %s  %s" % (row["key"], shown_line(row["title"])))
    if not rows:
        lines.append("No guard in force matches.")
    elif not enabled:
        lines.append(_OFF)
    context.console.result(arguments.json, {"enabled": enabled, "matches": rows}, *lines)
