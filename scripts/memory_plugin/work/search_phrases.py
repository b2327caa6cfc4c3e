"""Search phrases for memories that have none."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..kernel.judge.question import Question, excerpt, load_rubric, one_line
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.memory_files import StoredMemory
from ..memories.memory_text import TEXT, TITLE, shown_fields
from ..memories.record import MAX_ASKED_AS, MAX_TITLE
from ..memories.survey import Item, shortest_names, without_phrases
from ..memories.trust import load_trust
from .context import WorkContext

MAX_PHRASE = 120

BATCH = 20

_MAX_HOLDERS = 2  # memories with one phrase
_MAX_BODY = 1500
_FORMS = "asked_as: expected 1 to %d texts of at most %d characters" % (MAX_ASKED_AS, MAX_PHRASE)


def without_own_phrases(context: WorkContext) -> dict[str, Item]:
    """Return the memories without phrases by their shortest names, except those of which the user rejected phrases."""
    items, trust = context.survey().items, load_trust(context.paths)
    names = shortest_names(items)
    due = (item for item in without_phrases(items) if not trust.has_rejected_phrases(item.stored))
    return {names[item.stored.key]: item for item in due}


def texts_of(due: dict[str, Item]) -> list[dict[str, str]]:
    """Return id, title and text of the memories, without secrets."""
    shown = ((name, shown_fields(item.stored.memory)) for name, item in due.items())
    return [
        {"id": name, "title": " ".join(fields[TITLE]), "body": "\n".join(fields[TEXT])[:_MAX_BODY]}
        for name, fields in shown
    ]


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
        raise InvalidMemory("asked_as: other memories have these phrases, so they lead to none")
    return item.stored, lines


def phrase_questions(due: dict[str, Item]) -> list[Question]:
    """Return the questions that ask a judge for the phrases of memories, in batches."""
    texts = texts_of(due)
    return [phrases_question(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
