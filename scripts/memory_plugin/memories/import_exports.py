"""Convert exports of other memory tools: lists under any common key, mem0's records, the graph of MCP's memory server."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from .import_categories import category_for
from .import_titles import is_general, title_for

if TYPE_CHECKING:
    from typing import Any

_LISTS = ("memories", "results", "items", "data", "entries", "notes", "records", "documents")
_TEXTS = (
    "body",
    "text",
    "content",
    "memory",
    "note",
    "value",
    "fact",
    "observation",
    "summary",
    "description",
)
_TITLES = ("title", "name", "heading", "subject", "key")
_KINDS = ("category", "type", "kind")
_TAGS = ("tags", "labels", "keywords", "topics", "categories")
_CREATED = ("created_at", "createdAt", "created", "timestamp", "date", "time")
_FILES = ("files", "paths", "file", "file_path", "globs")
_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\Z", re.IGNORECASE)
_MAX_SECONDS = 4_102_444_800  # the year 2100: a larger number is in milliseconds
_DATE_LENGTH = 10


def items_in(value: object) -> list[object] | None:
    """Return the items in a JSON document; None if the document itself is one item."""
    if isinstance(value, list):
        return _with_graph([{"text": entry} if isinstance(entry, str) else entry for entry in value])
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("entities"), list):
        relations = value["relations"] if isinstance(value.get("relations"), list) else []
        rows = [_as_row(entity, "entity") for entity in value["entities"]]
        return _with_graph(rows + [_as_row(relation, "relation") for relation in relations])
    for name in _LISTS:
        items = value.get(name)
        if isinstance(items, list) and not isinstance(value.get("title"), str):
            return items_in(items)
    return None


def _as_row(entry: object, kind: str) -> object:
    return {**entry, "type": kind} if isinstance(entry, dict) else entry


def _with_graph(rows: list[object]) -> list[object]:
    """Return the rows with each entity of a graph replaced by its observations, whose context is the entity's relations."""
    related: dict[str, list[str]] = {}
    for row in rows:
        if _is(row, "relation"):
            sentence = " ".join(str(row.get(name, "")) for name in ("from", "relationType", "to"))  # type: ignore[attr-defined]
            related.setdefault(str(row.get("from", "")), []).append(sentence.replace("_", " "))  # type: ignore[attr-defined]
    items: list[object] = []
    for row in rows:
        if _is(row, "entity"):
            items += _observations(row, related.pop(str(row.get("name", "")), []))  # type: ignore[attr-defined, arg-type]
        elif not _is(row, "relation"):
            items.append(row)
    return items + [{"text": line} for lines in related.values() for line in lines]


def is_of_graph(row: object) -> bool:
    """Return whether a row is an entity or a relation of a graph."""
    return _is(row, "entity") or _is(row, "relation")


def _is(row: object, kind: str) -> bool:
    keys = {"entity": ("observations", "name"), "relation": ("from", "to", "relationType")}[kind]
    return isinstance(row, dict) and row.get("type") == kind and all(key in row for key in keys)


def _observations(row: dict[str, Any], related: list[str]) -> list[object]:
    """Return an item for each observation of an entity; without any, one for each of its relations."""
    name, kind = str(row["name"]), str(row.get("entityType", ""))
    observations = row["observations"] if isinstance(row["observations"], list) else []
    texts = [text for text in observations if isinstance(text, str) and text.strip()]
    if not texts:
        return [{"text": line, "tags": [name]} for line in related]
    shared = {"tags": [tag for tag in (name, kind) if tag], "context": "; ".join(related)}
    label = name.replace("_", " ")
    return [
        {"text": text if label.lower() in text.lower() else "%s: %s" % (label, text), **shared}
        for text in texts
    ]


def normalized(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item under our field names. A title that says nothing is replaced by one made from the text."""
    if isinstance(item.get("content"), dict):
        return item
    metadata = item.get("metadata")
    source = {**(metadata if isinstance(metadata, dict) else {}), **item}
    text = _first(source, _TEXTS)
    title = _first(source, _TITLES) if isinstance(item.get("title", ""), str) else item["title"]
    result: dict[str, Any] = {
        name: item[name] for name in ("context", "asked_as", "supersedes", "id") if name in item
    }
    if isinstance(result.get("id"), str) and _UUID.match(result["id"]):
        del result["id"]  # it describes nothing, and a person would have to type it
    result["title"] = title_for(text) if text and isinstance(title, str) and is_general(title) else title
    if text or "body" in item:
        result["body"] = text or item["body"]
    category = _first(item, ("category",)) or category_for(_first(source, _KINDS))
    if category:
        result["category"] = category
    for name, aliases in (("tags", _TAGS), ("files", _FILES)):
        value = next((source[alias] for alias in aliases if source.get(alias)), None)
        if value is not None:
            result[name] = value
    created = next(filter(None, (_moment(source.get(name)) for name in _CREATED)), "")
    return {**result, "created_at": created} if created else result


def _first(item: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the first text under one of these names that is not blank; empty if there is none."""
    texts = (item[name].strip() for name in names if isinstance(item.get(name), str))
    return next(filter(None, texts), "")


def _moment(value: object) -> str:
    """Return a time in the format of memories; empty if the value is not a time."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            seconds = value / 1000 if value > _MAX_SECONDS else value
            return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        if not isinstance(value, str):
            return ""
        text = re.sub(r"[.,]\d+", "", value.strip()).replace(" ", "T", 1)
        text = re.sub(r"([+-]\d\d)(\d\d)\Z", r"\1:\2", re.sub(r"[Zz]\Z", "+00:00", text))
        moment = datetime.fromisoformat(text if len(text) > _DATE_LENGTH else text + "T00:00:00")
    except (ValueError, OverflowError, OSError):
        return ""
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
