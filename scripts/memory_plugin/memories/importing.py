"""Read the notes of other tools and people as memories to be stored: Markdown, JSON, JSON Lines, and whole stores.

An entry of an export may have the common field names, times and categories of other tools.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ..kernel.data import load_data
from ..kernel.fastjson import as_text, loads
from ..kernel.files import Unreadable, read_regular
from . import InvalidMemory
from .markdown import (
    ANSWER,
    DecisionRecord,
    Fields,
    Section,
    Statement,
    document_title,
    form,
    front_matter,
    records_in,
    sections,
    statements_in,
    title_for,
    without_markdown,
)
from .record import (
    ARCHIVED,
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

_MAX_BYTES = 32 << 20
_OF_FOLDERS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md")
_NAMES = (".cursorrules", ".windsurfrules", ".clinerules")  # Markdown without an ending

_BOUND = ("globs", "paths", "applyto")
_EVERYTHING = ("**", "*", "**/*", "")
_MAX_FILES = 12
_CODE_SPAN = re.compile(r"`([^`\s]+)`")
_PATH = re.compile(r"(?![/@~]|\w+:)(?:[\w.*{},@+\[\]-]+/)+(?:[\w.*{},@+\[\]-]+\.\w{1,5}|\*+)?\Z")
_LIST_MARK = re.compile(r"\A\s*(?:[-*+]|\d{1,3}[.)]|>)\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?\uff1f\u3002])\s+|\n+")
_MIN_PHRASE, _MAX_PHRASE, _MAX_PHRASES = 8, 160, 5

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
_STORED = {"tags": "tags", "related_files": "files", "asked_as": "asked_as", "supersedes": "supersedes"}

_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\Z", re.IGNORECASE)
_BADGE = re.compile(r"!\[([^\[\]\n]{0,100})\]\(https?://[^()\s]{0,500}\)")
_STATEMENT_END = re.compile(r"(?<=[.!?;])\s|\n")
_CODE_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*\n?", re.MULTILINE)


class Draft(NamedTuple):
    """A memory to be stored, and where it was found: `source` is the path with the line or number of the item, `path` the path alone."""

    source: str
    data: dict[str, Any]
    path: str


class Reading(NamedTuple):
    """The memories that were found, and problems as (source, reason)."""

    drafts: list[Draft]
    problems: list[tuple[str, str]]
    root: str = ""


def read(path: str, category: str = "", root: str = "") -> Reading:
    """Read all memories in a file or folder; `category` is that of entries that name none, `root` the project's folder.

    Never raises for invalid content: whatever cannot be parsed becomes a problem with its source and reason.
    """
    reading = Reading([], [], os.path.realpath(root) if root else "")
    path = os.path.abspath(path)
    if os.path.isdir(path):
        _read_folder(path, category, reading)
    else:
        _read_file(path, category, reading, follow=True)
    return reading


def _read_folder(path: str, category: str, reading: Reading) -> None:
    store = os.path.join(path, ".claude", "memory")
    if os.path.isdir(store):
        path = store
    records = [
        (file, kind.name)
        for kind in categories().values()
        for file in _files(os.path.join(path, kind.folder), (".json",))
    ]
    if records:  # without records it is not a store: many projects have Markdown files in docs/decisions
        for file, name in records:
            _read_file(file, name, reading)
    else:
        for file in _files(path, tuple(_READERS)):
            _read_file(file, category, reading)


def _files(folder: str, ends: tuple[str, ...]) -> Iterator[str]:
    """Yield the files below a folder with one of these extensions, in order; hidden ones are skipped."""
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(ends) and not name.startswith("."):
                yield os.path.join(above, name)


def _read_file(path: str, category: str, reading: Reading, follow: bool = False) -> None:
    is_rule_file = os.path.basename(path) in _NAMES
    reader = _read_markdown if is_rule_file else _READERS.get(os.path.splitext(path)[1].lower())
    if reader is None:
        reading.problems.append((path, "expected one of %s" % ", ".join(_READERS)))
        return
    text = _text(path, reading, follow)
    if text is not None:
        reader(path, text, category, reading)


def _text(path: str, reading: Reading, follow: bool = False) -> str | None:
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
    bound = [name for field in _BOUND for name in texts_in(fields.get(field))]
    bound = [name for name in bound if name not in _EVERYTHING][:_MAX_FILES]
    parts = sections(rest)
    title = document_title(rest, stem)
    records, others = records_in(parts, title)
    is_note = bool(fields) and not (bound or path.endswith(".mdc") or "alwaysapply" in fields)
    for record in records:
        source = "%s:%d" % (path, record.line + skipped)
        _collect(reading, source, path, partial(_record_data, record, fields, category))
    if is_note and not records:
        _collect(reading, path, path, partial(_note_data, fields, rest, stem, category))
    else:
        bound = bound or _own_folder(path, reading.root)
        names = "%s\n%s" % (title, os.path.basename(os.path.dirname(path)))
        runbook = without_markdown(title) if form("runbook").search(names) else ""
        lead = "" if runbook or form("document").search(title) else title
        for section in others:
            for raw in statements_in(section, runbook):
                source = "%s:%d" % (path, raw.line + skipped)
                kind = category or ("runbook" if runbook and raw.text[0].isdigit() else "")
                # A heading of one or two words says nothing without its document.
                is_bare = lead and raw.title == section.heading and not raw.title.split()[2:]
                statement = raw._replace(title=title_for("%s: %s" % (lead, raw.title))) if is_bare else raw
                _collect(reading, source, path, partial(_statement_data, statement, section, kind, bound))


def _own_folder(path: str, root: str) -> list[str]:
    """Return the folder to which an instruction file in a subfolder applies; empty for one in the project's root."""
    folder = os.path.relpath(os.path.dirname(path), root) if root else ""
    outside = folder in ("", ".") or folder.startswith(("..", "."))
    return [] if outside or os.path.basename(path) not in _OF_FOLDERS else [folder.replace(os.sep, "/") + "/"]


