"""Read a Markdown document as entries: decision records and runbooks, a note with fields at its head, or rules in lists.

Of records and notes: their titles and fields, what they replace, and whether they still hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, takewhile
from typing import Any, NamedTuple

from . import markdown
from .guard_file import files_problem
from .markdown import ANSWERS, Fields, Section, form, is_named, role_of, sections, texts_in, without_markdown
from .record import CONTEXT

ANSWER, _NOTES, _STATUS, _STEPS = "answer", "notes", "status", "steps"
_RUNBOOK_FIELDS = frozenset([_STEPS, "symptoms", "root_cause"])
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
# A line goes on with prose that was wrapped: after three words and more, with a small letter.
_WRAPPED = re.compile(r"^([ \t]*(?:\S+[ \t]+){3,}\S*[^\s.:;])\n(?=[^\W\d_A-Z])", re.MULTILINE)
_FIRST_HEADING = re.compile(r"\A(?:(?!#)[^\n]*\n)*#[ \t]+([^\n]+)")
_NUMBER = re.compile(r"(?i)\A(?:(?:adr|madr|rfc)(?=[-_ \d]))?[-_ \d]*")  # before a name
_HEAD = re.compile(r"\A\s*#[ \t][^\n]*\s*")
_TEMPLATE, _ENDED, _WEB = "a template", "it says that it is over", "a page of others, saved from the web"
_DIARY = "a diary or minutes: only what is marked as a decision is kept"
_UNWRITTEN = "its decision or its steps are still to be written"
_POINTER = "only a link to another text"
_UNSAID = "list items that state nothing: code, paths or links alone, things to do"
_LONG = "a long text rather than notes; to import it, name it"
# Types and tags of notes that hold no memory.
_ABOUT_NOTES = frozenset(["index", "moc", "schema", "template", "toc"])
_BOUND = ("globs", "paths", "applyto", "filematchpattern")
_OF_RULES = frozenset([*_BOUND, "alwaysapply", "trigger", "inclusion"])  # fields of rule files, not of notes
_EVERYTHING = ("**", "*", "**/*", "")
_MAX_FILES = 12  # of a memory
_MAX_OF_FILE, _MAX_SECTIONS, _MAX_WORDS = 40, 15, 2000  # of one document that nobody named
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
    fields, parts = document.fields, sections(document.text)
    if document.runbook and ANSWERS.isdisjoint(_roles(parts)):  # what to check is all that there is to do
        parts = [one._replace(heading=_STEPS) if one.heading.lower() == "diagnosis" else one for one in parts]
    records, others = _records(document, parts)
    has_steps = any(form("step").match(part.heading) for part in parts if not part.above)
    is_one = _is_one_record(document, records) or (has_steps and bool(document.runbook))
    if is_one:
        records, others = records[:1], []  # what else it says are details
    # A text above records is about the document.
    others = [part for part in others if not records or part.heading not in ("", document.heading)]
    if reason := _why_left_out(document, _roles(parts), is_one=is_one, has_records=bool(records)):
        raise LeftOut(reason)
    is_note = fields and not document.is_diary and _OF_RULES.isdisjoint(fields) and not path.endswith(".mdc")
    yield from records
    if records or not (is_one or is_note):
        yield from _rules(document, others, reading, alone=not records)
        return
    text = _HEAD.sub("", document.text) if document.heading in ("", document.title) else document.text
    text = "\n\n".join(filter(None, (str(fields.get("description", "")), text.strip())))
    yield from _entries(document, "", {_STEPS if document.runbook else ANSWER: text}, 1)


def _rules(document: _Document, parts: list[Section], reading: Reading, *, alone: bool) -> Iterator[Entry]:
    """Yield the rules in the sections that hold no record. Raises LeftOut for a document that nobody wrote to be kept."""
    path, runbook, is_diary = document.path, document.runbook, document.is_diary
    parts = [piece for part in parts for piece in _decided(part)] if is_diary else parts
    unsaid: list[int] = []
    rules = [(part, rule) for part in parts for rule in markdown.statements_in(part, runbook, unsaid)]
    if is_diary and alone and not rules:
        raise LeftOut(_DIARY)
    is_of_agents = path.endswith(".mdc") or is_named(path, "instructions") or is_named(path, "rules")
    is_long = len(rules) > _MAX_OF_FILE or len(parts) > _MAX_SECTIONS
    is_long |= len(document.text.split()) > _MAX_WORDS
    is_wanted = runbook or is_of_agents or form("rules").search(document.names)
    if is_long and reading.is_folder and not is_wanted:
        raise LeftOut(_LONG)
    reading.left_out.extend(("%s:%d" % (path, line), _UNSAID) for line in unsaid)
    bound = _bound_to(path, document.fields, reading) if rules else []
    lead = "" if runbook or is_diary or form("document").search(document.title) else document.title
    for section, rule in rules:
        has_steps = runbook and _TO_FOLLOW.search(rule.text)
        kind = "runbook" if has_steps else markdown.statement_category(rule.text)
        yield Entry("%s:%d" % (path, rule.line), _rule_item(rule, section, lead, bound), kind)


class _Document(NamedTuple):
    """A Markdown file: the fields at its head, its text without them, and what its names say.

    Its title is that of its fields or its first heading, else the name of its file; one such as `feedback_tests` is only a file's. `names`
    are its title, its own and those of the folders above it, one a line; `runbook` is its title if one of them says that it is a runbook.
    Of a diary or the minutes of a meeting, only marked decisions are kept.
    """

    path: str
    stem: str
    fields: Fields
    text: str
    heading: str
    title: str
    names: str
    runbook: str
    is_diary: bool


@cache
def _code_or_unwritten() -> re.Pattern[str]:
    unwritten = form("unwritten")
    return re.compile("%s|%s" % (markdown.FENCED.pattern, unwritten.pattern), unwritten.flags)


def _written(text: str) -> str:
    """Return a text without what is still to be written; code keeps its lines in brackets, such as attributes."""
    return _code_or_unwritten().sub(lambda part: part[0] if part[1] else "", text)


def _document(path: str, text: str) -> _Document:
    fields, text = markdown.front_matter(text)
    *folders, name = path.split(os.sep)
    stem, text = os.path.splitext(name)[0], _written(markdown.visible_text(text))
    headed = _FIRST_HEADING.match(text)
    heading = headed[1].strip(" #") if headed and not role_of(headed[1]) else ""
    if form("blank").match(heading) and re.search("[1-9]", stem):  # nobody filled in the title of a record
        heading = ""
    title, name, described = (str(fields.get(field, "")) for field in ("title", "name", "description"))
    said = [
        one for one in (title, name, heading, described) if one and (" " in one or not re.search("[_-]", one))
    ]
    title = said[0] if said else re.sub(r"[-_]", " ", _NUMBER.sub("", stem) or stem)
    names = "\n".join([title, stem, *folders[-_NEAR:]])
    runbook = without_markdown(title) if form("runbook").search(names) else ""
    is_diary = any(map(form("diary").fullmatch, [*folders[-1:], stem, *texts_in(fields.get("tags"))]))
    return _Document(path, stem, fields, text, heading, title, names, runbook, is_diary)


def _why_left_out(document: _Document, roles: set[str], *, is_one: bool, has_records: bool) -> str:
    """Return why a file is no note of the project: a template, an index, a page saved from the web, rules that are over; else empty.

    `roles` are the fields of records that have a text, and `is_one` says that the document is one record.
    """
    fields, title, text = document.fields, document.title, document.text
    tags, first = texts_in(fields.get("tags")), _HEAD.sub("", text)
    is_linked = any("http" in str(fields.get(name))[:9] for name in ("source", "url", "link"))
    is_short = bool(fields) and markdown.content(text) < _FEW
    said = (title, str(fields.get("description", "")), first if first[:1] in ">*_!" else "")
    is_over = any(map(form("ended").search, said)) or fields.get("deprecated") == "true"
    is_record = is_one or document.runbook or _STATUS in roles
    asks = is_record and ANSWERS.isdisjoint(roles)
    names = os.path.split(document.path)
    reasons = {
        _TEMPLATE: any(map(form("template").fullmatch, names)) or form("blank").match(title),
        INDEX: not _ABOUT_NOTES.isdisjoint([str(fields.get("type")), *tags]),
        _WEB: is_linked and ("clippings" in tags or "published" in fields),
        _POINTER: is_short and not has_records and any(mark in text for mark in _LINKS),
        _ENDED: is_over and not has_records,
        _UNWRITTEN: asks and ANSWERS.intersection(_roles(markdown.headings(text))),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


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
    folders = list(takewhile(lambda name: not is_named(name, "rule_folders"), parts))
    is_own = folders != parts or is_named(path, "instructions")
    is_below = is_own and folders and not folders[0].startswith(".")
    return kept[:_MAX_FILES] or (["/".join(folders) + "/"] if is_below else [])


def _rule_item(rule: markdown.Statement, section: Section, lead: str, bound: list[str]) -> dict[str, object]:
    """Return a rule as an entry, with the files that it or its document is about; `lead` is the document's title."""
    # A heading of one or two words says nothing without its document.
    is_bare = lead and rule.title == section.heading and not rule.title.split()[2:]
    title = markdown.title_for("%s: %s" % (lead, rule.title)) if is_bare else rule.title
    package = bound[0][:-1].rpartition("/")[2] if bound and bound[0].endswith("/") else ""
    if package.lower() not in ("%s %s" % (title, rule.text)).lower():
        title = markdown.title_for(markdown.with_lead(package, title))
    spans = _CODE_SPAN.findall("%s %s" % (section.heading, rule.text))
    named = (span for span in spans if _PATH.match(span) and not files_problem(span))
    headings = (without_markdown(heading).lower() for heading in (section.above, section.heading))
    return {
        "title": title,
        "body": rule.text,
        CONTEXT: rule.context,
        "files": list(dict.fromkeys([*bound, *named]))[:_MAX_FILES],
        "tags": [re.sub(r"[^\w]+", "-", said).strip("-") for said in headings if 0 < len(said.split()) <= 2],
        "asked_as": markdown.questions(section.heading),
    }


