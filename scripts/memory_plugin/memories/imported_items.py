"""Convert an entry of an export to a memory: the common field names, times and categories of other tools."""

from __future__ import annotations

import re
from typing import Any

from ..kernel.data import load_data
from ..kernel.fastjson import as_text
from . import InvalidMemory
from .markdown import title_for
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
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s|\n")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*\n?", re.MULTILINE)


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
    content = body_content(kind, _FENCE.sub("", body) if kind.name == "runbook" else body)
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
    sentence = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
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
