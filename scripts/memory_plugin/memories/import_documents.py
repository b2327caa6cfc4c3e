"""Read a Markdown document as entries: decision records and runbooks, a note with fields at its head, or rules in lists.

Of records and notes: their titles and fields, what they replace, and whether they still hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from . import markdown
from .guard_file import files_problem
from .markdown import ANSWERS, Fields, Section, Statement, form, role_of, sections, texts_in, without_markdown
from .record import CONTEXT

ANSWER, _NOTES, _STATUS, _STEPS = "answer", "notes", "status", "steps"
_RUNBOOK_FIELDS = frozenset([_STEPS, "symptoms", "root_cause"])
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
# A line goes on with prose that was wrapped: after three words and more, with a small letter.
_WRAPPED = re.compile(r"^([ \t]*(?:\S+[ \t]+){3,}\S*[^\s.:;])\n(?=[^\W\d_A-Z])", re.MULTILINE)
_FIRST_HEADING = re.compile(r"\A(?:(?!#)[^\n]*\n)*#[ \t]+([^\n]+)")
_SEVERAL_WORDS = re.compile(r"[^\W\d_]{2,}[\W_]+[^\W\d_]+")
_TEMPLATE, _ENDED, _WEB = "a template", "it says that it is over", "a page of others, saved from the web"
_DIARY = "a diary or minutes: only what is marked as a decision is kept"
_UNWRITTEN = "its decision or its steps are still to be written"
_POINTER = "only a link to another text"
_LONG = "a long text rather than notes; to import it, name it"
# Types and tags of notes that hold no memory.
_ABOUT_NOTES = frozenset(["index", "moc", "schema", "template", "toc"])
_BOUND = ("globs", "paths", "applyto", "filematchpattern")
_OF_RULES = frozenset([*_BOUND, "alwaysapply", "trigger", "inclusion"])  # fields of rule files, not of notes
_EVERYTHING = ("**", "*", "**/*", "")
_MAX_FILES = 12  # of a memory
_MAX_OF_FILE, _MAX_SECTIONS = 40, 15  # of one document that nobody named
_NEAR = 3  # folders above a file whose names say what it is
_LINKS, _FEW = ("](", "[[", "http"), 4  # words
_TO_FOLLOW = re.compile(r"^\s*(?:\d{1,3}[.)]|[-*+])\s", re.MULTILINE)  # a list
_CODE_SPAN = re.compile(r"`([^`\s]+)`")
_PATH = re.compile(r"(?![/@~]|\w+:)(?:[\w.*{},@+\[\]-]+/)+(?:[\w.*{},@+\[\]-]+\.\w{1,5}|\*+)?\Z")
INDEX = "an index, a history or a list of things to do, not a note"


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

    `category` is that of entries that name none, `root` the project's folder, and `is_folder` says that nobody named the files themselves.
    """

    drafts: list[Draft]
    problems: list[tuple[str, str]]
    left_out: list[tuple[str, str]]
    category: str = ""
    root: str = ""
    is_folder: bool = False


class Entry(NamedTuple):
    """What may become a memory: fields under any common names, the category if these name none, and what is known of a record."""

    source: str
    item: object
    category: str = ""
    more: dict[str, str] | None = None
    over: str = ""
    names: frozenset[str] = frozenset()
    replaces: tuple[str, ...] = ()


class LeftOut(Exception):
    """Raised for a file that is not meant to become a memory; the text says why."""