def _roles(parts: list[Section]) -> set[str]:
    """Return the fields that these sections name."""
    return {role_of(part.heading) or role_of(part.above) for part in parts} - {""}


def _records(document: _Document, parts: list[Section]) -> tuple[list[Entry], list[Section]]:
    """Return the decision records and runbooks of a document, and its other sections: the whole document is one, or what a heading holds.

    A record has an answer and another field, and no heading twice. The names of fields, as headings or in bold before a paragraph, are
    `roles` in `config/memories/importing.json`.
    """
    pieces = [piece for part in parts for piece in markdown.named_paragraphs(part)]
    owners = {part.above for part in pieces if role_of(part.heading) and not role_of(part.above)}
    owners |= {part.heading for part in pieces if _status_in(part)}

    def owner_of(part: Section) -> str:
        return next((name for name in (part.above, part.heading) if name in owners), "")

    groups: dict[str, list[Section]] = {}
    for piece in pieces:
        groups.setdefault(owner_of(piece), []).append(piece)
    records = {owner: list(_record(document, owner, group)) for owner, group in groups.items()}
    others = [part for part in parts if not records[owner_of(part)]]
    return list(chain.from_iterable(records.values())), others


def _status_in(part: Section) -> str:
    """Return the status in a line of the text below a heading that names no field, as in a record's head or an entry of a log."""
    found = [] if role_of(part.heading) else form("status_line").findall(markdown.FENCED.sub("", part.text))
    return "\n".join(line.strip(" |") for line in found)


