"""`memory status`: show what is stored and pending, the last recall decisions, and the doctor's problems."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...hooks.tool_use import count_silent_calls
from ...kernel.ledger import Ledger
from ...kernel.text.clean import plain
from ...memories.guard_file import GuardFile
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE
from ...memories.survey import life_cycle_state, shortest_names
from ...recall.explain import find_decision, outcomes, sentence, thresholds
from ..checks import FAIL, WARN
from ..console import counted
from ..judge_switches import missing_switches
from ..memory_view import as_json
from ..note_view import named_notes
from .doctor_command import examine
from .why_command import shown_time

if TYPE_CHECKING:
    import argparse

    from ...memories.survey import Survey
    from ..checks import Check
    from ..command_context import CommandContext

HELP = "show what is stored and pending, and the last recall decisions"
EXAMPLES = """\
  memory status
  memory status --last 20 --json
"""

_LAST = 5
_MAX_PENDING = 20
_MAX_WORD = 100
_MAX_WHY = 300
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
    decisions = _decisions(context, max(0, arguments.last))
    problems = [check for check in examine(context, result) if check.status in (WARN, FAIL)]
    if arguments.json:
        _print_json(result, decisions, problems, context)
        return
    _print_stored(result, context)
    _print_pending(result, context)
    _print_counts(context)
    for decision in decisions:
        _print_decision(decision, context)
    context.console.line()
    for switch in missing_switches(context.settings):
        context.console.paragraph("note: %s; run: %s" % switch)
    names = ", ".join(check.name for check in problems)
    context.console.line(
        "doctor: %s; for details: memory doctor" % names
        if names
        else "doctor: no problems in a quick look; for all checks: memory doctor"
    )


def _print_json(
    result: Survey, decisions: list[dict[str, Any]], problems: list[Check], context: CommandContext
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
            "decisions": decisions,
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
    rows = Ledger(context.paths.state_dir, "recalls").rows()
    own = [row for row in rows if row.get("project") == context.paths.project_key]
    return [_decision(row) for row in reversed(own[-number:])]


def _decision(row: dict[str, Any]) -> dict[str, Any]:
    """Return a ledger row as JSON data, with safe texts; fields of the wrong type are empty or None."""
    candidates = [entry for entry in _list(row.get("candidates")) if isinstance(entry, dict)]
    injected, pointed = (
        [plain(str(key), _MAX_WORD) for key in _list(row.get(name))] for name in ("injected", "pointed")
    )
    reasons = {outcome.key: plain(outcome.reason, _MAX_WHY) for outcome in outcomes(row)}
    near = [
        {
            "key": plain(str(candidate.get("key")), _MAX_WORD),
            "confidence": _number(candidate.get("confidence")),
            "why": reasons.get(str(candidate.get("key")), ""),
        }
        for candidate in candidates
        if candidate.get("key") not in injected + pointed
    ]
    inject, pointer = thresholds(row)
    names = ("time", "prompt_id", "outcome", "reason")
    return {
        **{name: plain(str(row.get(name) or ""), _MAX_WORD) for name in names},
        "inject_threshold": inject,
        "pointer_threshold": pointer,
        "ms": _number(row.get("ms")),
        "says": plain(sentence(row), _MAX_WHY),
        "injected": injected,
        "pointed": pointed,
        "near_misses": near,
    }


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


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
        text = "notes in Claude Code's own memory: %d; to list them: memory list --notes; to turn one into a memory: memory promote NOTE"
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
    if context.paths.state_dir is None or not context.settings.flag("retrieval.catalog.enabled"):
        return None
    row = find_decision(context.paths, "last", place="catalog")
    if row is None or row.get("outcome") == "silent":
        return None
    numbers = {name: int(_number(row.get(name)) or 0) for name in ("listed", "unlisted", "tokens")}
    return {"rules": len(_list(row.get("injected"))), **numbers}


def _print_decision(decision: dict[str, Any], context: CommandContext) -> None:
    console = context.console
    console.line()
    duration = "" if decision["ms"] is None else ", %.0f ms" % decision["ms"]
    console.line("%s  %s%s" % (shown_time(decision["time"]), decision["says"], duration))
    for field, label in (("injected", "told"), ("pointed", "pointed to")):
        for key in decision[field]:
            console.line("  %-10s %s" % (label, plain(key, max(20, console.width - 13))))
    for entry in decision["near_misses"]:
        console.paragraph("%s: %s" % (entry["key"], entry["why"]), "  near miss  ", 13)