def document_entries(path: str, text: str, reading: Reading) -> Iterator[Entry]:
    """Yield the entries of a Markdown file: its records and runbooks and the rules next to them, or the note that it is.

    Raises LeftOut for a file that is no note of the project.
    """
    document = _document(path, text)
    fields, title, is_diary = document.fields, document.title, document.is_diary
    parts = sections(document.text)
    if document.runbook and ANSWERS.isdisjoint(_roles(parts)):  # what to check is all that there is to do
        parts = [p._replace(heading=_STEPS) if p.heading.lower() == "diagnosis" else p for p in parts]
    records, others = records_in(parts, title)
    has_steps = any(form("step").match(part.heading) for part in parts if not part.above)
    is_one = is_one_record(document.stem, title, records) or (has_steps and bool(document.runbook))
    if is_one:
        records, others = records[:1], []  # what else it says are details
    # A text above records is about the document.
    others = [part for part in others if not records or part.heading not in ("", title)]
    if reason := _why_left_out(document, _roles(parts), is_one=is_one, has_records=bool(records)):
        raise LeftOut(reason)
    yield from (_of_record(document, found) for found in records)
    is_note = fields and not is_diary and _OF_RULES.isdisjoint(fields) and not path.endswith(".mdc")
    if records or not (is_one or is_note):
        yield from _rules(document, others, reading, has_records=bool(records))
        return
    item = note_item(fields, document.text, document.stem)
    kind = reading.category or ("runbook" if document.runbook else "")
    over = no_longer_holds(str(fields.get("status", "")), fields)
    yield Entry(path, item, "" if "type" in item or "kind" in item else kind, over=over)


def _rules(
    document: _Document, parts: list[Section], reading: Reading, *, has_records: bool
) -> Iterator[Entry]:
    """Yield the rules in the sections that hold no record. Raises LeftOut for a document that nobody wrote to be kept."""
    path, runbook, is_diary = document.path, document.runbook, document.is_diary
    parts = [piece for part in parts for piece in _decided(part)] if is_diary else parts
    rules = [(part, rule) for part in parts for rule in markdown.statements_in(part, runbook)]
    if not has_records and is_diary and not rules:
        raise LeftOut(_DIARY)
    is_of_agents = path.endswith(".mdc") or markdown.is_named(path, "instructions")
    is_long = len(rules) > _MAX_OF_FILE or len(parts) > _MAX_SECTIONS
    is_wanted = has_records or runbook or is_of_agents or form("rules").search(document.names)
    if is_long and reading.is_folder and not is_wanted:
        raise LeftOut(_LONG)
    bound = _bound_to(path, document.fields, reading) if rules else []
    lead = "" if runbook or is_diary or form("document").search(document.title) else document.title
    for section, rule in rules:
        has_steps = runbook and _TO_FOLLOW.search(rule.text)
        kind = reading.category or ("runbook" if has_steps else markdown.statement_category(rule.text))
        yield Entry("%s:%d" % (path, rule.line), _rule_item(rule, section, lead, bound), kind)


class _Document(NamedTuple):
    """A Markdown file: the fields at its head, its text without them, and what its names say.

    `names` are its title, its own and those of the folders above it, one a line; `runbook` is its title if one of them says that it is a
    runbook. Of a diary or the minutes of a meeting, only marked decisions are kept.
    """

    path: str
    stem: str
    fields: Fields
    text: str
    title: str
    names: str
    runbook: str
    is_diary: bool


def _document(path: str, text: str) -> _Document:
    fields, text = markdown.front_matter(text)
    if "category" in fields:  # other tools have categories of their own: an unknown one is no error here
        fields["kind"] = fields.pop("category")
    *folders, name = path.split(os.sep)
    stem, text = os.path.splitext(name)[0], form("unwritten").sub("", markdown.visible_text(text))
    title = markdown.document_title(text, stem)
    names = "\n".join([title, stem, *folders[-_NEAR:]])
    runbook = without_markdown(title) if form("runbook").search(names) else ""
    is_diary = any(map(form("diary").fullmatch, [*folders[-1:], stem, *texts_in(fields.get("tags"))]))
    return _Document(path, stem, fields, text, title, names, runbook, is_diary)


