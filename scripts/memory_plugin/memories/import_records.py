"""Find decision records, runbooks and notes in a document: their titles and fields, what they replace, and whether they still hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from .markdown import Fields, Section, form, role_of, sections, title_for, with_lead, without_markdown
from .record import CONTEXT

ANSWER, _NOTES, _STATUS, _STEPS = "answer", "notes", "status", "steps"
_RUNBOOK_FIELDS = frozenset([_STEPS, "symptoms", "root_cause"])
_LIST_MARK = re.compile(r"\A\s*(?:[-*+]|\d{1,3}[.)]|>)\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?\uff1f\u3002])\s+|\n+")
_MIN_PHRASE, _MAX_PHRASE, _MAX_PHRASES = 8, 160, 5
_BADGE = re.compile(r"!\[([^\[\]\n]{0,100})\]\(https?://[^()\s]{0,500}\)")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
# A line goes on with prose that was wrapped: after three words and more, with a small letter.
_WRAPPED = re.compile(r"^([ \t]*(?:\S+[ \t]+){3,}\S*[^\s.:;])\n(?=[^\W\d_A-Z])", re.MULTILINE)
_FIRST_HEADING = re.compile(r"\A(?:(?!#)[^\n]*\n)*#[ \t]+([^\n]+)")
_SEVERAL_WORDS = re.compile(r"[^\W\d_]{2,}[\W_]+[^\W\d_]+")


class DecisionRecord(NamedTuple):
    """A decision record or runbook: its texts by field (`answer` is the category's main field), and its line."""

    title: str
    category: str
    fields: dict[str, str]
    line: int


def questions(text: str) -> list[str]:
    """Return the questions in a text."""
    sentences = (_LIST_MARK.sub("", part).strip() for part in _SENTENCE_END.split(text))
    return _phrases(sentence for sentence in sentences if sentence.endswith(("?", "\uff1f")))


def _phrases(texts: Iterator[str]) -> list[str]:
    """Return the texts that are as long as a person would ask, each once."""
    fitting = (text for text in texts if _MIN_PHRASE <= len(text) <= _MAX_PHRASE)
    return list(dict.fromkeys(fitting))[:_MAX_PHRASES]


def records_in(parts: list[Section], title: str) -> tuple[list[DecisionRecord], list[Section]]:
    """Return the decision records and runbooks of a document, and its other sections: the whole document is one, or what a heading holds.

    A record has an answer and another field, and no heading twice; `title` is the document's. The names of fields, as headings or in
    bold before a paragraph, are `roles` in `config/memories/importing.json`: those of Nygard's template, MADR, and runbooks.
    """
    pieces = [piece for part in parts for piece in named_paragraphs(part)]
    owners = {part.above for part in pieces if role_of(part.heading) and not role_of(part.above)}
    owners |= {part.heading for part in pieces if _status_in(part)}

    def owner_of(part: Section) -> str:
        return next((name for name in (part.above, part.heading) if name in owners), "")

    groups: dict[str, list[Section]] = {}
    for piece in pieces:
        groups.setdefault(owner_of(piece), []).append(piece)
    records = {owner: _record(owner or title, group) for owner, group in groups.items()}
    return list(filter(None, records.values())), [part for part in parts if records[owner_of(part)] is None]


def named_paragraphs(part: Section) -> list[Section]:
    """Return the paragraphs of a section that name their field in bold as sections below it, if an answer is among them; else itself."""
    named = form("named")
    roles = list(filter(None, map(role_of, named.findall(part.text))))
    if len(roles) != len(set(roles)) or {ANSWER, _STEPS}.isdisjoint(roles) or role_of(part.heading):
        return [part]
    text = named.sub(lambda mark: "\n###### %s\n" % mark[1] if role_of(mark[1]) else mark[0], part.text)
    pieces = [piece._replace(above=part.heading, line=part.line) for piece in sections(text)]
    return [piece if piece.heading else part._replace(text=piece.text) for piece in pieces]


def _status_in(part: Section) -> str:
    """Return the status in a line of the text below a heading that names no field, as in a record's head or an entry of a log."""
    found = None if role_of(part.heading) else form("status_line").search(part.text)
    return found[1].strip() if found else ""


def _record(title: str, parts: list[Section]) -> DecisionRecord | None:
    names = [part.heading.lower() for part in parts if role_of(part.heading)]
    roles = {role_of(part.heading) or role_of(part.above) for part in parts} - {""}
    status = next(filter(None, map(_status_in, parts)), "")
    text = form("head_line").sub("", parts[0].text).strip()
    if status and not roles and len(parts) == 1 and parts[0].heading:  # an entry in a log of decisions
        fields = {ANSWER: text, _STATUS: status, _NOTES: parts[0].text}
        return DecisionRecord(_title(title, text), "decision", fields, parts[0].line) if text else None
    roles |= {_STATUS} if status else set()
    has_context = {_STATUS, CONTEXT} <= roles and (form("number").match(title) or "consequences" in roles)
    answer = CONTEXT if has_context and ANSWER not in roles else ANSWER
    if len(names) != len(set(names)) or roles.isdisjoint((answer, _STEPS)) or roles <= {ANSWER, _STEPS}:
        return None
    texts: dict[str, str] = {_STATUS: status} if status and _STATUS not in map(role_of, names) else {}
    for part in parts:
        role = role_of(part.heading)
        is_named = role in texts or not (role or part.heading in ("", title))
        said = "%s: %s" % (part.heading, part.text) if is_named else part.text
        role = ANSWER if role == answer else role or role_of(part.above) or _NOTES
        texts[role] = "\n\n".join(filter(None, (texts.get(role), said)))
    texts[ANSWER] = "\n".join(filter(None, (texts.get(ANSWER), texts.pop(_STEPS, ""))))
    category = "decision" if _RUNBOOK_FIELDS.isdisjoint(roles) else "runbook"
    return DecisionRecord(_title(title, texts[ANSWER]), category, texts, parts[0].line)


def _title(title: str, answer: str) -> str:
    """Return the title of a record without its number; with the answer after a single word, if that is not the name of an alert."""
    title = title_for(form("number").sub("", title))
    title = title if " " in title else title.replace("-", " ")
    words = re.findall(r"[^\W\d_]+", title)
    named = title if words and not title.isupper() else ""  # not only a number, or "ADR 7"
    return title if words[1:] else title_for(with_lead(named, answer))


def is_one_record(stem: str, title: str, records: list[DecisionRecord]) -> bool:
    """Return whether a document is one decision as a whole: numbered as a record, or with a status of its own."""
    if any(map(form("called_record").match, (stem, title))):
        return True
    own = records[0] if records else None
    is_whole = own is not None and own.title == _title(title, own.fields[ANSWER]) and _STATUS in own.fields
    return is_whole or (own is not None and any(map(form("counted").match, (stem, title))))


def record_item(record: DecisionRecord, fields: Fields) -> tuple[dict[str, object], dict[str, str]]:
    """Return a record or runbook as an entry, and its other texts by field.

    People describe problems by their symptoms, so these become phrases.
    """
    texts = {**record.fields, **({_STATUS: str(fields[_STATUS])} if _STATUS in fields else {})}
    symptoms = (_LIST_MARK.sub("", line).strip("\"' ") for line in texts.get("symptoms", "").splitlines())
    phrases = _phrases(iter([*_phrases(symptoms), *questions(texts.get(CONTEXT, ""))]))
    dated = form("dated").search(texts.get(_NOTES, ""))
    item: dict[str, object] = {
        "asked_as": phrases,
        **({"date": dated[1]} if dated else {}),
        **{name: value for name, value in fields.items() if name != "supersedes"},
        "title": form("day").sub("", str(fields.get("title") or record.title)),
        "body": texts.pop(ANSWER),
    }
    texts[_NOTES] = form("head_line").sub("", texts.get(_NOTES, ""))
    cleaned = {name: _BADGE.sub(r"\1", text).strip() for name, text in texts.items()}
    return item, {name: text for name, text in cleaned.items() if text}


def note_item(fields: Fields, text: str, stem: str) -> dict[str, object]:
    """Return a note with front matter as an entry.

    Its title is that of its fields or its first heading, else the name of its file. A name such as `feedback_tests` is only a file's.
    """
    described = str(fields.get("description", ""))
    heading = _FIRST_HEADING.match(text)
    headed = heading[1].strip(" #") if heading else ""
    named = re.sub(r"[-_]", " ", stem.lstrip("0123456789-_ "))
    guesses = (described, headed) if "name" in fields else (headed, described)
    names = [fields.get("title", ""), fields.get("name", ""), *guesses]
    titles = [str(name) for name in names if " " in name or not re.search("[_-]|^$", str(name))]
    titles += [named] if _SEVERAL_WORDS.search(named) else []
    title = form("number").sub("", form("day").sub("", titles[0])) if titles else text or stem
    kind = re.search(r"^type:[ \t]*(\w+)", str(fields.get("metadata", "")), re.MULTILINE)
    return {
        **({"type": kind[1]} if kind else {}),
        "asked_as": [question for section in sections(text) for question in questions(section.heading)],
        **fields,
        "title": title_for(title),
        "body": "\n\n".join(filter(None, (described, text.strip()))),
    }


def no_longer_holds(status: str, fields: Fields) -> str:
    """Return why a record is not in force: what its status says, or that it is only proposed; empty for one that holds.

    Only the beginning of a statement counts, and a wrapped line is none.
    """
    newer = next(filter(None, map(fields.get, ("superseded_by", "superseded-by", "supersededby"))), "")
    if newer:
        return "superseded by %s" % newer
    text = _WRAPPED.sub(r"\1 ", _STRUCK.sub("", status).replace("|", "\n"))
    lines = list(map(without_markdown, re.split(r"\n|(?<=[.;])\s+", text)))
    if any(form("over").match(line) for line in lines):
        return status[:200]
    words = " ".join(lines).strip()
    return "only proposed" if form("proposed").match(words) and not form("accepted").search(words) else ""


def replaced_names(texts: dict[str, str], fields: Fields) -> Iterator[str]:
    """Yield what a record says that it replaces: numbers without leading zeros, or paths and names as they are linked."""
    said = form("replaces").findall("%s\n%s" % (texts.get(_STATUS, ""), texts.get(_NOTES, "")))
    found = [groups for text in said for groups in form("target").findall(text)]
    for value in (fields.get(name, "") for name in ("supersedes", "replaces", "obsoletes")):
        for text in [value] if isinstance(value, str) else value:
            found += form("target").findall(text) or re.findall(r"()(\d{1,5})", text)
    for name in map("".join, found):
        yield name.lstrip("0") if name.isdigit() else name


def record_names(path: str, title: str) -> frozenset[str]:
    """Return the names by which other records call one: its file, and its number in the file's name or title."""
    stem = os.path.splitext(os.path.basename(path))[0]
    numbers = map(form("numbered").match, (stem, title))
    return frozenset([path, stem, *(number[1].lstrip("0") for number in numbers if number)])
