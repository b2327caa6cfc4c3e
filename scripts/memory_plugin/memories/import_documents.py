"""Read a Markdown document as entries: records and runbooks with what they say of themselves, notes, and rules in lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache

from . import import_facts as facts
from . import markdown
from .guard_file import files_problem
from .import_facts import Document, Entry, LeftOut, Reading, status_in
from .markdown import ANSWERS, Section, form, role_of, texts_in, without_markdown
from .record import CONTEXT
from .statements import Statement, content, said_in, statement_category, statements_in

ANSWER, _NOTES, _STATUS, _STEPS = "answer", "notes", "status", "steps"
_PROPOSAL, _DECIDED = "proposal", "decided"  # a proposal is an answer where nothing was decided
_RUNBOOK_FIELDS = frozenset([_STEPS, "symptoms", "root_cause"])
_GOES_ON = re.compile(r"\s*(?:[2-9]|\d\d)[.)]\s")  # a list that began in the section above
_THIS_REPLACES = re.compile(
    r"(?m)\A[^\n]* instead of (?:ADR|RFC)\b[^\n]*"
    r"|(?:^|(?<=[.] ))This (?:decision |record |ADR )?(?:replaces|supersedes) (?:ADR|\[)[^.\n]*"
)
_APART = re.compile(r"\d+\.\d|.*\?\Z")  # a chapter, or a question
_HEAD = re.compile(r"\A\s*#[ \t][^\n]*\s*")
_ORDERS = frozenset(["constraint", "preference"])
_UNSAID = "states nothing: code, paths or links alone, an example, reasons, status or things to do"
_MAX_HEAD = 1000  # characters
_MAX_NOTE = 400  # words
_MAX_SECTIONS = 15  # of a note
_EVERYTHING = ("**", "*", "**/*", "")
_MAX_FILES = 12  # of a memory
INDEX = "an index, a history or a list of things to do, not a note"


def document_entries(path: str, text: str, reading: Reading) -> Iterator[Entry]:
    """Yield the entries of a Markdown file: records and runbooks, and the rules next to them or the note that it is. Raises LeftOut."""
    if form("generated").search(text[:_MAX_HEAD]):
        raise LeftOut("a tool generates it")
    document = facts.read_document(path, text, reading.root, not reading.is_folder)
    parts = [part for part in document.parts if part.text]
    if not document.is_diary:
        parts = [piece for part in parts for piece in markdown.named_paragraphs(part, document.is_runbook)]
    records, others = _records(document, parts)
    if reason := _why_left_out(document, parts, has_records=bool(records)):
        raise LeftOut(reason)
    yield from records
    is_note = document.is_record or (document.fields and not (document.is_diary or document.is_rules))
    if others or not records:
        yield from (_notes if is_note else _rules)(document, others, reading)
    reading.left_out.extend(("%s:%d" % (path, line), _UNSAID) for line in document.unsaid)


def _why_left_out(document: Document, parts: list[Section], *, has_records: bool) -> str:
    """Return why a file is no note of the project: a template, an index, a page saved from the web, rules that are over; else empty."""
    fields, title, text = document.fields, document.title, document.text
    kinds, first = [*texts_in(fields.get("tags")), str(fields.get("type"))], _HEAD.sub("", text).lstrip()
    is_linked = any("http" in str(fields.get(name))[:9] for name in ("source", "url", "link"))
    is_of_web = is_linked and any(map(form("of_web").fullmatch, [*fields, *kinds]))
    said = (title, str(fields.get("description", "")), first, *kinds)
    is_over = any(map(form("ended").search, said)) or fields.get("deprecated") == "true"
    # A log that is just called "Decisions" is not a decision without a text.
    is_log = not document.heading and form("first_heading").match(markdown.outside_code(text))
    below = document.parts[2:] if is_log else document.parts
    named, filled = ({_place(part)[0] for part in sections} for sections in (below, parts))
    is_record = document.is_record or document.is_runbook or _STATUS in filled
    links = [] if document.is_guide or has_records else form("link_line").findall(text)
    has_links = links and 2 * len(links) >= len(re.findall(r"(?m)^[^\n]*\w", text))
    is_index = has_links or any(map(form("index_name").fullmatch, (document.stem, document.heading)))
    is_template = any(map(form("template").fullmatch, os.path.split(document.path)))
    reasons = {
        "a template": is_template or form("blank").match(title),
        INDEX: is_index or any(map(form("about_notes").fullmatch, kinds)),
        "a page of others, saved from the web": is_of_web,
        "its decision or its steps are still to be written": form("to_hold").match(first)
        or (is_record and named & ANSWERS and not filled & ANSWERS),
        "it says that it is over": form("past").match(first) or (is_over and not has_records),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _records(document: Document, parts: list[Section]) -> tuple[list[Entry], list[Section]]:
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


def _record(document: Document, owner: tuple[str, ...], parts: list[Section]) -> Iterator[Entry]:
    """Yield the record or runbook in these sections, if they are one: it has an answer and another field."""
    verdict = form("verdict").search(owner[-1] if owner else "")
    places = [(part, _place(part)) for part in parts]
    stated = [status_in(part.text) for part, (_, _, at) in places if at < 0]
    stated += map(status_in, form("foot").findall(parts[-1].text))
    stated += [
        "rejected" for part, (role, _, _) in places if role == ANSWER and form("refused").match(part.text)
    ]
    status = next(filter(None, verdict.groups()), _DECIDED) if verdict else next(filter(None, stated), "")
    if not status and not any(role for _, (role, _, _) in places):
        return
    unsaid: list[int] = []
    texts = _fields(owner, places, unsaid)
    if ANSWER not in texts and _PROPOSAL in texts:
        texts[ANSWER] = texts.pop(_PROPOSAL)
    # An entry in a log of decisions has only a status.
    is_entry = verdict or (texts.keys() == {_NOTES} and len(parts) == 1)
    is_logged = bool(owner and status and is_entry) and _NOTES in texts and ANSWER not in texts
    texts.update({_STATUS: status} if status and _STATUS not in texts else {})
    title, roles = owner[-1] if owner else document.heading, texts.keys() - {_NOTES}
    answer = _NOTES if is_logged else ANSWER
    is_procedure = (
        document.is_runbook and not owner and _STEPS in texts and content(document.text) <= _MAX_NOTE
    )
    lacks_answer = roles.isdisjoint((answer, _STEPS)) or (roles <= {ANSWER, _STEPS} and not is_procedure)
    if not form("structure").match(title) and (is_logged or not lacks_answer):
        document.unsaid.extend(unsaid)
        yield from _entry(document, owner, texts, parts[0].line, answer)


def _fields(
    owner: tuple[str, ...], places: list[tuple[Section, tuple[str, int, int]]], unsaid: list[int]
) -> dict[str, str]:
    """Return the texts of a record's sections by field; the lines that state nothing are added to `unsaid`."""
    texts: dict[str, str] = {}
    is_cure = any(role == _STEPS for _, (role, _, _) in places)  # an answer is one of its steps
    chosen = without_markdown("\n".join(part.text for part, place in places if place[0] in ANSWERS)).lower()
    ways = {part.path[at + 1] for part, (role, _, at) in places if role == CONTEXT and part.path[at + 1 :]}
    has_options = len(ways) > 1 and any(way.lower() in chosen for way in ways)
    for part, (role, first, at) in places:
        path = part.path
        is_head = path == owner  # what it says of others may be a link alone
        text = part.text if at >= 0 or is_head else said_in(part, unsaid, is_cure)
        field, below = (role, path[at + 1 :]) if at >= 0 else (_NOTES, path[first:])
        field = _STEPS if is_cure and role == ANSWER else field
        below = below or (path[at:] if at >= 0 and field in texts and role != _STEPS else ())
        name = ": ".join((*path[len(owner) : first], *below))
        is_option = field == "alternatives" or (field == CONTEXT and below and has_options)
        kept = facts.said_of_option(text, below, chosen) if is_option else text
        told = markdown.with_lead(name, kept) if kept or (at >= 0 and not below[1:]) else ""
        texts[field] = "\n\n".join(filter(None, (texts.get(field), told)))
    return texts