def _why_left_out(document: _Document, roles: set[str], *, is_one: bool, has_records: bool) -> str:
    """Return why a file is no note of the project: a template, an index, a page saved from the web, rules that are over; else empty.

    `roles` are the fields of records that have a text, and `is_one` says that the document is one record.
    """
    fields, title, text = document.fields, document.title, document.text
    if any(map(form("template").fullmatch, os.path.split(document.path))) or form("blank").match(title):
        return _TEMPLATE
    if not _ABOUT_NOTES.isdisjoint([str(fields.get("type")), *texts_in(fields.get("tags"))]):
        return INDEX
    is_linked = any("http" in str(fields.get(name))[:9] for name in ("source", "url", "link"))
    if is_linked and ("clippings" in texts_in(fields.get("tags")) or "published" in fields):
        return _WEB
    if fields and not has_records and markdown.content(text) < _FEW and any(mark in text for mark in _LINKS):
        return _POINTER
    first = re.sub(r"\A\s*#[^\n]*\s*", "", text)
    said = (title, str(fields.get("description", "")), first if first[:1] in ">*_!" else "")
    is_over = any(map(form("ended").search, said)) or fields.get("deprecated") == "true"
    if is_over and not has_records:
        return _ENDED
    is_record = is_one or document.runbook or _STATUS in roles
    is_unwritten = ANSWERS.isdisjoint(roles) and ANSWERS.intersection(_roles(markdown.headings(text)))
    return _UNWRITTEN if is_record and is_unwritten else ""


def _of_record(document: _Document, record: DecisionRecord) -> Entry:
    """Return a record or runbook as an entry, whose phrases are its symptoms and questions, with its other texts by field."""
    fields, texts = document.fields, dict(record.fields)
    replaces = tuple(replaced_names(texts, fields))
    if _STATUS in fields:
        texts[_STATUS] = str(fields[_STATUS])
    symptoms = (without_markdown(line).strip("\"' ") for line in texts.get("symptoms", "").splitlines())
    dated = form("dated").search(texts.get(_NOTES, ""))
    item: dict[str, object] = {
        "asked_as": markdown.phrases([*symptoms, *markdown.questions(texts.get(CONTEXT, ""))]),
        **({"date": dated[1]} if dated else {}),
        **{name: value for name, value in fields.items() if name != "supersedes"},
        "title": form("day").sub("", str(fields.get("title") or record.title)),
        "body": texts.pop(ANSWER),
    }
    texts[_NOTES] = form("head_line").sub("", texts.get(_NOTES, ""))
    over = no_longer_holds(texts.get(_STATUS, "").strip(), fields)
    more = {name: text.strip() for name, text in texts.items() if text.strip()}
    numbers = map(form("numbered").match, (document.stem, document.title))
    names = [document.path, document.stem, *(number[1].lstrip("0") for number in numbers if number)]
    at = "%s:%d" % (document.path, record.line)
    return Entry(at, item, record.category, more, over, frozenset(names), replaces)


def _decided(part: Section) -> Iterator[Section]:
    """Yield what a section of minutes or of a diary marks as decided: its first paragraph, or what follows "decided:"."""
    part, is_answer = part._replace(heading="", above=""), role_of(part.heading) == ANSWER
    if is_answer:
        yield part._replace(text=part.text.partition("\n\n")[0])
    for mark in () if is_answer else form("decided").finditer(part.text):
        yield part._replace(text=mark[1], first=part.first + part.text.count("\n", 0, mark.start(1)))


def _bound_to(path: str, fields: Fields, reading: Reading) -> list[str]:
    """Return the patterns of the files to which a rule file applies, else the subfolder that it is for; empty for all files.

    What no pattern can say is named.
    """
    bound = [name for field in _BOUND for name in texts_in(fields.get(field))]
    problems = {name: files_problem(name) for name in bound}
    reading.left_out.extend((path, "%s is not kept: %s" % pair) for pair in problems.items() if pair[1])
    kept = [name for name in bound if name not in _EVERYTHING and not problems[name]]
    parts = os.path.relpath(os.path.dirname(path), reading.root).split(os.sep) if reading.root else ["."]
    folders = list(takewhile(lambda name: not markdown.is_named(name, "rule_folders"), parts))
    is_own = folders != parts or markdown.is_named(path, "instructions")
    is_below = is_own and folders and not folders[0].startswith(".")
    return kept[:_MAX_FILES] or (["/".join(folders) + "/"] if is_below else [])


