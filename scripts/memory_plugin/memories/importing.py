"""Read the notes of other tools and people as memories to be stored: Markdown, JSON, JSON Lines, and whole stores.

An entry of an export may have the common field names, times and categories of other tools.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ..kernel.fastjson import as_text, loads
from ..kernel.files import Unreadable, read_regular
from ..kernel.paths import load_data
from . import InvalidMemory, import_files, import_records
from .guard_file import files_problem
from .import_records import DecisionRecord, Draft, Reading
from .markdown import (
    COMMA,
    Fields,
    Section,
    Statement,
    document_title,
    form,
    front_matter,
    sections,
    statements_in,
    title_for,
    without_markdown,
)
from .record import (
    CONTEXT,
    DEFAULT_CATEGORY,
    body_content,
    categories,
    category_named,
    is_id,
    new_memory,
    parse_memory,
    utc_time,
)

STDIN = "-"
_MAX_BYTES = 32 << 20

_BOUND = ("globs", "paths", "applyto", "filematchpattern")
_OF_RULES = frozenset([*_BOUND, "alwaysapply", "trigger", "inclusion"])  # fields of rule files, not of notes
_EVERYTHING = ("**", "*", "**/*", "")
_MAX_FILES = 12
_CODE_SPAN = re.compile(r"`([^`\s]+)`")
_PATH = re.compile(r"(?![/@~]|\w+:)(?:[\w.*{},@+\[\]-]+/)+(?:[\w.*{},@+\[\]-]+\.\w{1,5}|\*+)?\Z")
_CONTENTS = re.compile(r"^[ \t]*(?:\[\[_?TOC_?\]\]|\[TOC\]|\{:toc\})[ \t]*$", re.IGNORECASE | re.MULTILINE)

# What our fields are called elsewhere: in front matter, in lists of notes, and in exports of other tools.
_ALIASES = {
    "title": ("title", "name", "heading", "subject", "key"),
    "body": ("body", "text", "content", "memory", "note", "value", "fact", "observations", "summary", "description"),
    "category": ("category", "kind", "type"),
    "context": ("context", "problem"),
    "tags": ("tags", "labels", "keywords", "topics", "categories"),
    "files": ("files", "related_files", "paths", "file", "file_path", "globs"),
    "asked_as": ("asked_as", "aliases", "questions", "symptoms"),
    "supersedes": ("supersedes",),
    "created_at": ("created_at", "createdAt", "created", "timestamp", "date"),
}  # fmt: skip
_LISTS = ("memories", "results", "items", "data", "entries", "notes", "records", "documents", "entities")
_OWN_TEXT = ("body", "text", "content", "memory", "observations")  # of a single object in a folder
_STORED = {"tags": "tags", "related_files": "files", "asked_as": "asked_as", "supersedes": "supersedes"}
_UNKNOWN = "unknown format: no text under %s" % ", ".join(_OWN_TEXT)

_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\Z", re.IGNORECASE)
_STATEMENT_END = re.compile(r"(?<=[.!?;])\s|\n")
_CODE_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*\n?", re.MULTILINE)


def read(path: str, category: str = "", root: str = "") -> Reading:
    """Read all memories in a file or folder; `category` is that of entries that name none, `root` the project's folder.

    Never raises for invalid content: whatever cannot be parsed becomes a problem with its source and reason.
    """
    path = os.path.abspath(path)
    reading = Reading([], [], [], os.path.realpath(root) if root else "", os.path.isdir(path))
    if not reading.is_folder:
        _read_file(path, category, reading, follow=True)
        return reading
    records = [] if os.path.realpath(path) == reading.root else import_files.store_files(path)
    for file, kind in records:
        _read_file(file, kind, reading)
    others = (
        import_files.notes_in_store(path)
        if records
        else import_files.files_below(path, tuple(_READERS), reading.left_out)
    )
    for file in others:
        _read_file(file, category, reading)
    return reading


def read_lines(text: str, category: str = "") -> Reading:
    """Read the JSON objects of a text, one a line; their source is `-` with the line."""
    reading = Reading([], [], [])
    _read_json_lines(STDIN, text, category, reading)
    return reading


def _read_file(path: str, category: str, reading: Reading, follow: bool = False) -> None:
    reader = (
        _read_markdown if import_files.is_rule_file(path) else _READERS.get(os.path.splitext(path)[1].lower())
    )
    if reader is None:
        reading.problems.append((path, "expected one of %s" % ", ".join(_READERS)))
        return
    text = _text(path, reading, follow)
    if text is not None:
        reader(path, text, category, reading)


def _text(path: str, reading: Reading, follow: bool) -> str | None:
    try:
        return read_regular(path, _MAX_BYTES, follow)[0].decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        reading.problems.append((path, "not there"))
    except Unreadable as error:
        reading.problems.append((path, str(error)))
    except UnicodeDecodeError as error:
        reading.problems.append((path, "not UTF-8 (byte %d)" % error.start))
    return None


def _collect(reading: Reading, source: str, path: str, make: Callable[[], dict[str, Any]]) -> None:
    try:
        reading.drafts.append(Draft(source, make(), path))
    except ValueError as error:
        reading.problems.append((source, str(error)))


def _read_markdown(path: str, text: str, category: str, reading: Reading) -> None:
    fields, rest, skipped = front_matter(text)
    if "category" in fields:  # other tools have categories of their own: an unknown one is no error here
        fields["kind"] = fields.pop("category")
    stem = os.path.splitext(os.path.basename(path))[0]
    rest = _CONTENTS.sub("", rest)
    parts = sections(rest)
    title = document_title(rest, stem)
    is_about_notes = fields.get("type") in import_files.ABOUT_NOTES
    if import_files.is_template(path) or is_about_notes or import_records.is_blank_form(title):
        reading.left_out.append((path, import_files.INDEX if is_about_notes else import_files.TEMPLATE))
        return
    records, others = import_records.records_in(parts, title)
    if is_one := import_records.is_one_record(stem, title, records):
        records, others = records[:1], []  # what else it says are details
    for record in records:
        source = "%s:%d" % (path, record.line + skipped)
        _add_record(reading, record, fields, category, title, source, path)
    is_note = fields and _OF_RULES.isdisjoint(fields) and not path.endswith(".mdc")
    if not records and (is_one or is_note):
        kind = category or ("" if "type" in fields or "kind" in fields else _kind_of(path, title))
        _collect(reading, path, path, partial(_note_data, fields, rest, stem, kind))
    else:
        _read_rules(path, title, others, category, reading, skipped, _bound_to(path, fields, reading))


def _bound_to(path: str, fields: Fields, reading: Reading) -> list[str]:
    """Return the patterns of the files to which a rule file applies; empty for all of them. What no pattern can say is named."""
    bound = [name for field in _BOUND for name in texts_in(fields.get(field))]
    for name in bound:
        if problem := files_problem(name):
            reading.left_out.append((path, "%s is not kept: %s" % (name, problem)))
    kept = [name for name in bound if name not in _EVERYTHING and not files_problem(name)]
    return kept[:_MAX_FILES] or import_files.own_folder(path, reading.root)


def _kind_of(path: str, title: str) -> str:
    """Return `runbook` for a document that calls itself or its folder so; else empty."""
    named = form("runbook").search("%s\n%s" % (title, os.path.basename(os.path.dirname(path))))
    return "runbook" if named else ""


def _read_rules(
    path: str,
    title: str,
    parts: list[Section],
    category: str,
    reading: Reading,
    skipped: int,
    bound: list[str],
) -> None:
    runbook = without_markdown(title) if _kind_of(path, title) else ""
    lead = "" if runbook or form("document").search(title) else title
    for section in parts:
        for raw in statements_in(section, runbook):
            source = "%s:%d" % (path, raw.line + skipped)
            kind = category or ("runbook" if runbook and raw.text[0].isdigit() else "")
            # A heading of one or two words says nothing without its document.
            is_bare = lead and raw.title == section.heading and not raw.title.split()[2:]
            statement = raw._replace(title=title_for("%s: %s" % (lead, raw.title))) if is_bare else raw
            _collect(reading, source, path, partial(_statement_data, statement, section, kind, bound))


def _statement_data(
    statement: Statement, section: Section, category: str, bound: list[str]
) -> dict[str, Any]:
    spans = _CODE_SPAN.findall("%s %s" % (section.heading, statement.text))
    named = (span for span in spans if _PATH.match(span) and not files_problem(span))
    headings = (without_markdown(heading).lower() for heading in (section.above, section.heading))
    tags = [
        re.sub(r"[^\w]+", "-", heading).strip("-") for heading in headings if 0 < len(heading.split()) <= 2
    ]
    item = {
        "title": statement.title,
        "body": statement.text,
        CONTEXT: statement.context,
        "files": list(dict.fromkeys([*bound, *named]))[:_MAX_FILES],
        "tags": tags,
        "asked_as": import_records.questions(section.heading),
    }
    return item_data(item, category or statement_category(statement.text))


def _note_data(fields: Fields, text: str, stem: str, category: str) -> dict[str, Any]:
    data = item_data(import_records.note_item(fields, text, stem), category)
    import_records.archive(data, import_records.no_longer_holds(str(fields.get("status", "")), fields))
    return data


def _add_record(
    reading: Reading,
    record: DecisionRecord,
    fields: Fields,
    category: str,
    title: str,
    source: str,
    path: str,
) -> None:
    item, texts = import_records.record_item(record, fields)
    data = item_data(item, category or record.category)
    data["content"] = {**texts, **data["content"]}
    import_records.archive(data, import_records.no_longer_holds(texts.get("status", ""), fields))
    replaces = tuple(import_records.replaced_names(record.fields, fields))
    reading.drafts.append(Draft(source, data, path, import_records.record_names(path, title), replaces))


def _read_json(path: str, text: str, category: str, reading: Reading) -> None:
    try:
        value = loads(text)
    except ValueError as error:
        if "}\n{" in text:  # one object a line, as in the file of MCP's memory server
            _read_json_lines(path, text, category, reading)
        else:
            reading.problems.append((path, "not JSON: %s" % error))
        return
    items = items_in(value)
    if items is not None:
        _read_items(
            path, [("%s item %d" % (path, at), item) for at, item in enumerate(items, 1)], category, reading
        )
    elif isinstance(value, dict) and not any(
        isinstance(value.get(name), (str, dict)) or texts_in(value.get(name))
        for name in (_OWN_TEXT if reading.is_folder else _ALIASES["body"])
    ):
        (reading.left_out if reading.is_folder else reading.problems).append((path, _UNKNOWN))
    else:
        stem = os.path.splitext(os.path.basename(path))[0]
        _collect(reading, path, path, partial(item_data, value, category, stem))


def _read_json_lines(path: str, text: str, category: str, reading: Reading) -> None:
    lines = [("%s:%d" % (path, at), line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    _read_items(path, lines, category, reading, parse=True)


def _read_items(
    path: str, items: list[tuple[str, Any]], category: str, reading: Reading, parse: bool = False
) -> None:
    """Read the entries of a file. If none is a memory, the format is unknown, which is said once."""
    found = Reading([], [], [])
    for source, item in items:
        _collect(found, source, path, partial(_entry_data, item, category, parse))
    kept = [draft for draft in found.drafts if draft.data]
    reading.drafts.extend(kept)
    if kept or len(items) < 2:
        reading.problems.extend(found.problems)
    elif items:
        (reading.left_out if reading.is_folder else reading.problems).append((path, _UNKNOWN))


def _entry_data(item: Any, category: str, parse: bool) -> dict[str, Any]:  # noqa: ANN401  (any value of JSON)
    """Return the memory of an entry, which is still text if `parse`; empty for a relation between entities."""
    if parse:
        try:
            item = loads(item)
        except ValueError as error:
            raise InvalidMemory("not JSON: %s" % error) from None
    is_relation = isinstance(item, dict) and item.get("type") == "relation" and "from" in item
    return {} if is_relation else item_data(item, category)


_READERS: dict[str, Callable[[str, str, str, Reading], None]] = {
    ".md": _read_markdown,
    ".mdc": _read_markdown,
    ".markdown": _read_markdown,
    ".txt": _read_markdown,
    ".json": _read_json,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}


def items_in(value: object) -> list[object] | None:
    """Return the items in a JSON document; None if the document itself is one item."""
    if isinstance(value, list):
        return [{"text": entry} if isinstance(entry, str) else entry for entry in value]
    if isinstance(value, dict) and not isinstance(value.get("title"), str):
        lists = (value[name] for name in _LISTS if isinstance(value.get(name), list))
        return next(map(items_in, lists), None)
    return None


def item_data(item: object, category: str, identity: str = "") -> dict[str, Any]:
    """Return the data of one memory from an entry under any common field names.

    Raises InvalidMemory that names the invalid field. `category` is the one if the entry names none; `identity` is the id of a whole
    memory that names none.
    """
    if not isinstance(item, dict):
        raise InvalidMemory("expected an object, got %s" % type(item).__name__)
    if isinstance(item.get("content"), dict):
        return _whole_memory(item, category, identity)
    metadata = item.get("metadata")
    source = {**metadata, **item} if isinstance(metadata, dict) else item
    found = {name: _first(source, aliases) for name, aliases in _ALIASES.items()}
    body, title = found["body"], found["title"]
    if isinstance(body, list):
        body = "\n".join(texts_in(body))
    if not isinstance(body, str) or not body:
        raise InvalidMemory("body: expected a text, got %.80r" % (body,))
    if not isinstance(item.get("title", ""), str):
        raise InvalidMemory("title: expected a text, got %.80r" % (item["title"],))
    named = _category(item, found["category"]) or category
    kind = categories()[named or (DEFAULT_CATEGORY if title else statement_category(body))]
    content = body_content(kind, _CODE_FENCE.sub("\n", body) if kind.name == "runbook" else body)
    if isinstance(found["context"], str) and found["context"].strip():
        content[CONTEXT] = found["context"].strip()
    extra: dict[str, Any] = {name: texts_in(found[old]) for name, old in _STORED.items() if found[old]}
    moment = utc_time(as_text(found["created_at"]), "00:00:00")
    if moment:
        extra.update(
            created_at=moment, updated_at=utc_time(as_text(source.get("updated_at")), "00:00:00") or moment
        )
    # A UUID describes nothing, and a person would have to type it.
    identity = str(item["id"]) if is_id(item.get("id")) and not _UUID.match(str(item["id"])) else ""
    title = title if isinstance(title, str) and title else title_for(body)
    return new_memory(kind, identity, title, content, extra)


def statement_category(text: str) -> str:
    """Return the category of a statement for which nobody named one, by the form of its first sentence; in doubt a decision."""
    sentence = without_markdown(_STATEMENT_END.split(text.strip(), maxsplit=1)[0])
    forms = load_data("memories", "importing")["forms"]
    hits = (form["category"] for form in forms if re.search(form["pattern"], sentence, re.IGNORECASE))
    return next(hits, DEFAULT_CATEGORY)


def _first(source: dict[str, Any], names: tuple[str, ...]) -> Any:  # noqa: ANN401  (any value of a JSON object)
    """Return the first value under one of these names that is not blank; texts are stripped."""
    values = (source.get(name) for name in names)
    stripped = (value.strip() if isinstance(value, str) else value for value in values)
    return next(filter(None, stripped), None)


def texts_in(value: object) -> list[str]:
    """Return the texts of a list, or those that commas separate."""
    parts = COMMA.split(value) if isinstance(value, str) else value if isinstance(value, list) else []
    return [part.strip() for part in parts if isinstance(part, str) and part.strip()]


def _category(item: dict[str, Any], name: object) -> str:
    """Return the category that an entry names; "" for an unknown `type` or `kind`. Raises InvalidMemory for an unknown `category`."""
    if not isinstance(name, str):
        return ""
    kinds: dict[str, str] = load_data("memories", "importing")["kinds"]
    try:
        return kinds.get(name.lower()) or category_named(name).name
    except InvalidMemory:
        if "category" in item:
            raise
        return ""


def _whole_memory(item: dict[str, Any], category: str, identity: str) -> dict[str, Any]:
    """Return a memory of a store with its unknown fields. Raises InvalidMemory."""
    kind = categories()[_category(item, item.get("category")) or category or DEFAULT_CATEGORY]
    own_id = next(filter(is_id, (item.get("id"), identity)), "")
    data = {**new_memory(kind, "", "", {}, {}), **item, "category": kind.name, "id": own_id}
    parse_memory(data, "checked", kind)
    return data
