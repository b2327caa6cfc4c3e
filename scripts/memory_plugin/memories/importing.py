"""Read what people and other tools have as memories to be stored: a file, its kind, its entries, and from each entry a memory.

The kinds are Markdown (decision records and runbooks, notes with fields at their head, lists of rules), JSON and JSON Lines, and the files
of a store. An entry may have the common field names, times and categories of other tools.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..kernel.fastjson import as_text, loads
from ..kernel.files import read_regular
from . import InvalidMemory, import_records, markdown, record
from .guard_file import files_problem
from .import_files import INDEX, files_below, is_named, own_folder, stored_files
from .markdown import Fields, Section, Statement, form, table, texts_in, title_for, without_markdown

STDIN = "-"
_MAX_BYTES = 32 << 20
_MARKDOWN, _JSON = (".md", ".mdc", ".markdown", ".txt"), (".json", ".jsonl", ".ndjson")
_TEMPLATE, _ENDED, _WEB = "a template", "it says that it is over", "a page of others, saved from the web"
_DIARY = "a diary or minutes: only what is marked as a decision is kept"
_POINTER = "only a link to another text"
_LONG = "a long text rather than notes; to import it, name it"
_UNKNOWN = "unknown format: no title or text under a common name"
_ABOUT_NOTES = ("index", "moc", "schema", "template", "toc")  # types of notes that hold no memory
_BOUND = ("globs", "paths", "applyto", "filematchpattern")
_OF_RULES = frozenset([*_BOUND, "alwaysapply", "trigger", "inclusion"])  # fields of rule files, not of notes
_EVERYTHING = ("**", "*", "**/*", "")
_MAX_FILES = 12
_NEAR = 3  # folders above a file whose names say what it is
_LINKS = ("](", "[[", "http")
_FEW = 4  # words
_MAX_OF_FILE = 40  # memories of one document that nobody named
_CODE_SPAN = re.compile(r"`([^`\s]+)`")
_PATH = re.compile(r"(?![/@~]|\w+:)(?:[\w.*{},@+\[\]-]+/)+(?:[\w.*{},@+\[\]-]+\.\w{1,5}|\*+)?\Z")
_CONTENTS = re.compile(r"^[ \t]*(?:\[\[_?TOC_?\]\]|\[TOC\]|\{:toc\})[ \t]*$", re.IGNORECASE | re.MULTILINE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\Z", re.IGNORECASE)
_STATEMENT_END = re.compile(r"(?<=[.!?;])\s|\n")
_LABEL = re.compile(r"^(\w[\w ]{2,30}):[ \t]+", re.MULTILINE)
_PLAIN_TITLE = re.compile(r"^title:", re.MULTILINE)
_PLAIN_FIELD = re.compile(r"^(title|body|category|context|files|tags|asked_as|created_at):", re.MULTILINE)
_CODE_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*\n?", re.MULTILINE)


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


class _Entry(NamedTuple):
    """What may become a memory: fields under any common names, the category if these name none, and what is known of a record."""

    source: str
    item: object
    category: str = ""
    more: dict[str, str] | None = None
    over: str = ""
    names: frozenset[str] = frozenset()
    replaces: tuple[str, ...] = ()


class _LeftOut(Exception):
    """Raised for a file that is not meant to become a memory; the text says why."""


def read(path: str, category: str = "", root: str = "") -> Reading:
    """Read all memories in a file or folder; `category` is that of entries that name none, `root` the project's folder.

    Never raises for invalid content: whatever cannot be parsed becomes a problem with its source and reason.
    """
    path, root = os.path.abspath(path), os.path.realpath(root) if root else ""
    reading = Reading([], [], [], category, root, os.path.isdir(path))
    if not reading.is_folder:
        _read_file(path, reading)
        return reading
    files = [] if os.path.realpath(path) == root else stored_files(path)
    for file, kind in files or [(one, "") for one in files_below(path, _MARKDOWN + _JSON, reading.left_out)]:
        _read_file(file, reading._replace(category=kind or category))
    return reading


def read_lines(text: str, category: str = "") -> Reading:
    """Read JSON objects, one a line, or entries in plain lines, whose source is `-` with the line.

    Plain lines, because the client asks about each command with braces and quotes: `title: ...` begins an entry, other fields follow.
    """
    reading = Reading([], [], [], category)
    _keep(STDIN, (_lines if text.lstrip()[:1] in "{[" else _plain_lines)(STDIN, text), reading)
    return reading


def _plain_lines(path: str, text: str) -> Iterator[_Entry]:
    """Yield the entries of plain lines: a line without the name of a field goes on with the field above."""
    starts = [match.start() for match in _PLAIN_TITLE.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)]):
        _, *parts = _PLAIN_FIELD.split(text[start:end])
        item: dict[str, object] = {name: value.strip() for name, value in zip(parts[::2], parts[1::2])}
        item["asked_as"] = str(item.get("asked_as", "")).split(";")
        yield _Entry("%s:%d" % (path, text.count("\n", 0, start) + 1), item)


def _read_file(path: str, reading: Reading) -> None:
    """Read a file by its kind."""
    ending = os.path.splitext(path)[1].lower()
    is_markdown = ending in _MARKDOWN or is_named(path, "rules")
    reader = _markdown if is_markdown else _lines if ending in _JSON[1:] else _json
    if not (is_markdown or ending in _JSON):
        reading.problems.append((path, "expected one of %s" % ", ".join(_MARKDOWN + _JSON)))
        return
    try:
        text = read_regular(path, _MAX_BYTES, not reading.is_folder)[0].decode("utf-8-sig")
        _keep(path, reader(path, text.replace("\r\n", "\n"), reading), reading)
    except _LeftOut as why:
        reading.left_out.append((path, str(why)))
    except UnicodeDecodeError as error:
        reading.problems.append((path, "not UTF-8 (byte %d)" % error.start))
    except (OSError, InvalidMemory) as error:
        reading.problems.append((path, getattr(error, "strerror", None) or str(error)))


def _keep(path: str, entries: Iterator[_Entry], reading: Reading) -> None:
    """Make memories of the entries of a file. If none of several is one, the format is unknown, which is said once."""
    drafts, problems = [], []
    for entry in entries:
        try:
            data = item_data(entry.item, entry.category or reading.category)
            data["content"] = {**(entry.more or {}), **data["content"]}
            archive(data, entry.over)
            drafts.append(Draft(entry.source, data, path, entry.names, entry.replaces))
        except InvalidMemory as error:
            problems.append((entry.source, str(error)))
    reading.drafts.extend(drafts)
    if problems[1:] and not drafts:
        (reading.left_out if reading.is_folder else reading.problems).append((path, _UNKNOWN))
    else:
        reading.problems.extend(problems)


def _markdown(path: str, text: str, reading: Reading) -> Iterator[_Entry]:
    """Yield the entries of a Markdown file: its records and runbooks and the rules beside them; or the note that it is."""
    fields, rest, skipped = markdown.front_matter(text)
    rest = _CONTENTS.sub("", rest)
    if "category" in fields:  # other tools have categories of their own: an unknown one is no error here
        fields["kind"] = fields.pop("category")
    stem = os.path.splitext(os.path.basename(path))[0]
    title, parts = markdown.document_title(rest, stem), markdown.sections(rest)
    records, others = import_records.records_in(parts, title)
    if is_one := import_records.is_one_record(stem, title, records):
        records, others = records[:1], []  # what else it says are details
    _refuse(path, title, fields, rest, bool(records))
    for found in records:
        item, more = import_records.record_item(found, fields)
        over = import_records.no_longer_holds(more.get("status", ""), fields)
        replaces = tuple(import_records.replaced_names(found.fields, fields))
        names = import_records.record_names(path, title)
        source = "%s:%d" % (path, found.line + skipped)
        yield _Entry(source, item, found.category, more, over, names, replaces)
    folders = path.split(os.sep)[-1 - _NEAR : -1]
    runbook = without_markdown(title) if form("runbook").search("\n".join([title, *folders])) else ""
    is_diary = any(map(form("diary").fullmatch, [*folders[-1:], stem, *texts_in(fields.get("tags"))]))
    is_note = fields and not is_diary and _OF_RULES.isdisjoint(fields) and not path.endswith(".mdc")
    if is_note and not records and markdown.content(rest) < _FEW and any(mark in rest for mark in _LINKS):
        raise _LeftOut(_POINTER)
    if not records and (is_one or is_note):
        item = import_records.note_item(fields, rest, stem)
        kind = "" if "type" in item or "kind" in item else reading.category or ("runbook" if runbook else "")
        over = import_records.no_longer_holds(str(fields.get("status", "")), fields)
        yield _Entry(path, item, kind, over=over)
        return
    bound = _bound_to(path, fields, reading)
    lead = "" if runbook or is_diary or form("document").search(title) else title
    others = _decided(others) if is_diary else others
    if is_diary and not records and not others:
        raise _LeftOut(_DIARY)
    rules = [(section, rule) for section in others for rule in markdown.statements_in(section, runbook)]
    is_of_rules = form("rules").search("\n".join([title, stem, *folders[-1:]]))
    is_short = bool(records) or len(rules) <= _MAX_OF_FILE or is_of_rules
    if reading.is_folder and not (is_short or is_named(path, "instructions") or path.endswith(".mdc")):
        raise _LeftOut(_LONG)
    for section, rule in rules:
        is_step = runbook and rule.text[0].isdigit()
        kind = reading.category or ("runbook" if is_step else statement_category(rule.text))
        yield _Entry("%s:%d" % (path, rule.line + skipped), _rule_item(rule, section, lead, bound), kind)


def _refuse(path: str, title: str, fields: Fields, text: str, has_records: bool) -> None:
    """Raise _LeftOut for a template, an index, a page saved from the web, and rules that say that they are over."""
    if any(map(form("template").fullmatch, os.path.split(path))) or form("blank").match(title):
        raise _LeftOut(_TEMPLATE)
    if fields.get("type") in _ABOUT_NOTES:
        raise _LeftOut(INDEX)
    is_linked = any("http" in str(fields.get(name))[:9] for name in ("source", "url", "link"))
    if is_linked and ("clippings" in texts_in(fields.get("tags")) or "published" in fields):
        raise _LeftOut(_WEB)
    first = re.sub(r"\A\s*#[^\n]*\s*", "", text)
    said = (title, str(fields.get("description", "")), first if first[:1] in ">*_!" else "")
    if not has_records and (any(map(form("ended").search, said)) or fields.get("deprecated") == "true"):
        raise _LeftOut(_ENDED)


def _decided(parts: list[Section]) -> list[Section]:
    """Return what minutes and diaries mark as decided, by a heading or in bold: the first paragraph."""
    labeled = (part._replace(text=_LABEL.sub(r"**\1:** ", part.text)) for part in parts)
    pieces = [piece for part in labeled for piece in import_records.named_paragraphs(part)]
    marked = [piece for piece in pieces if markdown.role_of(piece.heading) == import_records.ANSWER]
    return [piece._replace(heading="", above="", text=piece.text.partition("\n\n")[0]) for piece in marked]


def _bound_to(path: str, fields: Fields, reading: Reading) -> list[str]:
    """Return the patterns of the files to which a rule file applies; empty for all of them. What no pattern can say is named."""
    bound = [name for field in _BOUND for name in texts_in(fields.get(field))]
    problems = {name: files_problem(name) for name in bound}
    reading.left_out.extend((path, "%s is not kept: %s" % pair) for pair in problems.items() if pair[1])
    kept = [name for name in bound if name not in _EVERYTHING and not problems[name]]
    return kept[:_MAX_FILES] or own_folder(path, reading.root)


def _rule_item(rule: Statement, section: Section, lead: str, bound: list[str]) -> dict[str, object]:
    """Return a rule as an entry, with the files that it or its document is about; `lead` is the document's title."""
    # A heading of one or two words says nothing without its document.
    is_bare = lead and rule.title == section.heading and not rule.title.split()[2:]
    spans = _CODE_SPAN.findall("%s %s" % (section.heading, rule.text))
    named = (span for span in spans if _PATH.match(span) and not files_problem(span))
    headings = (without_markdown(heading).lower() for heading in (section.above, section.heading))
    short = (heading for heading in headings if 0 < len(heading.split()) <= 2)
    return {
        "title": title_for("%s: %s" % (lead, rule.title)) if is_bare else rule.title,
        "body": rule.text,
        record.CONTEXT: rule.context,
        "files": list(dict.fromkeys([*bound, *named]))[:_MAX_FILES],
        "tags": [re.sub(r"[^\w]+", "-", heading).strip("-") for heading in short],
        "asked_as": import_records.questions(section.heading),
    }


