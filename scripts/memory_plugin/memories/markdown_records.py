"""Decision records and runbooks written in Markdown: one memory each, with the problem as its context and questions as its phrases.

Which headings stand for which field is data (`roles` in `config/memories/importing.json`): those of Nygard's template, of MADR, and of
runbooks as teams write them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from .import_titles import is_general, shortened, title_for, without_markdown, without_number
from .markdown import first_heading
from .record import CONTEXT, MAX_ASKED_AS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .markdown import Section

__all__ = ["WrittenRecord", "is_over", "phrases_in", "questions_in", "records_in"]

_STATUS_LINE = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)?(?:status|state|statut|estado)(?:\*\*|__)?[ \t]*:[ \t]*(?:\*\*|__)?[ \t]*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_MARK = re.compile(r"\A\s*(?:[-*+]|\d{1,3}[.)]|>)\s+")
_QUOTED = re.compile(r"\A([`*_\"']{1,3})(.*)\1\Z")
_SENTENCE_END = re.compile(r"(?<=[.!?\uff1f\u3002])\s+|\n+")
_SHORTEST, _LONGEST = 8, 160
_MOST_PHRASES = 5
_FEWEST_WORDS = 3
_ANSWER, _NOTES = "answer", "notes"
_OF_RUNBOOKS = frozenset(["steps", "symptoms", "root_cause"])


class WrittenRecord(NamedTuple):
    """A record in a document: its category, the texts by field (`answer` is the category's main field), its phrases, and the line."""

    title: str
    category: str
    fields: dict[str, str]
    asked_as: list[str]
    is_over: bool
    line: int


def records_in(text: str, parts: list[Section], stem: str) -> list[WrittenRecord]:
    """Return the records of a document: the whole document, or one below each heading; empty if it does not consist of records."""
    top = first_heading(text)
    title = top if top and not _role(top) else ""
    whole = _record(title or stem.replace("-", " ").replace("_", " "), parts)
    if whole is not None:
        answer = title_for(whole.fields.get(_ANSWER, ""))
        return [whole if title or len(answer.split()) < _FEWEST_WORDS else whole._replace(title=answer)]
    groups: dict[str, list[Section]] = {}
    for part in parts:
        owner = part.heading if any(other.above == part.heading for other in parts) else part.above
        groups.setdefault(owner, []).append(part)
    written_records = [_record(owner, group) for owner, group in groups.items() if owner]
    return (
        [record for record in written_records if record is not None]
        if written_records and all(written_records) and "" not in groups
        else []
    )


def _record(title: str, parts: list[Section]) -> WrittenRecord | None:
    """Return the record that these sections make, or None: it needs an answer, something around it, and no field twice."""
    fields: dict[str, list[str]] = {}
    owners: list[str] = []
    for part in parts:
        role = _role(part.heading) or _role(part.above)
        if _role(part.heading):
            owners.append(_role(part.heading))
        named = (
            part.text
            if _role(part.heading) or part.heading in ("", title)
            else "%s: %s" % (part.heading, part.text)
        )
        fields.setdefault(role or _NOTES, []).append(named)
    below = all(
        not _role(section.heading) or section.above in ("", title) or _role(section.above)
        for section in parts
    )
    around = set(owners) - {_ANSWER, "steps"}
    if not below or not around or len(around) == len(set(owners)) or len(owners) != len(set(owners)):
        return None
    texts = {role: "\n\n".join(lines) for role, lines in fields.items()}
    if "steps" in texts:
        texts[_ANSWER] = "\n".join(filter(None, (texts.get(_ANSWER), texts.pop("steps"))))
    runbook = not _OF_RUNBOOKS.isdisjoint(owners)
    asked = [*phrases_in(texts.get("symptoms", "")), *questions_in(texts.get(CONTEXT, ""))]
    if "status" not in texts:
        texts.update(_status_line(texts.get(_NOTES, "")))
    over = is_over(texts.get("status", ""))
    return WrittenRecord(
        _title(title, texts.get(_ANSWER, "")),
        "runbook" if runbook else "decision",
        texts,
        _distinct(asked),
        over,
        parts[0].line,
    )


def _status_line(notes: str) -> dict[str, str]:
    """Return the status that a line above the sections gives."""
    match = _STATUS_LINE.search(notes)
    return {"status": match[1].strip()} if match else {}


def _title(title: str, answer: str) -> str:
    """Return the title of a record without its number, or its answer if nothing else is left of it."""
    clean = without_markdown(without_number(title))
    sentence = title_for(answer)
    return sentence if is_general(clean) and len(sentence.split()) >= _FEWEST_WORDS else shortened(clean)


def is_over(status: str) -> bool:
    """Return whether the status of a record says that it is no longer valid."""
    return status.strip().lower().lstrip("*_[").startswith(tuple(_table()["over"]))


def phrases_in(text: str) -> list[str]:
    """Return the lines of a text without their list marks, as phrases: symptoms are what people complain of."""
    lines = (_QUOTED.sub(r"\2", _MARK.sub("", line).strip()) for line in text.splitlines())
    return _distinct(line for line in lines if _SHORTEST <= len(line) <= _LONGEST)


def questions_in(text: str) -> list[str]:
    """Return the questions that a text asks."""
    sentences = (_MARK.sub("", part).strip().lstrip("#").strip() for part in _SENTENCE_END.split(text))
    return _distinct(
        sentence
        for sentence in sentences
        if sentence.endswith(("?", "\uff1f")) and _SHORTEST <= len(sentence) <= _LONGEST
    )


def _distinct(phrases: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(phrases))[: min(_MOST_PHRASES, MAX_ASKED_AS)]


def _role(heading: str) -> str:
    """Return the field for a heading; empty if there is none."""
    plain = " ".join(re.findall(r"[^\W\d_]+", heading.lower()))
    return str(_table()["headings"].get(plain, ""))


@cache
def _table() -> dict[str, Any]:
    table = load_data("memories", "importing")
    headings = {heading: role for role, names in table["roles"].items() for heading in names}
    return {"headings": headings, "over": table["over"]}
