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
from ...kernel.judge.question import Question, excerpt, explain_failure, load_rubric, one_line
from ...kernel.text.clean import plain, terminal_safe
from ...memories import InvalidMemory
from ...memories.hygiene import shown_line
from ...memories.lifecycle import add_phrases
from ...memories.memory_files import StoredMemory
from ...memories.memory_text import TEXT, TITLE, shown_fields
from ...memories.record import MAX_ASKED_AS, MAX_TITLE
from ...memories.survey import Item, shortest_names, without_phrases
from ...memories.trust import load_trust
from ..after_change import refresh_index
from ..command_context import Approval, CommandContext, CommandError
from ..console import counted
from ..memory_input import text_of
from ..options import add_flag

HELP = "add search phrases to memories that have none"
EXAMPLES = """\
  memory check phrases                    lists the memories without phrases; `memory phrases` does the same
  memory check phrases --json             the first 20 with their text, to write phrases for them
  memory check phrases - < new.txt        stores phrases: lines `memory: ID`, each with `asked_as: PHRASE; PHRASE` below it
  memory check phrases --judge            a judge writes them; shows the price first
"""
_BATCH = 20
_MAX_PHRASE = 120
_MAX_HOLDERS = 2  # memories with one phrase
_MAX_BODY = 1500
_SECONDS = 120.0
_FORM = "phrases: expected a line `memory: ID`, and below it `asked_as: PHRASE; PHRASE`, for each memory"
_FORMS = "asked_as: expected 1 to %d texts of at most %d characters" % (MAX_ASKED_AS, _MAX_PHRASE)
_LEFT = "%s without search phrases"
_ADVICE = "  To add some: /memory:phrases in Claude Code, or memory edit ID --asked-as 'a phrase'"
_NOTICE = "memory: Claude wrote search phrases for %s; to see them: memory show ID; to undo: memory edit ID --asked-as none"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "input", nargs="?", choices=["-"], metavar="-", help="store phrases from standard input"
    )
    add_flag(
        parser, "--judge", "ask the judge of recall for phrases; `memory judge on retrieval` switches it on"
    )
    add_flag(parser, "--yes", "with --judge: accept the price")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return what asking a judge costs; None for phrases that Claude writes."""
    if not arguments.judge:
        return None
    due = _due(context)
    return Approval(_price(_judge(context), _questions(due), len(due)) + "?")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """List the memories without phrases, or store phrases for them."""
    due = _due(context)
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
            item, phrases = _checked(due.get(name), row.get("asked_as"), held)
            written = add_phrases(context.paths, item, phrases)
            due.pop(name)
            held.update(map(str.casefold, phrases))
            stored.append({"id": name, "asked_as": list(written.stored.memory.asked_as)})
        except InvalidMemory as error:
            refused.append({"id": shown_line(name, _MAX_PHRASE), "reason": str(error)})
    if stored:
        refresh_index(context)
        context.notify([_NOTICE % counted(len(stored), "memory")])
    lines = ["%s: %s" % (row["id"], "; ".join(row["asked_as"])) for row in stored]
    lines += ["%s: refused: %s" % (row["id"], row["reason"]) for row in refused]
    record = {"stored": stored, "refused": refused, "left": len(due)}
    context.console.result(arguments.json, record, *lines, _LEFT % counted(len(due), "memory"))


def _due(context: CommandContext) -> dict[str, Item]:
    """Return the memories without phrases by their shortest names, except those of which the user rejected phrases."""
    items, trust = context.survey().items, load_trust(context.paths)
    names = shortest_names(items)
    due = (item for item in without_phrases(items) if not trust.has_rejected_phrases(item.stored))
    return {names[item.stored.key]: item for item in due}


def _list(due: dict[str, Item], arguments: argparse.Namespace, context: CommandContext) -> None:
    batch = _texts(due)[:_BATCH]
    record = {"memories": batch, "left": len(due) - len(batch)}
    lines = ["%s  %s" % (row["id"], row["title"]) for row in batch]
    advice = [_ADVICE] if due else []
    context.console.result(arguments.json, record, *lines, _LEFT % counted(len(due), "memory"), *advice)


def _texts(due: dict[str, Item]) -> list[dict[str, str]]:
    """Return id, title and text of the memories, without secrets."""
    shown = ((name, shown_fields(item.stored.memory)) for name, item in due.items())
    return [
        {"id": name, "title": " ".join(fields[TITLE]), "body": "\n".join(fields[TEXT])[:_MAX_BODY]}
        for name, fields in shown
    ]


def _read(text: str) -> list[dict[str, Any]]:
    """Return the rows in a text of lines or in JSON. Raises CommandError for another form."""
    try:
        rows = [row for row in decode_memories(text) if isinstance(row, dict)]
    except InvalidAnswer:
        raise CommandError(_FORM) from None
    return [{"id": row.get("concept"), **row} for row in rows]


def phrases_question(texts: list[dict[str, str]]) -> Question:
    """Return the question that asks a judge for the phrases of memories; personal data in their texts is left out."""
    rows = [
        {**row, "title": one_line(row["title"], MAX_TITLE), "body": excerpt(row["body"], _MAX_BODY)}
        for row in texts
    ]
    return Question(load_rubric("memories/phrases"), {"memories": rows}, _answer)


def _answer(value: object) -> dict[str, Any] | None:
    """Return an object with rows, which is what Claude and a judge write; None for another form."""
    rows = value.get("memories") if isinstance(value, dict) else None
    is_right = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return {"memories": rows} if is_right else None


def _checked(item: Item | None, phrases: object, held: Counter[str]) -> tuple[StoredMemory, list[str]]:
    """Return a memory and its phrases, each on one line, without those that several memories hold. Raises InvalidMemory."""
    if item is None:
        raise InvalidMemory("no trusted memory without phrases has this id")
    if not isinstance(phrases, list) or not all(isinstance(phrase, str) for phrase in phrases):
        raise InvalidMemory(_FORMS)
    lines = list(filter(None, dict.fromkeys(plain(phrase, _MAX_PHRASE + 1) for phrase in phrases)))
    if not 1 <= len(lines) <= MAX_ASKED_AS or max(map(len, lines)) > _MAX_PHRASE:
        raise InvalidMemory(_FORMS)
    lines = [line for line in lines if held[line.casefold()] < _MAX_HOLDERS]
    if not lines:
        raise InvalidMemory("asked_as: other memories have these phrases, so they lead to none")
    return item.stored, lines


def _judge(context: CommandContext) -> Judge:
    """Return the judge of recall, with an account for this request. Raises CommandError if it cannot be asked."""
    off = terminal_safe(context.taint.why_off)
    judge = Judge("retrieval", context.within(_SECONDS), off=off, request="request %s" % uuid4().hex)
    problem = judge.unready()
    if problem is not None:
        why = problem.detail or " ".join(explain_failure(problem.failure, "retrieval"))
        raise CommandError("no judge was asked: " + why)
    return judge


def _questions(due: dict[str, Item]) -> list[Question]:
    texts = _texts(due)
    return [phrases_question(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]


def _price(judge: Judge, questions: list[Question], number: int) -> str:
    """Return what is asked, and its highest price."""
    text = "send title and text of %s to %s, for phrases, at most $%.4f"
    return text % (counted(number, "memory"), terminal_safe(judge.model), judge.highest_price(questions))


def _judged(
    due: dict[str, Item], arguments: argparse.Namespace, context: CommandContext
) -> list[dict[str, Any]]:
    """Return the rows that the judge wrote, after the user accepted the price."""
    judge, questions = _judge(context), _questions(due)
    price = _price(judge, questions, len(due))
    if not (arguments.yes or context.has_ticket or context.console.confirm("%s. Continue?" % price)):
        raise CommandError("no judge was asked, to %s; to accept the price: --yes" % price)
    with context.console.working("asking %s" % terminal_safe(judge.model)):
        verdicts = judge.ask_all(questions, context.within(_SECONDS).deadline, retry=True)
    for failure in dict.fromkeys(verdict.failure for verdict in verdicts if verdict.values is None):
        context.console.error(" ".join(explain_failure(failure, "retrieval")))
    return [row for verdict in verdicts if verdict.values for row in verdict.values["memories"]]
