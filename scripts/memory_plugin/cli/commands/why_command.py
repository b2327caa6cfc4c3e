"""`memory why`: explain a recall decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.survey import shortest_names
from ...recall.explain import (
    LAST,
    PLACES,
    RESULTS,
    find_decision,
    outcomes,
    problem,
    remedy,
    same_turn,
    sentence,
    thresholds,
)
from ..command_context import CommandError
from ..options import add_flag

if TYPE_CHECKING:
    import argparse

    from ...recall.explain import Outcome
    from ..command_context import CommandContext

HELP = "explain a recall decision: what Claude was told, what it was not told and why, and what would have helped"
EXAMPLES = """\
  memory why
  memory why a2fc9ec1 --json
  memory why --verbose                               includes the scores
  memory why --place catalog                         what Claude saw at the start of the session
"""
_MAX_LINE = 1000
_INDENT = "  "
_MARK = max(map(len, RESULTS)) + 2  # columns of the longest word before a memory, and two spaces


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "prompt",
        nargs="?",
        default=LAST,
        metavar="PROMPT-ID",
        help="a prompt id or its first characters (default: the last prompt)",
    )
    parser.add_argument(
        "--place",
        choices=PLACES,
        default="",
        help="explain the last decision at this place instead of one on a prompt",
    )
    add_flag(parser, "--verbose", "also print the scores and their parts")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Explain one decision."""
    row = find_decision(context.paths, arguments.prompt, place=arguments.place)
    if row is None:
        raise CommandError(_nothing_found(arguments.prompt, arguments.place))
    if arguments.json:
        context.console.json({"pointed": [], **row})
        return
    explain_decision(row, context)
    for other in same_turn(context.paths, row):
        context.console.paragraph(plain("Also in this turn: %s." % sentence(other), _MAX_LINE))
    if arguments.verbose:
        _show_scores(row, context)


def _nothing_found(prompt: str, place: str) -> str:
    at_place = " at the place %s" % place if place else ""
    if prompt == LAST:
        text = "no decision is recorded%s in this project; recording starts with the first prompt"
        return text % at_place
    text = "no prompt with the id %s is recorded%s in this project; to list prompts: %s"
    return text % (prompt, at_place, "memory status --last 20 --json")


def explain_decision(row: dict[str, Any], context: CommandContext) -> None:
    """Explain one ledger record; fields of the wrong type are skipped."""
    console = context.console
    time = shown_time(plain(str(row.get("time")), _MAX_LINE))
    prompt = plain(str(row.get("prompt_id") or "without an id"), _MAX_LINE)
    event = "start of a session" if row.get("place") == "catalog" else "prompt " + prompt
    console.paragraph("%s, %s" % (time, event))
    summary = plain(sentence(row), _MAX_LINE)
    console.paragraph(console.style(summary[:1].upper() + summary[1:] + ".", "bold"))
    if problem(row):
        console.paragraph(plain("problem: " + problem(row), _MAX_LINE))
    compared = outcomes(row)
    if compared:
        _explain_candidates(compared, context)
    elif row.get("injected") or row.get("pointed"):
        _show_injected(row, context)
    elif remedy(row):
        console.paragraph("Try: " + remedy(row))


def shown_time(time: str) -> str:
    """Return a ledger's time as people write it: `2026-11-22 08:59:17 UTC`."""
    return time.replace("T", " ").replace("Z", " UTC")


def _show_injected(row: dict[str, Any], context: CommandContext) -> None:
    """List the memories that Claude saw at a place that does not compare candidates."""
    for name, label in zip(("injected", "pointed"), RESULTS):
        lead = _INDENT + label.ljust(_MARK)
        keys = row.get(name)
        for key in keys if isinstance(keys, list) else []:
            context.console.paragraph(plain(str(key), _MAX_LINE), lead, len(lead))


def _explain_candidates(compared: list[Outcome], context: CommandContext) -> None:
    console = context.console
    items = context.overview().items
    names = shortest_names(items)
    titles = {item.stored.key: shown_line(item.stored.memory.title) for item in items}
    console.line()
    for outcome in compared:
        label = outcome.key
        if label in titles:
            label = "%s (%s)" % (titles[label], names[label])
        lead = _INDENT + outcome.result.ljust(_MARK)
        console.paragraph(plain("%s: %s" % (label, outcome.reason), _MAX_LINE), lead, len(lead))
    without_words = [outcome.key for outcome in compared if outcome.lacks_words and outcome.key in names]
    if without_words:
        console.line()
        key = without_words[0]
        text = 'To recall "%s" on such prompts, add a phrase that uses the prompt\'s words:'
        console.paragraph(plain(text % titles[key], _MAX_LINE))
        console.line("%smemory edit %s --asked-as '...'" % (_INDENT, names[key]))


def _show_scores(row: dict[str, Any], context: CommandContext) -> None:
    console = context.console
    listed = row.get("candidates")
    candidates = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    console.line()
    console.paragraph(plain(_lookup(row), _MAX_LINE))
    judge = row.get("judge")
    if isinstance(judge, dict):
        console.paragraph(plain("judges: %s %s" % (judge.get("path"), judge.get("reasons") or ""), _MAX_LINE))
    if not candidates:
        return
    digits = {"confidence": 3, "pointer_confidence": 3, "score": 2}
    rows = [
        [_number(item.get(name), digits[name]) for name in digits] + [str(item.get("key"))]
        for item in candidates
    ]
    console.table(["confidence", "pointer", "score", "memory"], rows)
    for item in candidates:
        console.paragraph(plain("%s: %s" % (item.get("key"), _parts(item)), _MAX_LINE), "", 2)


def _lookup(row: dict[str, Any]) -> str:
    """Return the backend, the time, the matches and the thresholds of one decision, as far as they are recorded."""
    backend, (inject, pointer) = row.get("answered_by"), thresholds(row)
    if inject is None and backend in (None, "none"):
        return "No memory was looked up; %s ms." % row.get("ms")
    parts = ["Backend: %s" % backend, "%s ms" % row.get("ms")]
    if row.get("found") is not None:
        parts.append("matches: %s" % row["found"])
    if inject is not None:
        for_pointer = "" if pointer is None else ", %.2f for a pointer" % pointer
        parts.append("thresholds: %.2f for the full text%s" % (inject, for_pointer))
    return "; ".join(parts)


def _number(value: object, digits: int) -> str:
    return "%.*f" % (digits, value) if isinstance(value, (int, float)) else "?"


def _parts(item: dict[str, Any]) -> str:
    parts = item.get("parts")
    return " ".join("%s=%s" % pair for pair in parts.items()) if isinstance(parts, dict) else ""
