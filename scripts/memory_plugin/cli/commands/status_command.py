"""`memory status`: show what is stored and pending, the last recall decisions, and the doctor's problems."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from ...hooks.tool_use import count_silent_calls
from ...memories.guard_file import GuardFile
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE
from ...memories.survey import Survey, life_cycle_state, shortest_names
from ...recall.explain import decisions, find_decision
from ..checks import FAIL, WARN, Check
from ..command_context import CommandContext
from ..console import counted
from ..decision_view import decision_json, print_decision
from ..memory_view import as_json, named_notes
from .doctor_command import examine

HELP = "show what is stored and pending, and the last recall decisions"
EXAMPLES = """\
  memory status
  memory status --last 20 --json
"""

_LAST = 5
_MAX_PENDING = 20
_HINT = """\
Nothing is stored for this project yet. Ask Claude to remember something ("remember that we deploy on Tuesdays"), type
/memory:save, or run:  memory save --category decision --title "..." --body "..."
To store notes that you already have:  memory import CLAUDE.md docs --dry-run"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--last", type=int, default=_LAST, metavar="N", help="show the last N decisions (default: %d)" % _LAST
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print what is stored and pending, the last decisions, and the doctor's problems."""
    result = context.overview()
    shown = _decisions(context, max(0, arguments.last))
    problems = [check for check in examine(context, result) if check.status in (WARN, FAIL)]
    if arguments.json:
        _print_json(result, shown, problems, context)
        return
    _print_stored(result, context)
    _print_pending(result, context)
    _print_counts(context)
    for decision in shown:
        print_decision(decision, context)
    context.console.line()
    names = ", ".join(check.name for check in problems)
    context.console.line(
        "doctor: %s; for details: memory doctor" % names
        if names
        else "doctor: no problems in a quick look; for all checks: memory doctor"
    )


def _print_json(
    result: Survey, shown: list[dict[str, Any]], problems: list[Check], context: CommandContext
) -> None:
    context.console.json(
        {
            "stored": [
                {"scope": scope, "category": category, "trust": trust, "memories": number}
                for (scope, category, trust), number in sorted(_stored(result).items())
            ],
            "waiting": [as_json(item) for item in result.items if item.waits],
            "notes": len(named_notes(context)),
            "guards": _guards_in_force(context),
            "catalog": _catalog(context),
            "silent_calls": _silent(context),
            "decisions": shown,
            "doctor": [
                {"name": check.name, "status": check.status, "text": check.text, "fix": check.fix}
                for check in problems
            ],
        }
    )


def _silent(context: CommandContext) -> int:
    """Return the number of the project's tool calls to which no memory applied."""
    return 0 if context.paths.state_dir is None else count_silent_calls(context.paths)


def _stored(result: Survey) -> Counter[tuple[str, str, str]]:
    items = [item for item in result.items if life_cycle_state(item) == ACTIVE]
    return Counter((item.stored.store.scope, item.stored.memory.category, item.trust) for item in items)


def _decisions(context: CommandContext, number: int) -> list[dict[str, Any]]:
    """Return the last recall decisions in this project, newest first."""
    if context.paths.state_dir is None or not number:
        return []
    return [decision_json(row) for row in decisions(context.paths, last=number)]


def _print_stored(result: Survey, context: CommandContext) -> None:
    stored = _stored(result)
    if not stored:
        context.console.line(_HINT)
        return
    rows = [
        [scope, category, trust, str(number)] for (scope, category, trust), number in sorted(stored.items())
    ]
    context.console.table(("SCOPE", "CATEGORY", "TRUST", "MEMORIES"), rows)


def _print_pending(result: Survey, context: CommandContext) -> None:
    items = [item for item in result.items if item.waits]
    if not items:
        return
    context.console.line()
    context.console.line("Awaiting your approval (to decide: memory review):")
    names = shortest_names(result.items)
    for item in items[:_MAX_PENDING]:
        name, title = names[item.stored.key], shown_line(item.stored.memory.title)
        context.console.line("  %s  %s (%s)" % (name, title, item.reason))
    if len(items) > _MAX_PENDING:
        context.console.line("  and %d more; to see them: memory review" % (len(items) - _MAX_PENDING))


def _guards_in_force(context: CommandContext) -> int:
    """Return the number of guards in force."""
    if context.paths.state_dir is None or not context.settings.flag("guards.enabled"):
        return 0
    return len(GuardFile(context.paths).guards)


def _print_counts(context: CommandContext) -> None:
    """Print the numbers of notes, guards, catalog entries and silent tool calls; zeros are left out."""
    lines = []
    notes, guards = len(named_notes(context)), _guards_in_force(context)
    catalog, silent = _catalog(context), _silent(context)
    if notes:
        text = "notes in Claude Code's own memory: %d; to list them: memory list --notes; to store one: memory import promote NOTE"
        lines += ["", text % notes]
    if guards:
        lines += ["", "guards in force: %d; to list them: memory guards" % guards]
    if catalog is not None:
        counts = "rules %(rules)d, titles %(listed)d, tokens %(tokens)d" % catalog
        lines += ["", "last session catalog: %s; for details: memory why --place catalog" % counts]
    if silent:
        lines.append("No memory applied to %s." % counted(silent, "tool call"))
    for line in lines:
        context.console.line(line)


def _catalog(context: CommandContext) -> dict[str, int] | None:
    """Return the size of the last session catalog in this project; None if there was none, or catalogs are off."""
    if context.paths.state_dir is None or not context.settings.integer("retrieval.catalog.max_tokens"):
        return None
    row = find_decision(context.paths, "last", place="catalog")
    if row is None or row.get("outcome") == "silent":
        return None
    numbers = {name: row.get(name, 0) for name in ("listed", "unlisted", "tokens")}
    return {"rules": len(row.get("injected", ())), **numbers}