@lru_cache(maxsize=1024)
def _place(part: Section) -> tuple[str, int, int]:
    """Return the field of a record that a section is, and where in its path: the first heading that names one, and the one that decides.

    The highest decides, so that an alternative keeps its consequences; a decision and steps may have other fields below.
    """
    named = [(role, at) for at, heading in enumerate(part.path) if (role := role_of(heading))]
    judged = [at for at, heading in enumerate(part.path, 1) if form("verdict").search(heading)]
    others = (at for at, (role, _) in enumerate(named) if role not in ANSWERS)
    role, at = named[next(others, -1)] if named else (_STATUS if judged or status_in(part.text) else "", -1)
    return role, named[0][1] if named else [*judged, len(part.path)][0], at


def _notes(document: Document, parts: list[Section], reading: Reading) -> Iterator[Entry]:
    """Yield the sections that hold no record as one memory, or as several if they are long or a runbook. Raises LeftOut for an article."""
    names = [part.heading for part in parts]
    is_long = len(parts) > _MAX_SECTIONS or content(document.text) > _MAX_NOTE
    is_mixed = any(map(form("mixed").search, (document.title, document.stem.replace("_", " "))))
    alike = sum(map(bool, map(_APART.match, names)))
    is_apart = is_mixed or any(map(form("day").match, names)) or 2 * alike > max(2, len(names))
    # Or the numbers of a runbook go on from one section to the next.
    goes_on = any(map(form("number").match, names)) and not is_long
    goes_on |= any(_GOES_ON.match(part.text) for part in parts)
    is_procedure = any(map(form("step").match, names)) or (document.is_runbook and goes_on)
    if parts and (document.fields or document.is_record or is_procedure) and not is_apart:
        yield from _note(document, (), parts)
    elif is_long and reading.is_folder and not (document.is_runbook or is_mixed):
        raise LeftOut("a long text rather than notes; to import it, name it")
    else:
        for owner, group in _split(parts, int(document.is_runbook or is_long or is_apart)):
            yield from _note(document, owner, group)