def _record(document: _Document, owner: str, parts: list[Section]) -> Iterator[Entry]:
    """Yield the record or runbook in these sections, if they are one."""
    roles, title = _roles(parts), owner or document.heading
    names = [part.heading.lower() for part in parts if role_of(part.heading)]
    status = next(filter(None, map(_status_in, parts)), "")
    # An entry in a log of decisions has only a status.
    is_logged = bool(status and parts[0].heading) and not roles and len(parts) == 1
    roles |= {_STATUS} if status else set()
    has_context = {_STATUS, CONTEXT} <= roles and (form("number").match(title) or "consequences" in roles)
    answer = _NOTES if is_logged else CONTEXT if has_context and ANSWER not in roles else ANSWER
    lacks_answer = roles.isdisjoint((answer, _STEPS)) or roles <= {ANSWER, _STEPS}
    if form("structure").match(title) or len(names) != len(set(names)) or (lacks_answer and not is_logged):
        return
    texts: dict[str, str] = {_STATUS: status} if status and _STATUS not in map(role_of, names) else {}
    for part in parts:
        role = role_of(part.heading)
        is_named = role in texts or not (role or part.heading in ("", title))
        said = "%s: %s" % (part.heading, part.text) if is_named else part.text
        role = role or role_of(part.above) or _NOTES
        texts[role] = "\n\n".join(filter(None, (texts.get(role), said)))
    yield from _entries(document, owner, texts, parts[0].line, answer)