def _statement_data(
    statement: Statement, section: Section, category: str, bound: list[str]
) -> dict[str, Any]:
    spans = _CODE_SPAN.findall("%s %s" % (section.heading, statement.text))
    files = dict.fromkeys([*bound, *filter(_PATH.match, spans)])
    headings = (without_markdown(heading).lower() for heading in (section.above, section.heading))
    tags = [
        re.sub(r"[^\w]+", "-", heading).strip("-") for heading in headings if 0 < len(heading.split()) <= 2
    ]
    item = {
        "title": statement.title,
        "body": statement.text,
        CONTEXT: statement.context,
        "files": list(files)[:_MAX_FILES],
        "tags": tags,
        "asked_as": _questions(section.heading),
    }
    return item_data(item, category or statement_category(statement.text))


def _note_data(fields: Fields, text: str, stem: str, category: str) -> dict[str, Any]:
    """Return the memory of a note with front matter. A name such as `feedback_tests` is that of its file, and no title."""
    headings = [section.heading for section in sections(text) if section.heading]
    names = [fields.get(name, "") for name in ("title", "name", "description")]
    titles = [
        name
        for name in [*names, *headings]
        if isinstance(name, str) and name and (" " in name or not re.search("[_-]", name))
    ]
    body = "\n\n".join(filter(None, (str(fields.get("description", "")), text.strip())))
    item = {
        "asked_as": [question for heading in headings for question in _questions(heading)],
        **fields,
        "title": title_for(titles[0] if titles else text or stem),
        "body": body,
    }
    metadata_type = re.search(r"^type:[ \t]*(\w+)", str(fields.get("metadata", "")), re.MULTILINE)
    return item_data({"type": metadata_type[1], **item} if metadata_type else item, category)


def _record_data(record: DecisionRecord, fields: Fields, category: str) -> dict[str, Any]:
    """Return the memory of a decision record or a runbook. People describe problems by their symptoms, so these become phrases."""
    texts = {**record.fields, **({"status": str(fields["status"])} if "status" in fields else {})}
    symptoms = (_LIST_MARK.sub("", line).strip("\"' ") for line in texts.get("symptoms", "").splitlines())
    phrases = [line for line in symptoms if _MIN_PHRASE <= len(line) <= _MAX_PHRASE]
    phrases = list(dict.fromkeys([*phrases, *_questions(texts.get(CONTEXT, ""))]))[:_MAX_PHRASES]
    head = {
        "asked_as": phrases,
        **fields,
        "title": fields.get("title") or record.title,
        "body": texts[ANSWER],
    }
    data = item_data(head, category or record.category)
    more = {name: _BADGE.sub(r"\1", text).strip() for name, text in texts.items() if name != ANSWER}
    data["content"] = {**more, **data["content"]}
    status = texts.get("status", "").strip()
    if any(form("over").match(without_markdown(line)) for line in status.splitlines()):
        data.update(record_status=ARCHIVED, archived_reason=status[:200])
    return data


def _questions(text: str) -> list[str]:
    """Return the questions in a text."""
    sentences = (_LIST_MARK.sub("", part).strip() for part in _SENTENCE_END.split(text))
    questions = (sentence for sentence in sentences if sentence.endswith(("?", "\uff1f")))
    return [question for question in questions if _MIN_PHRASE <= len(question) <= _MAX_PHRASE][:_MAX_PHRASES]


def _read_json(path: str, text: str, category: str, reading: Reading) -> None:
    try:
        value = loads(text)
    except ValueError as error:
        reading.problems.append((path, "not JSON: %s" % error))
        return
    items = items_in(value)
    if items is None:
        stem = os.path.splitext(os.path.basename(path))[0]
        _collect(reading, path, path, partial(item_data, value, category, stem))
        return
    for number, item in enumerate(items, 1):
        _collect(reading, "%s item %d" % (path, number), path, partial(item_data, item, category))


def _read_json_lines(path: str, text: str, category: str, reading: Reading) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            _collect(reading, "%s:%d" % (path, number), path, partial(_line_data, line, category))


def _line_data(line: str, category: str) -> dict[str, Any]:
    try:
        value = loads(line)
    except ValueError as error:
        raise InvalidMemory("not JSON: %s" % error) from None
    return item_data(value, category)


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
    content = body_content(kind, _CODE_FENCE.sub("", body) if kind.name == "runbook" else body)
    if isinstance(found["context"], str) and found["context"].strip():
        content[CONTEXT] = found["context"].strip()
    extra: dict[str, Any] = {name: texts_in(found[old]) for name, old in _STORED.items() if found[old]}
    moment = utc_time(as_text(found["created_at"]), "00:00:00")
    if moment:
        extra["created_at"] = moment
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
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
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