def _split(parts: list[Section], depth: int) -> Iterator[tuple[tuple[str, ...], list[Section]]]:
    """Yield the sections below each heading at this depth of their paths; what is too long for one memory is split at the next one."""
    groups: dict[tuple[str, ...], list[Section]] = {}
    for part in parts:
        groups.setdefault(part.path[:depth], []).append(part)
    for owner, group in groups.items():
        is_long = sum(content(part.text) for part in group) > _MAX_NOTE
        if is_long and any(part.path[depth:] for part in group):
            yield from _split(group, depth + 1)
        else:
            yield owner, group


def _note(document: Document, owner: tuple[str, ...], parts: list[Section]) -> Iterator[Entry]:
    """Yield a note, or the part of it below a heading, as one memory with the other headings; as a runbook if it has steps."""
    title = facts.below(document.title, ": ".join(owner)) if owner else document.title
    texts: list[str] = []
    is_checklist = document.is_runbook or bool(form("checklist").search(document.title))
    for part in parts:
        said = said_in(part, document.unsaid, is_checklist)
        path = ": ".join(part.path[len(owner) :])
        texts += ["## %s\n\n%s" % (path, said) if path else said] if said else []
    if texts and not owner and document.heading not in ("", title, *parts[0].path):
        texts.insert(0, "# " + document.heading)
    about = "" if owner or not texts else str(document.fields.get("description", ""))
    is_said = about.rstrip(" .").lower() in "\n".join(texts).lower()
    text = "\n\n".join([*([] if is_said else [about]), *texts])
    told = "\n".join(part.text for part in parts if role_of(part.heading) == _STATUS)
    fields = {_STATUS: told or status_in(text)} if document.is_record else {}
    fields.update({CONTEXT: document.limit} if owner and document.limit else {})
    steps, items = len(form("in_steps").findall(text)), len(form("list").findall(text))
    has_steps = document.is_runbook and items and not form("no_steps").match(owner[-1] if owner else "")
    field = _STEPS if 2 * steps > items or has_steps else ANSWER
    fields[field] = form("head_line").sub("", text) if document.is_record or document.is_runbook else text
    yield from _entry(document._replace(title=title, parts=parts), (), fields, parts[0].line)


def _rules(document: Document, parts: list[Section], reading: Reading) -> Iterator[Entry]:
    """Yield each rule of the sections that hold no record; unless they are a note: neither a list alone, nor orders for the most part."""
    parts = [piece for part in parts for piece in _decided(part)] if document.is_diary else parts
    ended = (form("reasons").match(part.heading) or facts.why_over(status_in(part.text)) for part in parts)
    stated = [part for part, is_over in zip(parts, ended) if not is_over]
    unsaid = [part.line for part in parts if part not in stated]
    if document.is_rules:  # the text below the title says what the project is
        stated = [
            part for part in stated if part.path or not stated[1:] or form("order_or_list").search(part.text)
        ]
    is_checklist = bool(form("checklist").search(document.title))
    found = (statements_in(part, unsaid, is_checklist, document.is_rules) for part in stated)
    rules = [(part, rule) for part, statements in zip(stated, found) for rule in statements]
    kinds = [statement_category(rule.text) for _, rule in rules]
    has_orders = bool(kinds) and 3 * sum(kind in _ORDERS for kind in kinds) >= 2 * len(kinds)
    step = form("in_steps").search(document.text.strip()) if len(kinds) > 1 else None
    is_procedure = step and (not step.start() or (document.is_runbook and not document.is_rules))
    if not (document.is_guide or document.is_diary or has_orders or len(document.parts) == 1) or is_procedure:
        yield from _notes(document, parts, reading)
        return
    if document.is_diary and not rules:
        raise LeftOut("a diary, minutes or a working paper: only what is marked as a decision is kept")
    document.unsaid.extend(unsaid)
    bound = _bound_to(document, reading) if rules else []
    for kind, (section, rule) in zip(kinds, rules):
        yield Entry("%s:%d" % (document.path, rule.line), _rule_item(document, rule, section, bound), kind)