def _entries(
    document: _Document, owner: str, texts: dict[str, str], line: int, answer: str = ANSWER
) -> Iterator[Entry]:
    """Yield a record, a runbook or a note, with its symptoms and questions as phrases, unless it is empty; `texts` are those by field."""
    fields, head, is_own = document.fields, texts.get(_NOTES, ""), owner in ("", document.heading)
    title = document.title if is_own else owner
    is_note = len(texts) == 1
    is_given = title in (fields.get("title"), fields.get("name"), document.heading if is_note else None)
    texts[_NOTES] = form("head_line").sub("", head)
    category = "decision" if _RUNBOOK_FIELDS.isdisjoint(texts) else "runbook"
    if not (body := "\n".join(filter(None, (texts.pop(answer, ""), texts.pop(_STEPS, "")))).strip()):
        return
    replaces = tuple(_replaced_names("%s\n%s" % (texts.get(_STATUS, ""), head), fields))
    texts.update({_STATUS: str(fields[_STATUS])} if _STATUS in fields else {})
    symptoms = (without_markdown(said).strip("\"' ") for said in texts.get("symptoms", "").splitlines())
    asked = "\n".join([texts.get(CONTEXT, ""), *(part.heading for part in sections(document.text))])
    dated = form("dated").search(head)
    kind = re.search(r"^type:[ \t]*(\w+)", str(fields.get("metadata", "")), re.MULTILINE)
    item: dict[str, object] = {
        "asked_as": markdown.phrases([*symptoms, *markdown.questions(asked)]),
        **({"date": dated[1]} if dated else {}),
        **({"type": kind[1]} if kind else {}),
        **{name: value for name, value in fields.items() if name != "supersedes"},
        "title": _title(title, "" if is_given else body) or title,
        "body": body,
    }
    over = _no_longer_holds(texts.get(_STATUS, "").strip(), fields)
    numbers = map(form("numbered").match, (document.stem, document.heading))
    names = [document.path, document.stem, *(one[1].lstrip("0") for one in numbers if one)]
    more = {name: text.strip() for name, text in texts.items() if text.strip()}
    at = "%s:%d" % (document.path, line)
    yield Entry(at, item, category, more, over, frozenset(names if is_own else ()), replaces)


def _title(title: str, answer: str) -> str:
    """Return the title of a record or note without its number; a single word is followed by the answer, unless that has it."""
    title = markdown.title_for(form("number").sub("", form("day").sub("", title)))
    title = title if " " in title else title.replace("-", " ")
    words = re.findall(r"[^\W\d_]+", title)
    said, is_name = markdown.title_for(answer), words and not title.isupper()  # not only a number, or "ADR 7"
    named = title if is_name and title.lower() not in said.lower().split() else ""
    return title if words[1:] else markdown.title_for(markdown.with_lead(named, said))


def _is_one_record(document: _Document, records: list[Entry]) -> bool:
    """Return whether a document is one decision as a whole: numbered as a record, or with a status of its own."""
    said = (document.stem, document.heading)
    is_called = any(map(form("called_record").match, said))
    is_counted = bool(records) and any(map(form("counted").match, said))
    return is_called or is_counted or any(one.names and _STATUS in (one.more or {}) for one in records[:1])


def _no_longer_holds(status: str, fields: Fields) -> str:
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


def _replaced_names(text: str, fields: Fields) -> Iterator[str]:
    """Yield what a record says that it replaces: numbers without leading zeros, or paths and names as they are linked."""
    found = [groups for said in form("replaces").findall(text) for groups in form("target").findall(said)]
    for value in (fields.get(name, "") for name in ("supersedes", "replaces", "obsoletes")):
        for said in [value] if isinstance(value, str) else value:
            found += form("target").findall(said) or re.findall(r"()(\d{1,5})", said)
    for name in map("".join, found):
        yield name.lstrip("0") if name.isdigit() else name
