"""Read a Markdown document as entries: records and runbooks with what they say of themselves, a note, or rules in lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import markdown
from .guard_file import files_problem
from .import_facts import below, is_record, package_of, relations, status_in, title_of, why_over, with_options
from .markdown import ANSWERS, Fields, Section, form, role_of, texts_in, without_markdown
from .record import CONTEXT, DEFAULT_CATEGORY

ANSWER, _NOTES, _STATUS, _STEPS, _CAUSE = "answer", "notes", "status", "steps", "root_cause"
_PROPOSAL, _DECIDED = "proposal", "decided"  # a proposal is an answer where nothing was decided
_RUNBOOK_FIELDS = frozenset([_STEPS, "symptoms", _CAUSE])
_NAME = re.compile(r"[-_]")  # of a file, unless there are spaces
_HEAD = re.compile(r"\A\s*#[ \t][^\n]*\s*")
_TEMPLATE, _ENDED, _WEB = "a template", "it says that it is over", "a page of others, saved from the web"
_DIARY = "a diary or minutes: only what is marked as a decision is kept"
_UNWRITTEN = "its decision or its steps are still to be written"
_POINTER = "only a link to another text"
_UNSAID = "states nothing: code, paths or links alone, an example, status or things to do"
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
    """What may become a memory: fields under any names, the category if these name none, and what is known of a record."""

    source: str
    item: object
    category: str = ""
    more: dict[str, str] | None = None
    names: frozenset[str] = frozenset()
    head: str = ""


class LeftOut(Exception):
    """Raised for a file that is not meant to become a memory; the text says why."""


def document_entries(path: str, text: str, reading: Reading) -> Iterator[Entry]:
    """Yield the entries of a Markdown file: records, runbooks and the rules next to them, or the note that it is. Raises LeftOut."""
    document = _document(path, text, reading.root)
    parts = [piece for part in document.parts if part.text for piece in markdown.named_paragraphs(part)]
    records, others = _records(document, parts)
    if reason := _why_left_out(document, parts, has_records=bool(records)):
        raise LeftOut(reason)
    yield from records
    in_steps = document.is_runbook and any(form("step").match(part.heading) for part in parts)
    is_note = document.fields and not (document.is_diary or document.is_rules)
    if records or not (document.is_record or in_steps or is_note):
        yield from _rules(document, others, reading, alone=not records)
        return
    is_named = document.is_runbook or document.heading in ("", document.title)
    text = form("until_nothing").sub(
        r"\1", (_HEAD.sub("", document.text) if is_named else document.text).strip()
    )
    text = "\n\n".join(filter(None, (str(document.fields.get("description", "")), text)))
    told = "\n".join(part.text for part in parts if role_of(part.heading) == _STATUS)
    said = {_STATUS: told or status_in(text)} if document.is_record else {}
    said[_STEPS if document.is_runbook else ANSWER] = form("head_line").sub("", text) if said else text
    yield from _entries(document, (), said, 1)


def _rules(document: _Document, parts: list[Section], reading: Reading, *, alone: bool) -> Iterator[Entry]:
    """Yield the rules in the sections that hold no record. Raises LeftOut for a document that nobody wrote to be kept."""
    path, is_runbook = document.path, document.is_runbook
    parts = [piece for part in parts for piece in _decided(part)] if document.is_diary else parts
    unsaid: list[int] = []
    rules = [(part, rule) for part in parts for rule in markdown.statements_in(part, unsaid, is_runbook)]
    if document.is_diary and alone and not rules:
        raise LeftOut(_DIARY)
    is_long = len(rules) > _MAX_OF_FILE or len(parts) > _MAX_SECTIONS
    is_long |= len(document.text.split()) > _MAX_WORDS
    if is_long and reading.is_folder and not (is_runbook or document.is_guide):
        raise LeftOut(_LONG if alone else "apart from its records " + _LONG)
    reading.left_out.extend(("%s:%d" % (path, line), _UNSAID) for line in unsaid)
    bound = _bound_to(document, reading) if rules else []
    for section, rule in rules:
        has_steps = (is_runbook or role_of(section.heading) == _STEPS) and form("list").search(rule.text)
        kind = "runbook" if has_steps else markdown.statement_category(rule.text)
        yield Entry("%s:%d" % (path, rule.line), _rule_item(document, rule, section, bound, kind), kind)


class _Document(NamedTuple):
    """A Markdown file: the fields at its head, its text without them, and what its names say.

    Its title is that of its fields or its first heading, else its file's.
    """

    path: str
    stem: str
    fields: Fields
    text: str
    parts: list[Section]
    heading: str
    title: str
    is_runbook: bool
    is_rules: bool
    is_record: bool
    is_guide: bool
    is_diary: bool


def _document(path: str, text: str, root: str) -> _Document:
    fields, text = markdown.front_matter(text)
    *folders, name = path.split(os.sep)
    stem, text = os.path.splitext(name)[0], markdown.visible_text(text)
    headed = form("first_heading").match(text)
    heading = headed[1].strip(" #") if headed and not role_of(headed[1]) else ""
    if form("blank").match(heading) and re.search("[1-9]", stem):  # nobody filled in the title of a record
        heading = ""
    title, label, about = (str(fields.get(field, "")) for field in ("title", "name", "description"))
    of_file = stem if " " in stem else _NAME.sub(" ", form("before_name").sub("", stem) or stem)
    said = (one for one in (title, label, heading, about) if " " in one or (one and not _NAME.search(one)))
    title = next(said, of_file)
    names = "\n".join([title, stem, *folders[-_NEAR:]])
    is_rules = package_of(path, root) is not None or name.endswith(".mdc") or not _OF_RULES.isdisjoint(fields)
    is_runbook = bool(form("runbook").search(names))
    is_called = any(map(form("called_record").match, (stem, "/".join([*folders[-1:], stem]))))
    is_one = is_called or (not is_rules and is_record(heading, text, is_runbook))
    return _Document(
        path, stem, fields, text, markdown.headings(text, is_one), heading, title,
        is_runbook, is_rules, is_one,
        is_guide=is_rules or bool(form("rules").search(names)),
        is_diary=any(map(form("diary").fullmatch, [*folders[-1:], stem, *texts_in(fields.get("tags"))])),
    )  # fmt: skip


def _why_left_out(document: _Document, parts: list[Section], *, has_records: bool) -> str:
    """Return why a file is no note of the project: a template, an index, a page saved from the web, rules that are over; else empty."""
    fields, title, text = document.fields, document.title, document.text
    tags, first = texts_in(fields.get("tags")), _HEAD.sub("", text)
    is_linked = any("http" in str(fields.get(name))[:9] for name in ("source", "url", "link"))
    is_short = bool(fields) and markdown.content(text) < _FEW
    said = (title, str(fields.get("description", "")), first if first[:1] in ">*_!" else "")
    is_over = any(map(form("ended").search, said)) or fields.get("deprecated") == "true"
    named, filled = _roles(document.parts), _roles(parts)
    is_record = document.is_record or document.is_runbook or _STATUS in filled
    is_index = form("index_name").fullmatch(document.stem) and not form("in_steps").search(text)
    asks = is_record and filled.isdisjoint([*ANSWERS, *([_CAUSE] if document.is_runbook else [])])
    names = os.path.split(document.path)
    reasons = {
        _TEMPLATE: any(map(form("template").fullmatch, names)) or form("blank").match(title),
        INDEX: is_index or not _ABOUT_NOTES.isdisjoint([str(fields.get("type")), *tags]),
        _WEB: is_linked and ("clippings" in tags or "published" in fields),
        _POINTER: is_short and not has_records and any(mark in text for mark in _LINKS),
        _ENDED: is_over and not has_records,
        _UNWRITTEN: asks and not ANSWERS.isdisjoint(named),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _decided(part: Section) -> Iterator[Section]:
    """Yield what a section of minutes or of a diary marks as decided: its first paragraph, or what follows "decided:"."""
    pattern = form("first_paragraph") if role_of(part.heading) == ANSWER else form("decided")
    for mark in pattern.finditer(part.text):
        first = part.first + part.text.count("\n", 0, mark.start(1))
        yield part._replace(heading="", path=(), text=mark[1], first=first)


def _bound_to(document: _Document, reading: Reading) -> list[str]:
    """Return the patterns of the files to which a rule file applies, in the subfolder that it is for, or that; empty for all files.

    What no pattern can say is named.
    """
    bound = [name for field in _BOUND for name in texts_in(document.fields.get(field))]
    problems = {name: files_problem(name) for name in bound}
    named = ("%s is not kept: %s" % pair for pair in problems.items() if pair[1])
    reading.left_out.extend((document.path, why) for why in named)
    kept = [name for name in bound if name not in _EVERYTHING and not problems[name]]
    folder = package_of(document.path, reading.root) or ""
    paths = (name if "/" in name else "**/" + name for name in kept)
    below = [folder + re.sub(r"\A\.?/", "", path).removeprefix(folder) for path in paths]
    return (below if folder else kept)[:_MAX_FILES] or [folder][: len(folder)]


def _rule_item(
    document: _Document, rule: markdown.Statement, section: Section, bound: list[str], kind: str
) -> dict[str, object]:
    """Return a rule as an entry: with the headings above it that it does not say itself, and the files that it or its document is about."""
    title, about = rule.title, without_markdown(document.title)
    path = list(map(without_markdown, section.path))
    # A short heading, and a fact or steps in a note, say nothing without their document, a part of a runbook without its path.
    is_bare = title == section.heading and not title.split()[3:] and not form("document").search(about)
    is_fact = kind in (DEFAULT_CATEGORY, "runbook") and not (document.is_guide or document.is_diary)
    above = [about, *path] if document.is_runbook else [about] if is_bare or is_fact else []
    for name in reversed(above):
        title = below(name, title)
    said = ("%s\n%s" % (title, rule.text)).lower()
    untold = " > ".join(heading for heading in path if heading.lower() not in said)
    spans = form("code_span").findall("%s %s" % (section.heading, rule.text))
    named = (span for span in spans if form("path").match(span) and not files_problem(span))
    return {
        "title": title,
        "body": rule.text,
        CONTEXT: "\n".join(filter(None, (untold, rule.context))),
        "asked_as": markdown.questions(section.heading),
        "files": list(dict.fromkeys([*bound, *named]))[:_MAX_FILES],
    }


def _place(part: Section) -> tuple[str, int, int]:
    """Return the field of a record that a section is, and where in its path: the first heading that names one, and the one that decides.

    The highest decides, so that an alternative keeps its consequences; but a decision and steps may have other fields below. A heading
    that says what became of it begins a record, and a line that says the status makes a section the head of one.
    """
    named = [(role, at) for at, heading in enumerate(part.path) if (role := role_of(heading))]
    judged = [at for at, heading in enumerate(part.path, 1) if form("verdict").search(heading)]
    others = (at for at, (role, _) in enumerate(named) if role not in ANSWERS)
    role, at = named[next(others, -1)] if named else (_STATUS if judged or status_in(part.text) else "", -1)
    return role, named[0][1] if named else [*judged, len(part.path)][0], at


def _roles(parts: list[Section]) -> set[str]:
    """Return the fields that these sections name."""
    return {_place(part)[0] for part in parts} - {""}


def _records(document: _Document, parts: list[Section]) -> tuple[list[Entry], list[Section]]:
    """Return the decision records and runbooks of a document, and its other sections: all of it is one, or what a heading holds."""
    places = [(part.path, *_place(part)) for part in parts]
    owners = {path[:first] for path, role, first, _ in places if role}
    tops = {role for _, role, first, _ in places if not first}
    is_whole = document.is_record or (not ANSWERS.isdisjoint(tops) and len(tops - ANSWERS - {""}) > 0)
    groups: dict[tuple[str, ...], list[Section]] = {}
    for part in parts:
        above = (part.path[:length] for length in range(len(part.path), 0, -1) if not is_whole)
        groups.setdefault(next((owner for owner in above if owner in owners), ()), []).append(part)
    found = {owner: list(_record(document, owner, group)) for owner, group in groups.items()}
    records = [record for entries in found.values() for record in entries]
    # A text above records is about the document.
    others = (part for owner, group in groups.items() if not found[owner] for part in group)
    return records, [part for part in others if part.path or not records]


def _record(document: _Document, owner: tuple[str, ...], parts: list[Section]) -> Iterator[Entry]:
    """Yield the record or runbook in these sections, if they are one: it has an answer and another field."""
    verdict = form("verdict").search(owner[-1] if owner else "")
    texts, status = dict[str, str](), (verdict[1] or _DECIDED) if verdict else ""
    places = [(part.path, part.text, _place(part)) for part in parts]
    chosen = without_markdown("\n".join(text for _, text, place in places if place[0] in ANSWERS)).lower()
    for path, text, (role, first, at) in places:
        field, below = (role, path[at + 1 :]) if at >= 0 else (_NOTES, path[first:])
        below = below or (path[at:] if at >= 0 and field in texts else ())
        status = status or ("" if at >= 0 else status_in(text))
        name = ": ".join((*path[len(owner) : first], *below))
        told, option = markdown.with_lead(name, text), re.split("[:\u2014] ", "".join(below[:1]).lower())
        if field == "alternatives" and not any(said and said in chosen for said in option):
            told = form("pros").sub("", told).strip()  # what speaks for it decided nothing
        texts[field] = "\n\n".join(filter(None, (texts.get(field), told)))
    if ANSWER not in texts and _PROPOSAL in texts:
        texts[ANSWER] = texts.pop(_PROPOSAL)
    if ANSWER in texts:
        lines = "\n".join("%s\n%s" % (part.heading, part.text) for part in parts)
        texts[ANSWER] = with_options(texts[ANSWER], lines)
    if document.is_runbook and ANSWERS.isdisjoint(texts) and _CAUSE in texts:
        texts[_STEPS] = texts.pop(_CAUSE)  # what to check is all that there is to do
    # An entry in a log of decisions has only a status.
    is_entry = verdict or (texts.keys() == {_NOTES} and len(parts) == 1)
    is_logged = bool(owner and status and is_entry) and _NOTES in texts and ANSWER not in texts
    texts.update({_STATUS: status} if status and _STATUS not in texts else {})
    title, roles = owner[-1] if owner else document.heading, texts.keys() - {_NOTES}
    has_context = {_STATUS, CONTEXT} <= roles and (form("number").match(title) or "consequences" in roles)
    answer = _NOTES if is_logged else CONTEXT if has_context and ANSWER not in roles else ANSWER
    lacks_answer = roles.isdisjoint((answer, _STEPS)) or roles <= {ANSWER, _STEPS}
    if not form("structure").match(title) and (is_logged or not lacks_answer):
        yield from _entries(document, owner, texts, parts[0].line, answer)


def _entries(
    document: _Document, owner: tuple[str, ...], texts: dict[str, str], line: int, answer: str = ANSWER
) -> Iterator[Entry]:
    """Yield a record, a runbook or a note, with its symptoms and questions as phrases, unless it is empty; `texts` are those by field."""
    fields, head = document.fields, texts.get(_NOTES, "")
    title = owner[-1] if owner else document.title
    texts[_NOTES] = form("head_line").sub("", head)
    category = "decision" if _RUNBOOK_FIELDS.isdisjoint(texts) else "runbook"
    if not (body := "\n".join(filter(None, (texts.pop(answer, ""), texts.pop(_STEPS, "")))).strip()):
        return
    # A step says little of its runbook.
    about = body if category == "decision" else texts.get(CONTEXT) or body
    given = [fields.get("title"), fields.get("name"), *([document.heading] if len(texts) == 1 else [])]
    stated = texts.get(_STATUS, "").strip() or "\n".join(form("stated").findall(head) * document.is_record)
    statuses = (str(fields.get(_STATUS, "")).strip(), stated, "draft" * (fields.get("draft") == "true"))
    status = "\n".join(filter(None, dict.fromkeys(statuses)))
    is_unknown = stated and not why_over(status) and form("unknown").match(without_markdown(status))
    related = (said for said in relations(fields) if said.lower() not in status.lower())
    texts[_STATUS] = status = "\n".join(filter(None, (status, *related)))
    symptoms = (without_markdown(said).strip("\"' ") for said in texts.get("symptoms", "").splitlines())
    asked = "\n".join([texts.get(CONTEXT, ""), *(part.heading for part in document.parts if part.text)])
    dated = form("dated").search(head)
    kind = re.search(r"^type:[ \t]*(\w+)", str(fields.get("metadata", "")), re.MULTILINE)
    item: dict[str, object] = {
        "asked_as": markdown.phrases([*symptoms, *markdown.questions(asked)]),
        **({"date": dated[1]} if dated else {}),
        **({"type": kind[1]} if kind else {}),
        **{name: value for name, value in fields.items() if name != "supersedes"},
        "title": title_of(title, "" if title in given else about) or title,
        "body": body,
        _STATUS: "unknown status: %s" % stated if is_unknown else status,
    }
    numbers = map(form("numbered").match, (document.stem, document.heading))
    names = [document.path, document.stem, *(one[1].lstrip("0") for one in numbers if one)]
    kept = {name: text.strip() for name, text in texts.items() if text.strip()}
    at = "%s:%d" % (document.path, line)
    yield Entry(at, item, category, kept, frozenset(() if owner else names), "%s\n%s" % (status, head))
