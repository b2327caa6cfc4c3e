"""`memory phrases`: give memories that have none the phrases by which a prompt in other words finds them; Claude or a judge writes them.

It never changes phrases that exist, and writes only to trusted texts, so Claude may run it without the user's approval.
"""

from __future__ import annotations

import argparse
from typing import Any
from uuid import uuid4

from ...kernel.fastjson import loads
from ...kernel.judge.asking import Judge, judge_for
from ...kernel.judge.errors import explain_failure
from ...kernel.judge.question import Question, load_rubric
from ...kernel.text.clean import terminal_safe
from ...memories import InvalidMemory
from ...memories.hygiene import shown_line
from ...memories.lifecycle import add_phrases
from ...memories.memory_text import TEXT, shown_fields
from ...memories.record import MAX_ASKED_AS
from ...memories.survey import Item, shortest_names, without_phrases
from ..after_change import refresh_index
from ..approval import Approval
from ..command_context import CommandContext, CommandError
from ..console import counted
from ..memory_input import text_of
from ..options import add_flag

HELP = "add search phrases to memories that have none"
EXAMPLES = """\
  memory phrases                          lists the memories without phrases
  memory phrases --json                   the first 20 with their text, for whoever writes phrases for them
  memory phrases --json - < phrases.json  {"memories": [{"id": "use-pnpm", "asked_as": ["which package manager"]}]}
  memory phrases --judge                  a judge writes them; shows the price first
"""
_BATCH = 20
_MAX_PHRASE = 120
_MAX_BODY = 1500
_SECONDS = 120.0
_FORM = 'expected {"memories": [{"id": "...", "asked_as": ["...", "..."]}]}'
_FORMS = "asked_as: expected 1 to %d texts of at most %d characters" % (MAX_ASKED_AS, _MAX_PHRASE)
_NOTICE = "memory: Claude wrote search phrases for %s; to see them: memory show ID; to undo: memory edit ID --asked-as none"