def _rule_item(rule: Statement, section: Section, lead: str, bound: list[str]) -> dict[str, object]:
    """Return a rule as an entry, with the files that it or its document is about; `lead` is the document's title."""
    # A heading of one or two words says nothing without its document.
    is_bare = lead and rule.title == section.heading and not rule.title.split()[2:]
    spans = _CODE_SPAN.findall("%s %s" % (section.heading, rule.text))
    named = (span for span in spans if _PATH.match(span) and not files_problem(span))
    headings = (without_markdown(heading).lower() for heading in (section.above, section.heading))
    return {
        "title": markdown.title_for("%s: %s" % (lead, rule.title)) if is_bare else rule.title,
        "body": rule.text,
        CONTEXT: rule.context,
        "files": list(dict.fromkeys([*bound, *named]))[:_MAX_FILES],
        "tags": [re.sub(r"[^\w]+", "-", said).strip("-") for said in headings if 0 < len(said.split()) <= 2],
        "asked_as": markdown.questions(section.heading),
    }


def _roles(parts: list[Section]) -> set[str]:
    """Return the fields that these sections name."""
    return {role_of(part.heading) or role_of(part.above) for part in parts} - {""}


class DecisionRecord(NamedTuple):
    """A decision record or runbook: its texts by field (`answer` is the category's main field), and its line."""

    title: str
    category: str
    fields: dict[str, str]
    line: int


def records_in(parts: list[Section], title: str) -> tuple[list[DecisionRecord], list[Section]]:
    """Return the decision records and runbooks of a document, and its other sections: the whole document is one, or what a heading holds.

    A record has an answer and another field, and no heading twice. The names of fields, as headings or in bold before a paragraph, are
    `roles` in `config/memories/importing.json`; `title` is the document's.
    """
    pieces = [piece for part in parts for piece in markdown.named_paragraphs(part)]
    owners = {part.above for part in pieces if role_of(part.heading) and not role_of(part.above)}
    owners |= {part.heading for part in pieces if _status_in(part)}

    def owner_of(part: Section) -> str:
        return next((name for name in (part.above, part.heading) if name in owners), "")

    groups: dict[str, list[Section]] = {}
    for piece in pieces:
        groups.setdefault(owner_of(piece), []).append(piece)
    records = {owner: _record(owner or title, group) for owner, group in groups.items()}
    return list(filter(None, records.values())), [part for part in parts if records[owner_of(part)] is None]


def _status_in(part: Section) -> str:
    """Return the status in a line of the text below a heading that names no field, as in a record's head or an entry of a log."""
    found = [] if role_of(part.heading) else form("status_line").findall(markdown.FENCED.sub("", part.text))
    return "\n".join(line.strip(" |") for line in found)


def _record(title: str, parts: list[Section]) -> DecisionRecord | None:
    names = [part.heading.lower() for part in parts if role_of(part.heading)]
    roles = _roles(parts)
    status = next(filter(None, map(_status_in, parts)), "")
    text = form("head_line").sub("", parts[0].text).strip()
    if form("structure").match(title):
        return None
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
    title = markdown.title_for(form("number").sub("", title))
    title = title if " " in title else title.replace("-", " ")
    words = re.findall(r"[^\W\d_]+", title)
    named = title if words and not title.isupper() else ""  # not only a number, or "ADR 7"
    return title if words[1:] else markdown.title_for(markdown.with_lead(named, answer))


def is_one_record(stem: str, title: str, records: list[DecisionRecord]) -> bool:
    """Return whether a document is one decision as a whole: numbered as a record, or with a status of its own."""
    own, forms = records[:1], map(form, ("called_record", "counted"))
    is_called, is_counted = (any(map(one.match, (stem, title))) for one in forms)
    is_whole = any(_STATUS in one.fields and one.title == _title(title, one.fields[ANSWER]) for one in own)
    return is_called or is_whole or (is_counted and bool(own))


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
    if heading and titles[:1] == [headed]:  # it is not said twice
        text = text.replace(heading[0].rpartition("\n")[2], "", 1)
    asked = [said for section in sections(text) for said in markdown.questions(section.heading)]
    kind = re.search(r"^type:[ \t]*(\w+)", str(fields.get("metadata", "")), re.MULTILINE)
    return {
        **({"type": kind[1]} if kind else {}),
        "asked_as": asked,
        **fields,
        "title": markdown.title_for(title),
        "body": "\n\n".join(filter(None, (described, text.strip()))),
    }


def no_longer_holds(status: str, fields: Fields) -> str:
    """Return why a record is not in force: how a statement of its status begins, or that it is only proposed; empty for one that holds."""
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