def _json(path: str, text: str, reading: Reading) -> Iterator[_Entry]:
    """Yield the entries of a JSON document: those in its list, or itself. Raises InvalidMemory and _LeftOut."""
    try:
        value = loads(text)
    except ValueError as error:
        if "}\n{" in text:  # one object a line, as in the file of MCP's memory server
            yield from _lines(path, text)
            return
        raise InvalidMemory("not JSON: %s" % error) from None
    items = _items_in(value)
    if items is not None:
        yield from (_Entry("%s item %d" % (path, at), item) for at, item in enumerate(items, 1))
        return
    names = table()["own_text"] if reading.is_folder else table()["aliases"]["body"]
    if isinstance(value, dict):
        if not any(isinstance(value.get(name), (str, dict)) or texts_in(value.get(name)) for name in names):
            raise _LeftOut(_UNKNOWN) if reading.is_folder else InvalidMemory(_UNKNOWN)
        if isinstance(value.get("content"), dict) and not record.is_id(value.get("id")):
            value["id"] = os.path.splitext(os.path.basename(path))[0]
    yield _Entry(path, value)


def _lines(path: str, text: str, _reading: Reading | None = None) -> Iterator[_Entry]:
    """Yield the entries of JSON Lines without the relations between entities; a line that is no JSON has its error."""
    for at, line in enumerate(text.split("\n"), 1):
        try:
            item: object = loads(line) if line.strip() else None
        except ValueError as error:
            item = InvalidMemory("not JSON: %s" % error)
        is_relation = isinstance(item, dict) and item.get("type") == "relation" and "from" in item
        if line.strip() and not is_relation:
            yield _Entry("%s:%d" % (path, at), item)