Rows = list[tuple[str, Any]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("input", nargs="?", choices=["-"], metavar="-", help="store phrases from standard input (JSON)")
    add_flag(parser, "--judge", "ask the judge of recall for phrases; `memory judge on retrieval` switches it on")
    add_flag(parser, "--yes", "with --judge: accept the price")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return what asking a judge costs; None for phrases that Claude writes."""
    if not arguments.judge:
        return None
    due = _due(context)
    return Approval(_price(_judge(context), _questions(due), len(due)))


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """List the memories without phrases, or store phrases for them."""
    due = _due(context)
    if arguments.judge:
        rows = _judged(due, arguments, context)
    elif arguments.input:
        rows = _read(text_of(arguments.input, "phrases"))
    else:
        _list(due, arguments, context)
        return
    stored, refused = _store(rows, due, context)
    record = {"stored": stored, "refused": refused, "left": len(due) - len(stored)}
    lines = ["%s: %s" % (row["id"], "; ".join(row["asked_as"])) for row in stored]
    lines += ["%s: refused: %s" % (row["id"], row["reason"]) for row in refused]
    context.console.result(arguments.json, record, *lines, _left(record["left"]))


def _due(context: CommandContext) -> dict[str, Item]:
    """Return the memories without phrases by their shortest names."""
    items = context.survey().items
    names = shortest_names(items)
    return {names[item.stored.key]: item for item in without_phrases(items)}


def _left(number: int) -> str:
    return "%s without search phrases" % counted(number, "memory")


def _list(due: dict[str, Item], arguments: argparse.Namespace, context: CommandContext) -> None:
    batch = [_text(name, item) for name, item in list(due.items())[:_BATCH]]
    if arguments.json:
        context.console.json({"memories": batch, "left": len(due) - len(batch)})
        return
    for row in batch:
        context.console.line("%s  %s" % (row["id"], row["title"]))
    context.console.line(_left(len(due)))
    if due:
        context.console.line("  To add some: /memory:phrases in Claude Code, or memory edit ID --asked-as 'a phrase'")


def _text(name: str, item: Item) -> dict[str, str]:
    memory = item.stored.memory
    body = "\n".join(shown_fields(memory)[TEXT])
    return {"id": name, "title": shown_line(memory.title), "body": body[:_MAX_BODY]}


def _read(text: str) -> Rows:
    """Return the names and phrases in a JSON text. Raises CommandError for another form."""
    try:
        value = loads(text)
    except ValueError:
        value = None
    rows = value.get("memories") if isinstance(value, dict) else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise CommandError("phrases: " + _FORM)
    return [(str(row.get("id")), row.get("asked_as")) for row in rows]


def _store(
    rows: Rows, due: dict[str, Item], context: CommandContext
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    stored: dict[str, dict[str, Any]] = {}
    refused = []
    for name, phrases in rows:
        try:
            if name not in due or name in stored:
                raise InvalidMemory("no trusted memory without phrases has this id")
            memory = add_phrases(context.paths, due[name].stored, _checked(phrases)).stored.memory
            stored[name] = {"id": name, "asked_as": list(memory.asked_as)}
        except InvalidMemory as error:
            refused.append({"id": shown_line(name, _MAX_PHRASE), "reason": str(error)})
    if stored:
        refresh_index(context)
        context.notify([_NOTICE % counted(len(stored), "memory")])
    return list(stored.values()), refused


def _checked(phrases: object) -> list[str]:
    """Return the phrases, each on one line. Raises InvalidMemory."""
    if not isinstance(phrases, list) or not all(isinstance(phrase, str) for phrase in phrases):
        raise InvalidMemory(_FORMS)
    lines = list(filter(None, dict.fromkeys(" ".join(phrase.split()) for phrase in phrases)))
    if not 1 <= len(lines) <= MAX_ASKED_AS or max(map(len, lines)) > _MAX_PHRASE:
        raise InvalidMemory(_FORMS)
    return lines


def _judge(context: CommandContext) -> Judge:
    """Return the judge of recall, with an account for this request. Raises CommandError if it cannot be asked."""
    off = terminal_safe(context.taint.why_off)
    judge = judge_for("retrieval", context.within(_SECONDS), off=off, request="request %s" % uuid4().hex)
    problem = judge.unready()
    if problem is not None:
        words = explain_failure(problem.failure, "retrieval")
        raise CommandError("no judge was asked: %s %s" % (problem.detail or words.says, words.do))
    return judge


def _questions(due: dict[str, Item]) -> list[Question]:
    texts = [_text(name, item) for name, item in due.items()]
    batches = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
    rubric = load_rubric("memories/phrases")
    return [Question(rubric, {"memories": batch}, _answer) for batch in batches]


def _answer(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return a judge's answer if it has the right form."""
    rows = value.get("memories")
    return {"memories": rows} if isinstance(rows, list) and all(isinstance(row, dict) for row in rows) else None


def _price(judge: Judge, questions: list[Question], number: int) -> str:
    """Return what is asked, and its highest price."""
    text = "send title and text of %s to %s, for phrases, at most $%.4f"
    return text % (counted(number, "memory"), terminal_safe(judge.model), judge.highest_price(questions))


def _judged(due: dict[str, Item], arguments: argparse.Namespace, context: CommandContext) -> Rows:
    """Return the names and phrases that the judge wrote, after the user accepted the price."""
    judge, questions = _judge(context), _questions(due)
    price = _price(judge, questions, len(due))
    if not (arguments.yes or context.has_ticket or context.console.confirm("%s. Continue?" % price)):
        raise CommandError("no judge was asked, to %s; to accept the price: --yes" % price)
    with context.console.working("asking %s" % terminal_safe(judge.model)):
        verdicts = judge.ask_all(questions, context.within(_SECONDS).deadline, retry=True)
    for failure in dict.fromkeys(verdict.failure for verdict in verdicts if verdict.values is None):
        words = explain_failure(failure, "retrieval")
        context.console.error("%s %s" % (words.says, words.do))
    answers = [verdict.values for verdict in verdicts if verdict.values is not None]
    return [(str(row.get("id")), row.get("asked_as")) for answer in answers for row in answer["memories"]]
