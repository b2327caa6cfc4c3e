"""Search phrases for memories that have none, which Claude or a judge writes.

Phrases that exist are never changed, and only trusted texts get some, so Claude may store them without the user's approval. With a judge
through Claude Code, its model writes some in the background, for a few memories after each reply.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple
from uuid import uuid4

from ..interview.inputs import InvalidAnswer, decode_memories
from ..kernel.context import Context
from ..kernel.fastjson import as_texts
from ..kernel.judge.asking import Judge
from ..kernel.judge.question import Question, excerpt, explain_failure, load_rubric, one_line
from ..kernel.paths import StateChange, read_state
from ..kernel.text.clean import counted, plain, terminal_safe
from ..memories import InvalidMemory
from ..memories.grants import record_saves
from ..memories.hygiene import shown_line
from ..memories.lifecycle import add_phrases
from ..memories.memory_files import StoredMemory
from ..memories.memory_text import TEXT, TITLE, shown_fields, told_digests
from ..memories.record import MAX_ASKED_AS, MAX_TITLE
from ..memories.survey import Item, shortest_names, survey, without_phrases
from ..memories.trust import Trust
from ..recall.pipeline import refresh_some
from . import WorkContext, WorkError

MAX_PHRASE = 120
BATCH = 20
NOTICE = "memory: Claude wrote search phrases for %s; to see them: memory show ID; to undo: memory edit ID --asked-as none"
_SECONDS = 120.0
_FEW = 4  # memories: the answer must arrive while the client listens, ten seconds after a reply
_ASKED, _MAX_ASKED = "asked", 5000
_REFRESH_WAIT = 5.0  # seconds for another process that refreshes the index
_LINES = "phrases: expected a line `memory: ID`, and below it `asked_as: PHRASE; PHRASE`, for each memory"
_MAX_HOLDERS = 2  # memories with one phrase
_MAX_BODY = 1500
_FORMS = "asked_as: expected 1 to %d texts of at most %d characters" % (MAX_ASKED_AS, MAX_PHRASE)


def without_own_phrases(context: Context) -> dict[str, Item]:
    """Return the memories without phrases by their shortest names, except those of which the user rejected phrases."""
    items, trust = _items(context), Trust(context.paths)
    names = shortest_names(items)
    due = (item for item in without_phrases(items) if not trust.has_rejected_phrases(item.stored))
    return {names[item.stored.key]: item for item in due}


def _items(context: Context) -> list[Item]:
    return survey(context.paths, context.settings.texts("trust.accept_from")).items


def texts_of(due: dict[str, Item]) -> list[dict[str, str]]:
    """Return id, title and text of the memories, without secrets."""
    shown = ((name, shown_fields(item.stored.memory)) for name, item in due.items())
    return [
        {"id": name, "title": " ".join(fields[TITLE]), "body": "\n".join(fields[TEXT])[:_MAX_BODY]}
        for name, fields in shown
    ]


def phrases_question(texts: list[dict[str, str]]) -> Question:
    """Return the question that asks a judge for the phrases of memories; personal data in their texts is left out."""
    rows = []
    for row in texts:
        title, body = one_line(row["title"], MAX_TITLE), excerpt(row["body"], _MAX_BODY)
        rows.append({**row, "title": title, "body": body})
    return Question(load_rubric("memories/phrases"), {"memories": rows}, _answer)


def _answer(value: object) -> dict[str, object] | None:
    """Return an object with rows, which is what Claude and a judge write; None for another form."""
    rows = value.get("memories") if isinstance(value, dict) else None
    is_right = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return {"memories": rows} if is_right else None


def decoded_rows(text: str) -> list[dict[str, object]]:
    """Return the rows in a text of lines. Raises WorkError for another form."""
    try:
        return [{"id": row.pop("concept"), **row} for row in decode_memories(text)]
    except InvalidAnswer:
        raise WorkError(_LINES) from None


class Request(NamedTuple):
    """What a judge would be asked, and a sentence with its highest price."""

    judge: Judge
    questions: list[Question]
    price: str

    def ask(self, context: WorkContext) -> tuple[list[Any], list[str]]:
        """Return the rows that the judge wrote, and why it wrote none for some memories."""
        verdicts = self.judge.ask_all(self.questions, context.within(_SECONDS).deadline)
        failures = dict.fromkeys(verdict.failure for verdict in verdicts if verdict.values is None)
        rows = [row for verdict in verdicts if verdict.values for row in verdict.values["memories"]]
        return rows, [" ".join(explain_failure(failure, "retrieval")) for failure in failures]


def phrases_request(due: dict[str, Item], context: WorkContext) -> Request:
    """Return what the judge of recall would be asked, with an account of its own. Raises WorkError if it cannot be asked."""
    off = terminal_safe(context.taint.why_off)
    judge = Judge("retrieval", context.within(_SECONDS), off=off, request="request %s" % uuid4().hex)
    problem = judge.unready()
    if problem is not None:
        why = problem.detail or " ".join(explain_failure(problem.failure, "retrieval"))
        raise WorkError("no judge was asked: " + why)
    texts = texts_of(due)
    questions = [phrases_question(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
    price = judge.highest_price(questions)
    about = counted(len(due), "memory"), terminal_safe(judge.model), price
    return Request(judge, questions, "send title and text of %s to %s, for phrases, at most $%.4f" % about)


def store_phrases(
    rows: list[dict[str, object]], due: dict[str, Item], context: Context
) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
    """Store the phrases of rows and remove their memories from `due`. Return the phrases by name, and the refused rows with reasons."""
    stored: dict[str, list[str]] = {}
    refused = []
    held = Counter(text.casefold() for item in _items(context) for text in item.stored.memory.asked_as)
    for row in rows:
        name = str(row.get("id"))
        try:
            item, phrases = checked_phrases(due.get(name), row.get("asked_as"), held)
            written = add_phrases(context.paths, item, phrases)
            due.pop(name)
            held.update(map(str.casefold, phrases))
            stored[name] = list(written.stored.memory.asked_as)
        except InvalidMemory as error:
            refused.append({"id": shown_line(name, MAX_PHRASE), "reason": str(error)})
    return stored, refused


def checked_phrases(item: Item | None, phrases: object, held: Counter[str]) -> tuple[StoredMemory, list[str]]:
    """Return a memory and its phrases, each on one line, without those that several memories hold. Raises InvalidMemory."""
    if item is None:
        raise InvalidMemory("no trusted memory without search phrases has this id")
    if not isinstance(phrases, list) or not all(isinstance(phrase, str) for phrase in phrases):
        raise InvalidMemory(_FORMS)
    lines = list(filter(None, dict.fromkeys(plain(phrase, MAX_PHRASE + 1) for phrase in phrases)))
    if not 1 <= len(lines) <= MAX_ASKED_AS or max(map(len, lines)) > MAX_PHRASE:
        raise InvalidMemory(_FORMS)
    lines = [line for line in lines if held[line.casefold()] < _MAX_HOLDERS]
    if not lines:
        raise InvalidMemory(
            "asked_as: other memories have these phrases, so a prompt in these words would find none of them"
        )
    return item.stored, lines


def write_phrases(context: Context) -> dict[str, list[str]]:
    """Let the judge of recall write phrases for a few memories, the last changed first; return the phrases by the memories' names.

    Each text is asked about once, so that what the user deletes does not return. Raises OSError.
    """
    judge = Judge("retrieval", context)
    if judge.unready():
        return {}
    path = context.paths.state("notices", context.paths.project_key + ".json")
    asked = as_texts(read_state(path).get(_ASKED))
    due = [(name, item) for name, item in without_own_phrases(context).items() if _mark(item) not in asked]
    due.sort(key=lambda named: named[1].stored.memory.updated_at, reverse=True)
    few = dict(due[:_FEW])
    answer = judge.ask(phrases_question(texts_of(few)), context.deadline).values if few else None
    if answer is None:
        return {}
    with StateChange(path) as state:
        state[_ASKED] = [*as_texts(state.get(_ASKED)), *map(_mark, few.values())][-_MAX_ASKED:]
    return store_phrases(answer["memories"], few, context)[0]


def tell_written(written: dict[str, list[str]], context: Context) -> None:
    """Bring the index up to date with new phrases, if there are any, and tell the user with the next reply. Raises OSError."""
    if written:
        refresh_some(context, _REFRESH_WAIT)
        record_saves(context.paths, context.session, [NOTICE % counted(len(written), "memory")])


def _mark(item: Item) -> str:
    """Return the digest of a memory's text, without its phrases."""
    return told_digests(item.stored.memory).text
