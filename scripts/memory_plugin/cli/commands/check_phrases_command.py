"""`memory check phrases`: give memories that have none the phrases by which prompts in other words find them.

Claude or a judge writes them. The command never changes phrases that exist, and writes only to trusted texts, so Claude may run it without
the user's approval.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any
from uuid import uuid4

from ...interview.answer_input import InvalidAnswer, decode_memories
from ...kernel.judge.asking import Judge
from ...kernel.judge.question import Question, explain_failure
from ...kernel.text.clean import counted, terminal_safe
from ...memories import InvalidMemory
from ...memories.hygiene import shown_line
from ...memories.lifecycle import add_phrases
from ...memories.survey import Item
from ...work.search_phrases import (
    BATCH,
    MAX_PHRASE,
    checked_phrases,
    phrase_questions,
    texts_of,
    without_own_phrases,
)
from ..after_change import refresh_index
from ..command_context import Approval, CommandContext, CommandError
from ..memory_input import text_of
from ..options import add_flag

HELP = "add search phrases to memories that have none"
EXAMPLES = """\
  memory check phrases                    lists the memories without search phrases
  memory check phrases --json             the first 20 with their text, to write phrases for them
  memory check phrases - < new.txt        stores phrases: lines `memory: ID`, each with `asked_as: PHRASE; PHRASE` below it
  memory check phrases --judge            a judge writes them; shows the price first
"""
_SECONDS = 120.0
_FORM = "phrases: expected a line `memory: ID`, and below it `asked_as: PHRASE; PHRASE`, for each memory"
_LEFT = "%s without search phrases"
_ADVICE = "  To add some: /memory:phrases in Claude Code, or memory edit ID --asked-as 'a phrase'"
_NOTICE = "memory: Claude wrote search phrases for %s; to see them: memory show ID; to undo: memory edit ID --asked-as none"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "input", nargs="?", choices=["-"], metavar="-", help="store phrases from standard input"
    )
    add_flag(parser, "--judge", "ask the recall judge for phrases (to turn it on: memory judge on)")
    add_flag(parser, "--yes", "with --judge: accept the price")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return what asking a judge costs; None for phrases that Claude writes."""
    if not arguments.judge:
        return None
    due = without_own_phrases(context)
    return Approval(_price(_judge(context), phrase_questions(due), len(due)) + "?")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """List the memories without phrases, or store phrases for them."""
    due = without_own_phrases(context)
    if not arguments.judge and not arguments.input:
        _list(due, arguments, context)
        return
    rows = _judged(due, arguments, context) if arguments.judge else _read(text_of("-", "phrases"))
    stored: list[dict[str, Any]] = []
    refused = []
    held = Counter(text.casefold() for item in context.survey().items for text in item.stored.memory.asked_as)
    for row in rows:
        name = str(row.get("id"))
        try:
            item, phrases = checked_phrases(due.get(name), row.get("asked_as"), held)
            written = add_phrases(context.paths, item, phrases)
            due.pop(name)
            held.update(map(str.casefold, phrases))
            stored.append({"id": name, "asked_as": list(written.stored.memory.asked_as)})
        except InvalidMemory as error:
            refused.append({"id": shown_line(name, MAX_PHRASE), "reason": str(error)})
    if stored:
        refresh_index(context)
        context.notify([_NOTICE % counted(len(stored), "memory")])
    lines = ["%s: %s" % (row["id"], "; ".join(row["asked_as"])) for row in stored]
    lines += ["%s: refused: %s" % (row["id"], row["reason"]) for row in refused]
    record = {"stored": stored, "refused": refused, "left": len(due)}
    context.console.result(arguments.json, record, *lines, _LEFT % counted(len(due), "memory"))


def _list(due: dict[str, Item], arguments: argparse.Namespace, context: CommandContext) -> None:
    batch = texts_of(due)[:BATCH]
    record = {"memories": batch, "left": len(due) - len(batch)}
    lines = ["%s  %s" % (row["id"], row["title"]) for row in batch]
    advice = [_ADVICE] if due else []
    context.console.result(arguments.json, record, *lines, _LEFT % counted(len(due), "memory"), *advice)


def _read(text: str) -> list[dict[str, Any]]:
    """Return the rows in a text of lines or in JSON. Raises CommandError for another form."""
    try:
        rows = [row for row in decode_memories(text) if isinstance(row, dict)]
    except InvalidAnswer:
        raise CommandError(_FORM) from None
    return [{"id": row.get("concept"), **row} for row in rows]


def _judge(context: CommandContext) -> Judge:
    """Return the judge of recall, with an account for this request. Raises CommandError if it cannot be asked."""
    off = terminal_safe(context.taint.why_off)
    judge = Judge("retrieval", context.within(_SECONDS), off=off, request="request %s" % uuid4().hex)
    problem = judge.unready()
    if problem is not None:
        why = problem.detail or " ".join(explain_failure(problem.failure, "retrieval"))
        raise CommandError("no judge was asked: " + why)
    return judge


def _price(judge: Judge, questions: list[Question], number: int) -> str:
    """Return what is asked, and its highest price."""
    text = "send title and text of %s to %s, for phrases, at most $%.4f"
    return text % (counted(number, "memory"), terminal_safe(judge.model), judge.highest_price(questions))


def _judged(
    due: dict[str, Item], arguments: argparse.Namespace, context: CommandContext
) -> list[dict[str, Any]]:
    """Return the rows that the judge wrote, after the user accepted the price."""
    judge, questions = _judge(context), phrase_questions(due)
    price = _price(judge, questions, len(due))
    if not (arguments.yes or context.has_ticket or context.console.confirm("%s. Continue?" % price)):
        raise CommandError("no judge was asked, to %s; to accept the price: --yes" % price)
    with context.console.working("asking %s" % terminal_safe(judge.model)):
        verdicts = judge.ask_all(questions, context.within(_SECONDS).deadline, retry=True)
    for failure in dict.fromkeys(verdict.failure for verdict in verdicts if verdict.values is None):
        context.console.error(" ".join(explain_failure(failure, "retrieval")))
    return [row for verdict in verdicts if verdict.values for row in verdict.values["memories"]]
