"""Make memories of decision records, runbooks and notes: their titles, dates, and whether they still hold."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from .markdown import (
    Fields,
    Section,
    form,
    role_of,
    sections,
    title_for,
    with_lead,
    without_markdown,
)
from .record import ACTIVE, ARCHIVED, CONTEXT

_NUMBER = re.compile(r"\A(?:(?:ADR|RFC)[\s#-]*)?\d+(?:[.:)]|\s*[\u2013\u2014\u00b7-])\s+", re.IGNORECASE)
_CALLED_RECORD = re.compile(r"(?:ADR|MADR|RFC)[-_ #]*\d", re.IGNORECASE)
_COUNTED = re.compile(r"\d{1,4}(?!\d|-\d\d-)[-_. ]")
_DAY = re.compile(r"\A\d{4}-\d\d-\d\d[\s:\u2013-]+")
_NAMED = re.compile(r"^(?:[-*+][ \t]+)?\*\*([^*\n]{1,40}?)(?:[:.]\*\*|\*\*:)[ \t]*", re.MULTILINE)
_STATUS_LINE = re.compile(r"^\W*status\W*:\W*(\S.*)$", re.IGNORECASE | re.MULTILINE)
ANSWER, _NOTES = "answer", "notes"
_RUNBOOK_FIELDS = frozenset(["steps", "symptoms", "root_cause"])
_LIST_MARK = re.compile(r"\A\s*(?:[-*+]|\d{1,3}[.)]|>)\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?\uff1f\u3002])\s+|\n+")
_MIN_PHRASE, _MAX_PHRASE, _MAX_PHRASES = 8, 160, 5
_BADGE = re.compile(r"!\[([^\[\]\n]{0,100})\]\(https?://[^()\s]{0,500}\)")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_STATEMENT = re.compile(r"\n|(?<=[.;])\s+")
_FEW_WORDS = 3
# What is replaced follows at once, on the line or in a list below it; in prose, words are between them.
_REPLACES = re.compile(
    r"(?i)\b(?:supersed|superced|replac|obsolet)es\b(?=\W{0,12}(?:ADR|RFC|MADR|\[|\d))((?:.|\n(?=\s*[-*])){0,300})"
)
_TARGET = re.compile(
    r"\]\(([^()\s#]+)|\[\[([^\]|#\n]+)|\b(?:ADR|RFC|MADR)[-_ #]*(\d{1,5})\b|(?<![\w-])#?(0\d{2,4})(?![\w-])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:[a-z]{2,10}[-_ #]*)?(\d{1,5})(?!\d|-\d\d-)", re.IGNORECASE)
_HEAD_LINE = re.compile(
    r"^[-*+ \t]*\**(?:date|status|deciders?|decision[- ]makers?|authors?|owners?|consulted|informed|last[- ]updated|version|technical story"
    r"|ticket)\**:\**[^\n]*\n?",
    re.IGNORECASE | re.MULTILINE,
)
_DATED = re.compile(r"^\W*(?:date|decided|created)\W*:\W*(\d{4}-\d{2}-\d{2})", re.IGNORECASE | re.MULTILINE)
_FIRST_HEADING = re.compile(r"\A(?:(?!#)[^\n]*\n)*#[ \t]+([^\n]+)")
_SOME_WORDS = re.compile(r"[^\W\d_]{2,}[\W_]+[^\W\d_]+")
_BLANK = re.compile(
    r"\W*(?:(?:ADR|RFC|MADR)[-_ #]*)?(?:N{2,}|X{2,}|NUMBER|0000)\b|(?:[\w#. -]{0,12}[:.]? )?(?:\[(?!\[)|[{<])[^\]}>]{2,80}[\]}>]\W*\Z"
)


class DecisionRecord(NamedTuple):
    """A decision record or runbook: its texts by field (`answer` is the category's main field), and its line."""

    title: str
    category: str
    fields: dict[str, str]
    line: int


class Draft(NamedTuple):
    """A memory to be stored, and where it was found: `source` is the path with the line or number of the item, `path` the path alone.

    Of a decision record, `names` are those by which others call it, `replaces` the names of what it replaces.
    """

    source: str
    data: dict[str, Any]
    path: str
    names: frozenset[str] = frozenset()
    replaces: tuple[str, ...] = ()


class Reading(NamedTuple):
    """The memories that were found; problems, and what was left out, as (source, reason).

    `is_folder` says that nobody named the files themselves.
    """

    drafts: list[Draft]
    problems: list[tuple[str, str]]
    left_out: list[tuple[str, str]]
    root: str = ""
    is_folder: bool = False


def is_blank_form(title: str) -> bool:
    """Return whether a title is a placeholder, as in a template."""
    return bool(_BLANK.match(title))


def questions(text: str) -> list[str]:
    """Return the questions in a text."""
    sentences = (_LIST_MARK.sub("", part).strip() for part in _SENTENCE_END.split(text))
    asked = (sentence for sentence in sentences if sentence.endswith(("?", "\uff1f")))
    return [question for question in asked if _MIN_PHRASE <= len(question) <= _MAX_PHRASE][:_MAX_PHRASES]


def records_in(parts: list[Section], title: str) -> tuple[list[DecisionRecord], list[Section]]:
    """Return the decision records and runbooks of a document, and its other sections: the whole document is one, or what a heading holds.

    A record has an answer and another field, and no heading twice; `title` is the document's. The names of fields, as headings or in
    bold before a paragraph, are `roles` in `config/memories/importing.json`: those of Nygard's template, MADR, and runbooks.
    """
    pieces = [piece for part in parts for piece in _named_paragraphs(part)]
    owners = {part.above for part in pieces if role_of(part.heading) and not role_of(part.above)}
    owners |= {
        part.heading for part in pieces if _STATUS_LINE.search(part.text) and not role_of(part.heading)
    }

    def owner_of(part: Section) -> str:
        return next((name for name in (part.above, part.heading) if name in owners), "")

    groups: dict[str, list[Section]] = {}
    for piece in pieces:
        groups.setdefault(owner_of(piece), []).append(piece)
    records = {owner: _record(owner or title, group) for owner, group in groups.items()}
    return list(filter(None, records.values())), [part for part in parts if records[owner_of(part)] is None]


def is_one_record(stem: str, title: str, records: list[DecisionRecord]) -> bool:
    """Return whether a document is one decision as a whole: numbered as a record, or with a status of its own."""
    names = (stem, title)
    if any(map(_CALLED_RECORD.match, names)):
        return True
    own = records[0] if records else None
    is_whole = own is not None and own.title == title_for(_NUMBER.sub("", title)) and "status" in own.fields
    return is_whole or (own is not None and any(map(_COUNTED.match, names)))


def _named_paragraphs(part: Section) -> list[Section]:
    """Return the paragraphs of a section that name their field in bold as sections below it, if an answer is among them; else itself."""
    roles = list(filter(None, map(role_of, _NAMED.findall(part.text))))
    if len(roles) != len(set(roles)) or {ANSWER, "steps"}.isdisjoint(roles) or role_of(part.heading):
        return [part]
    text = _NAMED.sub(lambda mark: "\n###### %s\n" % mark[1] if role_of(mark[1]) else mark[0], part.text)
    pieces = [piece._replace(above=part.heading, line=part.line) for piece in sections(text)]
    return [piece if piece.heading else part._replace(text=piece.text) for piece in pieces]


def _record(title: str, parts: list[Section]) -> DecisionRecord | None:
    fields: dict[str, list[str]] = {}
    names = [part.heading.lower() for part in parts if role_of(part.heading)]
    held = [part.above for part in parts if not role_of(part.heading)]
    roles = set(filter(None, map(role_of, [*names, *held])))
    plain = [part for part in parts if not role_of(part.heading)]
    if any(_STATUS_LINE.search(part.text) for part in plain):
        roles.add("status")  # a line of the head, or of an entry in a log of decisions
        if roles == {"status"} and len(parts) == 1 and parts[0].heading:
            return _log_entry(title, parts[0])
    has_context = {"status", CONTEXT} <= roles and (_NUMBER.match(title) or "consequences" in roles)
    answer = CONTEXT if has_context and ANSWER not in roles else ANSWER
    if len(names) != len(set(names)) or roles.isdisjoint((answer, "steps")) or roles <= {ANSWER, "steps"}:
        return None
    for part in parts:
        role = role_of(part.heading)
        is_named = role in fields or not (role or part.heading in ("", title))
        text = "%s: %s" % (part.heading, part.text) if is_named else part.text
        role = ANSWER if role == answer else role
        fields.setdefault(role or role_of(part.above) or _NOTES, []).append(text)
    texts = {role: "\n\n".join(lines) for role, lines in fields.items()}
    texts[ANSWER] = "\n".join(filter(None, (texts.get(ANSWER), texts.pop("steps", ""))))
    status = _STATUS_LINE.search(texts.get(_NOTES, ""))
    if status and "status" not in texts:
        texts["status"] = status[1].strip()
    category = "decision" if _RUNBOOK_FIELDS.isdisjoint(roles) else "runbook"
    title = title_for(_NUMBER.sub("", title))
    title = title if " " in title else title.replace("-", " ")
    words = re.findall(r"[^\W\d_]+", title)
    if not words[1:]:  # only a number, or "ADR 7"; but a name, such as that of an alert, is kept
        title = title_for(with_lead(title if words and not title.isupper() else "", texts[ANSWER]))
    return DecisionRecord(title, category, texts, parts[0].line)


def _log_entry(title: str, part: Section) -> DecisionRecord | None:
    """Return an entry of a log of decisions, whose text has a line with its status; None for one without a text."""
    status, text = _STATUS_LINE.search(part.text), _HEAD_LINE.sub("", part.text).strip()
    if not status or not text:
        return None
    fields = {ANSWER: text, "status": status[1].strip(), _NOTES: part.text}
    return DecisionRecord(title_for(_NUMBER.sub("", title)), "decision", fields, part.line)


def record_item(record: DecisionRecord, fields: Fields) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a record or runbook as an entry, and its other texts by field.

    People describe problems by their symptoms, so these become phrases.
    """
    texts = {**record.fields, **({"status": str(fields["status"])} if "status" in fields else {})}
    symptoms = (_LIST_MARK.sub("", line).strip("\"' ") for line in texts.get("symptoms", "").splitlines())
    phrases = [line for line in symptoms if _MIN_PHRASE <= len(line) <= _MAX_PHRASE]
    phrases = list(dict.fromkeys([*phrases, *questions(texts.get(CONTEXT, ""))]))[:_MAX_PHRASES]
    dated = _DATED.search(texts.get("notes", ""))
    item = {
        "asked_as": phrases,
        **({"date": dated[1]} if dated else {}),
        **{name: value for name, value in fields.items() if name != "supersedes"},
        "title": _DAY.sub("", str(fields.get("title") or record.title)),
        "body": texts.pop(ANSWER),
    }
    texts["notes"] = _HEAD_LINE.sub("", texts.get("notes", ""))
    cleaned = {name: _BADGE.sub(r"\1", text).strip() for name, text in texts.items()}
    return item, {name: text for name, text in cleaned.items() if text}


def note_item(fields: Fields, text: str, stem: str) -> dict[str, Any]:
    """Return a note with front matter as an entry.

    Its title is that of its fields or its first heading, else the name of its file. A name such as `feedback_tests` is only a file's.
    """
    heading = _FIRST_HEADING.match(text)
    described, headed = fields.get("description", ""), heading[1].strip(" #") if heading else ""
    guesses = (described, headed) if "name" in fields else (headed, described)
    named = re.sub(r"[-_]", " ", stem.lstrip("0123456789-_ "))
    names = [
        fields.get("title", ""),
        fields.get("name", ""),
        *guesses,
        named if _SOME_WORDS.search(named) else "",
    ]
    titles = [
        name
        for name in names
        if isinstance(name, str) and name and (" " in name or not re.search("[_-]", name))
    ]
    found = [question for section in sections(text) for question in questions(section.heading)]
    body = "\n\n".join(filter(None, (str(described), text.strip())))
    kind = re.search(r"^type:[ \t]*(\w+)", str(fields.get("metadata", "")), re.MULTILINE)
    item = {
        "asked_as": found,
        **fields,
        "title": title_for(_NUMBER.sub("", _DAY.sub("", titles[0])) if titles else text or stem),
        "body": body,
    }
    return {"type": kind[1], **item} if kind else item


def no_longer_holds(status: str, fields: Fields) -> str:
    """Return why a record is not in force: what its status says, or that it is only proposed; empty for one that holds.

    Only the beginning of a statement counts, and a wrapped line is none.
    """
    if any(fields.get(name) for name in ("superseded_by", "superseded-by", "supersededby")):
        return "superseded by %s" % (fields.get("superseded_by") or fields.get("superseded-by") or "another")
    lines = [
        without_markdown(part)
        for part in _STATEMENT.split(_unwrapped(_STRUCK.sub("", status).replace("|", "\n")))
    ]
    if any(form("over").match(line) for line in lines):
        return status[:200]
    words = " ".join(lines).strip()
    return "only proposed" if form("proposed").match(words) and not form("accepted").search(words) else ""


def _unwrapped(text: str) -> str:
    """Return a text with the lines of a paragraph joined where prose was wrapped: after some words, before a small letter."""
    lines = [""]
    for line in text.splitlines():
        if line[:1].islower() and len(lines[-1].split()) > _FEW_WORDS and lines[-1][-1:] not in ".:;":
            lines[-1] += " " + line
        else:
            lines.append(line)
    return "\n".join(lines)


def replaced_names(texts: dict[str, str], fields: Fields) -> list[str]:
    """Return what a record says that it replaces: numbers without leading zeros, or paths and names as they are linked."""
    found = []
    for text in _REPLACES.findall("%s\n%s" % (texts.get("status", ""), texts.get("notes", ""))):
        found += ["".join(groups) for groups in _TARGET.findall(text)]
    for value in (fields.get(name, "") for name in ("supersedes", "replaces", "obsoletes")):
        for text in [value] if isinstance(value, str) else value:
            found += ["".join(groups) for groups in _TARGET.findall(text)] or re.findall(r"\d{1,5}", text)
    return [name.lstrip("0") if name.isdigit() else name for name in found]


def record_names(path: str, title: str) -> frozenset[str]:
    """Return the names by which other records call one: its file, and its number in the file's name or title."""
    stem = os.path.splitext(os.path.basename(path))[0]
    numbers = (_NUMBERED.match(text) for text in (stem, title))
    return frozenset([path, stem, *(number[1].lstrip("0") for number in numbers if number)])


def archive(data: dict[str, Any], reason: str) -> None:
    """Archive a memory to be stored, unless the reason is empty."""
    if reason:
        data.update(record_status=ARCHIVED, archived_reason=reason)


def archive_replaced(drafts: list[Draft]) -> None:
    """Archive the records that one in force says it replaces, whether or not their own status was changed."""
    by_name = {(os.path.dirname(draft.path), name): draft.data for draft in drafts for name in draft.names}
    for draft in drafts:
        folder = os.path.dirname(draft.path)
        for name in draft.replaces if draft.data["record_status"] == ACTIVE else ():
            path = os.path.normpath(os.path.join(folder, name))
            old = by_name.get((folder, name), by_name.get((os.path.dirname(path), path), draft.data))
            if old is not draft.data and old["record_status"] == ACTIVE:
                archive(old, "replaced by " + draft.data["title"])