def _items_in(value: object) -> list[object] | None:
    """Return the items in a JSON document; None if the document itself is one item."""
    if isinstance(value, list):
        return [{"text": entry} if isinstance(entry, str) else entry for entry in value]
    if isinstance(value, dict) and not isinstance(value.get("title"), str):
        names = table()["lists"]
        return next((_items_in(value[name]) for name in names if isinstance(value.get(name), list)), None)
    return None


def item_data(item: object, category: str) -> dict[str, Any]:
    """Return the data of one memory from an entry under any common field names; `category` is the one if it names none.

    Raises InvalidMemory that names the invalid field.
    """
    if isinstance(item, InvalidMemory):
        raise item
    if not isinstance(item, dict):
        raise InvalidMemory("expected an object, got %s" % type(item).__name__)
    if isinstance(item.get("content"), dict):
        return _whole_memory(item, category)
    metadata = item.get("metadata")
    source = {**metadata, **item} if isinstance(metadata, dict) else item
    aliases = table()["aliases"]
    found = {name: _first(source, others) for name, others in aliases.items()}
    body, title = found.pop("body"), found.pop("title")
    body = "\n".join(texts_in(body)) if isinstance(body, list) else body
    if not isinstance(body, str) or not body:
        raise InvalidMemory("body: expected a text, got %.80r" % (body,))
    if not isinstance(item.get("title", ""), str):
        raise InvalidMemory("title: expected a text, got %.80r" % (item["title"],))
    named = _category(item, found.pop("category")) or category
    kind = record.categories()[named or (record.DEFAULT_CATEGORY if title else statement_category(body))]
    content = record.body_content(kind, _CODE_FENCE.sub("\n", body) if kind.name == "runbook" else body)
    context, moment = found.pop(record.CONTEXT), record.utc_time(as_text(found.pop("created_at")), "00:00:00")
    content.update({record.CONTEXT: context} if isinstance(context, str) else {})
    extra: dict[str, object] = {name: texts_in(value) for name, value in found.items() if value}
    if moment:
        changed = record.utc_time(as_text(source.get("updated_at")), "00:00:00")
        extra.update(created_at=moment, updated_at=changed or moment)
    # A UUID describes nothing, and a person would have to type it.
    identity = str(item["id"]) if record.is_id(item.get("id")) and not _UUID.match(str(item["id"])) else ""
    title = title if isinstance(title, str) else title_for(body)
    return record.new_memory(kind, identity, title, content, extra)