def _decided(part: Section) -> Iterator[Section]:
    """Yield what a section of minutes or of a diary marks as decided: its first paragraph, or what follows "decided:"."""
    pattern = form("first_paragraph" if form("deciding").match(part.heading) else "decided")
    for mark in pattern.finditer(part.text):
        said = mark.lastindex or 0
        first = part.first + part.text.count("\n", 0, mark.start(said))
        yield part._replace(heading="", path=(), text=mark[said], first=first)


def _bound_to(document: Document, reading: Reading) -> list[str]:
    """Return the patterns of the files to which a rule file applies, in the subfolder that it is for, or that; others are named."""
    bound = [name for field in facts.BOUND for name in texts_in(document.fields.get(field))]
    problems = {name: files_problem(name) for name in bound}
    named = ("%s is not kept: %s" % pair for pair in problems.items() if pair[1])
    reading.left_out.extend((document.path, why) for why in named)
    kept = [name for name in bound if name not in _EVERYTHING and not problems[name]]
    folder = facts.package_of(document.path, reading.root) or ""
    return kept[:_MAX_FILES] or [folder][: len(folder)]


def _rule_item(document: Document, rule: Statement, section: Section, bound: list[str]) -> dict[str, object]:
    """Return a rule as an entry: with the headings above it that it does not say itself, and the files that it or its document is about."""
    title, about = rule.title, without_markdown(document.title)
    # A short heading says nothing without its document.
    is_bare = title == section.heading and not title.split()[3:] and not form("document").search(about)
    title = facts.below(about, title) if is_bare else title
    said = ("%s\n%s" % (title, rule.text)).lower()
    names_subject = " " in document.title and not document.is_rules  # as "Content guidelines"
    path = map(without_markdown, ((document.title,) if names_subject else ()) + section.path)
    untold = " > ".join(heading for heading in path if heading.lower() not in said)
    spans = map(form("code_span").findall, (section.heading, rule.text))
    paths = (filter(form("path").match, found) for found in spans)
    of_heading, of_rule = ([one for one in found if not files_problem(one)] for found in paths)
    return {
        "title": title,
        "body": rule.text,
        CONTEXT: "\n".join(filter(None, (document.limit, untold, rule.context))),
        "asked_as": markdown.questions(section.heading),
        "files": list(dict.fromkeys([*(of_heading or bound), *of_rule]))[:_MAX_FILES],
    }


def _entry(
    document: Document, owner: tuple[str, ...], texts: dict[str, str], line: int, answer: str = ANSWER
) -> Iterator[Entry]:
    """Yield a record, a runbook or a note, with its symptoms and questions as phrases, unless it is empty; `texts` are those by field."""
    fields, head = document.fields, texts.get(_NOTES, "")
    title = owner[-1] if owner else document.title
    texts[_NOTES] = form("head_line").sub("", head)
    category = "decision" if _RUNBOOK_FIELDS.isdisjoint(texts) else "runbook"
    if not (body := "\n".join(filter(None, (texts.pop(answer, ""), texts.pop(_STEPS, "")))).strip()):
        return
    body = facts.without_weighed(body) if category == "decision" and texts.get(_STATUS) else body
    body = facts.without_points(body, "\n".join((head, body, *texts.values())))
    # A step says little of its runbook.
    about = body if category == "decision" else texts.get(CONTEXT) or body
    in_head = form("stated").findall(head) if document.is_record else []
    stated = form("picked").sub(r"\1", texts.get(_STATUS, "")).strip() or "\n".join(in_head)
    draft = "draft" if fields.get("draft") == "true" else ""
    in_title = form("titled" if category == "decision" else "titled_steps").findall(title)
    of_fields = [texts_in(said) for name, said in fields.items() if name.endswith((_STATUS, "_state"))]
    statuses = (", ".join(map(", ".join, of_fields)), stated, draft, *map("".join, in_title))
    status = "\n".join(filter(None, dict.fromkeys(statuses)))
    is_unknown = stated and not facts.why_over(status) and form("unknown").match(without_markdown(status))
    related = (said for said in facts.relations(fields) if said.lower() not in status.lower())
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
        "title": facts.title_of(title, "" if title in (fields.get("title"), fields.get("name")) else about)
        or title,
        "body": body,
        _STATUS: "unknown status: %s" % stated if is_unknown else status,
    }
    numbers = map(form("numbered").match, (document.stem, document.heading))
    own = [document.path, document.stem, *(one[1].lstrip("0") for one in numbers if one)]
    # An entry of a log has no other name.
    names = frozenset([title, str(item["title"])] if owner else own)
    kept = {name: text.strip() for name, text in texts.items() if text.strip()}
    at = "%s:%d" % (document.path, line)
    said = _THIS_REPLACES.findall("\n".join((title, texts.get(CONTEXT, ""), body)))
    yield Entry(at, item, category, kept, names, "\n".join((*said, status, head)))
