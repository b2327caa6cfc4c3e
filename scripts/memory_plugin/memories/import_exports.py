"""Convert exports of other memory tools: lists under any common key, mem0's records, the graph of MCP's memory server."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from .import_categories import category_for
from .import_titles import is_general, title_for

if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_of_graph", "items_in", "normalized"]

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
_LATEST = 4_102_444_800  # 2100, in seconds: a larger number is in milliseconds
_DAY = 10


def items_in(value: object) -> list[object] | None:
    """Return the items in a JSON document; None if the document itself is one item."""
    if isinstance(value, list):
        return _with_graph([{"text": entry} if isinstance(entry, str) else entry for entry in value])
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("entities"), list):
        relations = value.get("relations")
        rows = [_as_row(entity, "entity") for entity in value["entities"]]
        rows += [
            _as_row(relation, "relation") for relation in (relations if isinstance(relations, list) else [])
        ]
        return _with_graph(rows)
    for name in _LISTS:
        found = value.get(name)
        if isinstance(found, list) and not isinstance(value.get("title"), str):
            return items_in(found)
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
    found: list[object] = []
    for row in rows:
        if _is(row, "entity"):
            found += _observed(row, related.pop(str(row.get("name", "")), []))  # type: ignore[attr-defined, arg-type]
        elif not _is(row, "relation"):
            found.append(row)
    return found + [{"text": line} for lines in related.values() for line in lines]


def is_of_graph(row: object) -> bool:
    """Return whether a row is an entity or a relation of a graph."""
    return _is(row, "entity") or _is(row, "relation")


def _is(row: object, kind: str) -> bool:
    keys = {"entity": ("observations", "name"), "relation": ("from", "to", "relationType")}[kind]
    return isinstance(row, dict) and row.get("type") == kind and all(key in row for key in keys)


def _observed(row: dict[str, Any], related: list[str]) -> list[object]:
    name, kind = str(row["name"]), str(row.get("entityType", ""))
    seen = row["observations"] if isinstance(row["observations"], list) else []
    texts = [text for text in seen if isinstance(text, str) and text.strip()]
    if not texts:
        return [{"text": line, "tags": [name]} for line in related]
    about = {"tags": [tag for tag in (name, kind) if tag], "context": "; ".join(related)}
    spoken = name.replace("_", " ")
    return [
        {"text": text if spoken.lower() in text.lower() else "%s: %s" % (spoken, text), **about}
        for text in texts
    ]


def normalized(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item with our field names. A title without content is replaced by one made from the text."""
    if isinstance(item.get("content"), dict):
        return item
    inner = item.get("metadata")
    about = {**(inner if isinstance(inner, dict) else {}), **item}
    text = _first(about, _TEXTS)
    title = item["title"] if not isinstance(item.get("title", ""), str) else _first(about, _TITLES)
    found: dict[str, Any] = {
        name: item[name] for name in ("context", "asked_as", "supersedes", "id") if name in item
    }
    if isinstance(found.get("id"), str) and _UUID.match(found["id"]):
        del found["id"]  # it names nothing, and a person would have to type it
    found["title"] = title_for(text) if text and isinstance(title, str) and is_general(title) else title
    if text or "body" in item:
        found["body"] = text or item["body"]
    kind = _first(item, ("category",)) or category_for(_first(about, _KINDS))
    if kind:
        found["category"] = kind
    for name, others in (("tags", _TAGS), ("files", _FILES)):
        value = next((about[other] for other in others if about.get(other)), None)
        if value is not None:
            found[name] = value
    created = next((made for made in (_moment(about.get(name)) for name in _CREATED) if made), "")
    return {**found, "created_at": created} if created else found


def _first(item: dict[str, Any], names: tuple[str, ...]) -> str:
    return next(
        (item[name].strip() for name in names if isinstance(item.get(name), str) and item[name].strip()), ""
    )


def _moment(value: object) -> str:
    """Return a time in the format of memories; empty if the value is not a time."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            seconds = value / 1000 if value > _LATEST else value
            return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        if not isinstance(value, str):
            return ""
        text = re.sub(r"[.,]\d+", "", value.strip()).replace(" ", "T", 1)
        text = re.sub(r"([+-]\d\d)(\d\d)\Z", r"\1:\2", re.sub(r"[Zz]\Z", "+00:00", text))
        made = datetime.fromisoformat(text if len(text) > _DAY else text + "T00:00:00")
    except (ValueError, OverflowError, OSError):
        return ""
    made = made if made.tzinfo else made.replace(tzinfo=timezone.utc)
    return made.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