def statement_category(text: str) -> str:
    """Return the category of a statement for which nobody named one, by the form of its first sentence; in doubt a decision."""
    sentence = without_markdown(_STATEMENT_END.split(text.strip(), maxsplit=1)[0])
    forms = table()["forms"]
    hits = (form["category"] for form in forms if re.search(form["pattern"], sentence, re.IGNORECASE))
    return next(hits, record.DEFAULT_CATEGORY)


def _first(source: dict[str, object], names: list[str]) -> object:
    """Return the first value under one of these names that is not blank; texts are stripped."""
    values = (source.get(name) for name in names)
    return next(filter(None, (value.strip() if isinstance(value, str) else value for value in values)), None)


def _category(item: dict[str, object], name: object) -> str:
    """Return the category that an entry names; "" for an unknown `type` or `kind`. Raises InvalidMemory for an unknown `category`."""
    kinds: dict[str, str] = table()["kinds"]
    try:
        return kinds.get(name.lower()) or record.category_named(name).name if isinstance(name, str) else ""
    except InvalidMemory:
        if "category" in item:
            raise
        return ""


def _whole_memory(item: dict[str, object], category: str) -> dict[str, object]:
    """Return a memory of a store with its unknown fields. Raises InvalidMemory."""
    kind = record.categories()[_category(item, item.get("category")) or category or record.DEFAULT_CATEGORY]
    own_id = item.get("id") if record.is_id(item.get("id")) else ""
    data = {**record.new_memory(kind, "", "", {}, {}), **item, "category": kind.name, "id": own_id}
    record.parse_memory(data, "checked", kind)
    return data


def archive(data: dict[str, object], reason: str) -> None:
    """Archive a memory to be stored, unless the reason is empty."""
    data.update({"record_status": record.ARCHIVED, "archived_reason": reason} if reason else {})


def archive_replaced(drafts: list[Draft]) -> None:
    """Archive the records that one in force says it replaces, whether or not their own status was changed."""
    by_name = {(os.path.dirname(draft.path), name): draft.data for draft in drafts for name in draft.names}
    for draft in drafts:
        folder = os.path.dirname(draft.path)
        for name in draft.replaces if draft.data["record_status"] == record.ACTIVE else ():
            path = os.path.normpath(os.path.join(folder, name))
            old = by_name.get((folder, name), by_name.get((os.path.dirname(path), path), draft.data))
            if old is not draft.data and old["record_status"] == record.ACTIVE:
                archive(old, "replaced by " + draft.data["title"])
