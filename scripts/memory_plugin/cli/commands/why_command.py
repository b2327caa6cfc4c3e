"""`memory why`: explain a recall decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.survey import shortest_names, survey
from ...recall.explain import (
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

if TYPE_CHECKING:
    import argparse

    from ...recall.explain import Outcome
    from ..command_context import CommandContext

HELP = "explain a recall decision: what Claude was told, what not and why, and what would have helped"
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
        default="last",
        metavar="PROMPT-ID",
        help="a prompt id or its first characters (default: the last prompt)",
    )
    parser.add_argument(
        "--place",
        choices=PLACES,
        default="",
        help="explain the last decision at this place instead of one on a prompt",
    )
    parser.add_argument("--verbose", action="store_true", help="also print the scores and their parts")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Explain one decision."""
    row = find_decision(context.paths, arguments.prompt, place=arguments.place)
    if row is None:
        which = "" if arguments.prompt == "last" else " for the prompt %s" % arguments.prompt
        which += " at the place %s" % arguments.place if arguments.place else ""
        raise CommandError(
            "no decision is recorded%s in this project; the ledger starts with the first prompt" % which
        )
    if arguments.json:
        context.console.json({"pointed": [], **row})
        return 0
    explain_decision(row, context)
    for other in same_turn(context.paths, row):
        context.console.paragraph(plain("Also in this turn: %s." % sentence(other), _MAX_LINE))
    if arguments.verbose:
        _show_scores(row, context)
    return 0


def explain_decision(row: dict[str, Any], context: CommandContext) -> None:
    """Explain one ledger record; fields of the wrong type are skipped."""
    console = context.console
    time = plain(str(row.get("time")), _MAX_LINE).replace("T", " ").replace("Z", " UTC")
    prompt = plain(str(row.get("prompt_id") or "without an id"), _MAX_LINE)
    console.paragraph("%s, %s" % (time, "start of a session" if _is_start(row) else "prompt " + prompt))
    summary = plain(sentence(row), _MAX_LINE)
    console.paragraph(console.style(summary[:1].upper() + summary[1:] + ".", "bold"))
    if problem(row):
        console.paragraph(plain("problem: " + problem(row), _MAX_LINE))
    found = outcomes(row)
    if found:
        _explain_candidates(found, context)
    elif row.get("injected") or row.get("pointed"):
        _show_told(row, context)
    elif remedy(row):
        console.paragraph("try: " + remedy(row))


def _is_start(row: dict[str, Any]) -> bool:
    return row.get("place") == "catalog"


def _show_told(row: dict[str, Any], context: CommandContext) -> None:
    """List the memories told at a place that does not compare candidates."""
    for name, result in zip(("injected", "pointed"), RESULTS):
        keys = row.get(name)
        for key in keys if isinstance(keys, list) else []:
            context.console.paragraph(
                plain(str(key), _MAX_LINE), _INDENT + result.ljust(_MARK), len(_INDENT) + _MARK
            )


def _explain_candidates(found: list[Outcome], context: CommandContext) -> None:
    console = context.console
    items = survey(context.paths, context.accept_from).items
    names = shortest_names(items)
    titles = {item.stored.key: shown_line(item.stored.memory.title) for item in items}
    console.line()
    for outcome in found:
        label = (
            "%s (%s)" % (titles[outcome.key], names[outcome.key]) if outcome.key in titles else outcome.key
        )
        lead = _INDENT + outcome.result.ljust(_MARK)
        console.paragraph(plain("%s: %s" % (label, outcome.reason), _MAX_LINE), lead, len(lead))
    lacking = next(
        (names[outcome.key] for outcome in found if outcome.lacks_words and outcome.key in names), ""
    )
    if lacking:
        console.line()
        console.paragraph("To recall it on such prompts, add a phrase that uses the prompt's words:")
        console.line("%smemory edit %s --asked-as '...'" % (_INDENT, lacking))


def _show_scores(row: dict[str, Any], context: CommandContext) -> None:
    console = context.console
    listed = row.get("candidates")
    shown = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    inject, pointer = thresholds(row)
    console.line()
    facts = (row.get("answered_by"), row.get("ms"), row.get("found"), _number(inject, 2), _number(pointer, 2))
    console.paragraph(
        plain("answered by %s in %s ms; %s found; told from %s, pointed to from %s" % facts, _MAX_LINE)
    )
    judge = row.get("judge")
    if isinstance(judge, dict):
        console.paragraph(plain("judges: %s %s" % (judge.get("path"), judge.get("reasons") or ""), _MAX_LINE))
    if not shown:
        return
    console.table(
        ["confidence", "pointer", "score", "memory"],
        [
            [
                _number(item.get("confidence"), 3),
                _number(item.get("pointer_confidence"), 3),
                _number(item.get("score"), 2),
                str(item.get("key")),
            ]
            for item in shown
        ],
    )
    for item in shown:
        console.paragraph(plain("%s: %s" % (item.get("key"), _parts(item)), _MAX_LINE), "", 2)


def _number(value: object, digits: int) -> str:
    return "%.*f" % (digits, value) if isinstance(value, (int, float)) else "?"


def _parts(item: dict[str, Any]) -> str:
    parts = item.get("parts")
    return " ".join("%s=%s" % pair for pair in parts.items()) if isinstance(parts, dict) else ""
