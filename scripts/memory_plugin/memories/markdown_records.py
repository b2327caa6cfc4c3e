"""Decision records and runbooks written in Markdown: one memory each, with the problem as its context and questions as its phrases.

The headings of each field are data (`roles` in `config/memories/importing.json`): those of Nygard's template, of MADR, and of common
runbooks.
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

_STATUS_LINE = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)?(?:status|state|statut|estado)(?:\*\*|__)?[ \t]*:[ \t]*(?:\*\*|__)?[ \t]*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_MARK = re.compile(r"\A\s*(?:[-*+]|\d{1,3}[.)]|>)\s+")
_QUOTED = re.compile(r"\A([`*_\"']{1,3})(.*)\1\Z")
_SENTENCE_END = re.compile(r"(?<=[.!?\uff1f\u3002])\s+|\n+")
_MIN_PHRASE, _MAX_PHRASE = 8, 160  # characters
_MAX_PHRASES = 5
_MIN_TITLE_WORDS = 3
_ANSWER, _NOTES = "answer", "notes"
_RUNBOOK_FIELDS = frozenset(["steps", "symptoms", "root_cause"])


class WrittenRecord(NamedTuple):
    """A record in a document: its category, texts by field (`answer` is the category's main field), phrases, and line."""

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
    record = _record(title or stem.replace("-", " ").replace("_", " "), parts)
    if record is not None:
        answer = title_for(record.fields.get(_ANSWER, ""))
        return [record if title or len(answer.split()) < _MIN_TITLE_WORDS else record._replace(title=answer)]
    groups: dict[str, list[Section]] = {}
    for part in parts:
        owner = part.heading if any(other.above == part.heading for other in parts) else part.above
        groups.setdefault(owner, []).append(part)
    if "" in groups:
        return []
    records = [_record(owner, group) for owner, group in groups.items()]
    found = [record for record in records if record is not None]
    return found if len(found) == len(records) else []


def _record(title: str, parts: list[Section]) -> WrittenRecord | None:
    """Return the record in these sections, or None: it needs an answer, other fields beside it, and no field twice."""
    fields: dict[str, list[str]] = {}
    roles: list[str] = []
    for part in parts:
        role = _role(part.heading)
        if role:
            roles.append(role)
            if part.above not in ("", title) and not _role(part.above):
                return None  # it belongs to another record
        is_plain = role or part.heading in ("", title)
        text = part.text if is_plain else "%s: %s" % (part.heading, part.text)
        fields.setdefault(role or _role(part.above) or _NOTES, []).append(text)
    other_fields = set(roles) - {_ANSWER, "steps"}
    has_answer = other_fields != set(roles)
    if not has_answer or not other_fields or len(roles) != len(set(roles)):
        return None
    texts = {role: "\n\n".join(lines) for role, lines in fields.items()}
    if "steps" in texts:
        texts[_ANSWER] = "\n".join(filter(None, (texts.get(_ANSWER), texts.pop("steps"))))
    runbook = not _RUNBOOK_FIELDS.isdisjoint(roles)
    phrases = [*phrases_in(texts.get("symptoms", "")), *questions_in(texts.get(CONTEXT, ""))]
    if "status" not in texts:
        texts.update(_status_line(texts.get(_NOTES, "")))
    return WrittenRecord(
        _title(title, texts.get(_ANSWER, "")),
        "runbook" if runbook else "decision",
        texts,
        _distinct(phrases),
        is_over(texts.get("status", "")),
        parts[0].line,
    )


def _status_line(notes: str) -> dict[str, str]:
    """Return the status that a line above the sections gives."""
    match = _STATUS_LINE.search(notes)
    return {"status": match[1].strip()} if match else {}


def _title(title: str, answer: str) -> str:
    """Return the title of a record without its number, or its answer if that leaves only general words."""
    clean = without_markdown(without_number(title))
    sentence = title_for(answer)
    return sentence if is_general(clean) and len(sentence.split()) >= _MIN_TITLE_WORDS else shortened(clean)


def is_over(status: str) -> bool:
    """Return whether the status of a record says that it is no longer valid."""
    return status.strip().lower().lstrip("*_[").startswith(tuple(_table()["over"]))


def phrases_in(text: str) -> list[str]:
    """Return the lines of a text without their list marks as phrases, since people describe problems by their symptoms."""
    lines = (_QUOTED.sub(r"\2", _MARK.sub("", line).strip()) for line in text.splitlines())
    return _distinct(line for line in lines if _MIN_PHRASE <= len(line) <= _MAX_PHRASE)


def questions_in(text: str) -> list[str]:
    """Return the questions in a text."""
    sentences = (_MARK.sub("", part).strip().lstrip("#").strip() for part in _SENTENCE_END.split(text))
    return _distinct(
        sentence
        for sentence in sentences
        if sentence.endswith(("?", "\uff1f")) and _MIN_PHRASE <= len(sentence) <= _MAX_PHRASE
    )


def _distinct(phrases: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(phrases))[: min(_MAX_PHRASES, MAX_ASKED_AS)]


def _role(heading: str) -> str:
    """Return the field for a heading; empty if there is none."""
    plain = " ".join(re.findall(r"[^\W\d_]+", heading.lower()))
    return str(_table()["headings"].get(plain, ""))


@cache
def _table() -> dict[str, Any]:
    table = load_data("memories", "importing")
    headings = {heading: role for role, names in table["roles"].items() for heading in names}
    return {"headings": headings, "over": table["over"]}
