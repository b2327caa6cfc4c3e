"""One memory: its fields, the content fields of each category, and parsing and creating memories."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from ..kernel.context import now_iso
from ..kernel.fastjson import as_text, as_texts, digest
from ..kernel.paths import load_data
from . import InvalidMemory
from .guard import Guard, InvalidGuard, parse_guard

SCHEMA_VERSION = "1.0"
ACTIVE, RETIRED, ARCHIVED = "active", "retired", "archived"
MAX_TITLE = 120
_MAX_SLUG = 40
DEFAULT_CATEGORY = "decision"  # of a text for which nobody named one
CONTEXT = "context"
# The problem, and what was not chosen.
_BACKGROUND = (CONTEXT, "alternatives")
MAX_CHANGES = 50
MAX_ASKED_AS = 8
MAX_LISTED = 64  # tags, and also files
_MAX_ITEM_LENGTH = 1000
_MAX_LIST_LENGTH = 4000  # characters of all items
LISTS = {"tags": MAX_LISTED, "related_files": MAX_LISTED, "asked_as": MAX_ASKED_AS, "supersedes": 20}
MAX_DEPTH = 32
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,78}[a-z0-9])?\Z")
_GOES_ON = re.compile(r"[^\W\d_]|[\[(`\"]")
# The beginning of a sentence that has not ended.
_PROSE = re.compile(r"[^\Wa-z_]\S*(?: [^\s$|<>]+)+(?<![.:;!?])\Z")
_LONG_LINE = 40  # characters; shorter lines are seldom wrapped
_STEP_MARK = re.compile(r"\A\s*(?:[-*+](?:\s+\[[ xX]\])?|\d{1,3}[.)])\s+")
_LISTED = frozenset(["steps"])
_DATE = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ](?P<clock>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,][0-9]+)? ?(?P<offset>[Zz]|[+-][0-9]{2}:?[0-9]{2})?)?\Z"
)
_FIELD = re.compile(r"[a-z]{1,20}(?:_[a-z]{1,20}){0,4}\Z")
_STATUSES = (ACTIVE, RETIRED, ARCHIVED)


class Category(NamedTuple):
    """One kind of memory: its folder in a store, its label, and the fields of its content in reading order."""

    name: str
    folder: str
    label: str
    primary: str
    fields: tuple[str, ...]


class Memory(NamedTuple):
    """A memory as its file holds it; `data` keeps fields that this version does not know.

    `guard` is None for a memory without one, and for one whose guard cannot be read, which `guard_problem` explains.
    """

    id: str
    category: str
    title: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    asked_as: tuple[str, ...]
    status: str
    created_at: str
    updated_at: str
    expires_at: str
    superseded_by: str
    supersedes: tuple[str, ...]
    guard: Guard | None
    data: dict[str, Any]


@lru_cache(maxsize=1)
def categories() -> dict[str, Category]:
    """Return the categories by name, in the order in which equal matches are listed."""
    return {
        name: Category(name, row["folder"], row["label"], row["primary"], tuple(row["fields"]))
        for name, row in load_data("memories", "categories").items()
    }


def category_named(name: str) -> Category:
    """Return a category by its name in any spelling (`TECH_DEBT`, `tech-debt`). Raises InvalidMemory, which lists all categories."""
    category = categories().get(name.strip().lower().replace("-", "_"))
    if category is None:
        raise InvalidMemory("category: expected one of %s, got %r" % (", ".join(categories()), name))
    return category


def parse_memory(data: object, identity: str, category: Category) -> Memory:
    """Return the memory in a parsed JSON file. The file's name and folder determine its id and category, whatever the data says.

    Raises InvalidMemory without a valid id, title or content. Other fields of a wrong type are read as empty.
    """
    if not is_id(identity):
        text = "id: expected lower-case letters, digits and inner hyphens (at most 80), got %r"
        raise InvalidMemory(text % identity)
    if not isinstance(data, dict):
        raise InvalidMemory("expected an object, got %s" % type(data).__name__)
    title = data.get("title")
    if not isinstance(title, str) or not title.strip():
        raise InvalidMemory("title: expected a text, got %r" % (title,))
    if not isinstance(data.get("content"), dict):
        raise InvalidMemory("content: expected an object, got %s" % type(data.get("content")).__name__)
    _require_writable(data, 0)
    return Memory(
        id=identity,
        category=category.name,
        title=title,
        tags=_texts(data.get("tags")),
        files=_texts(data.get("related_files")),
        asked_as=_texts(data.get("asked_as"), MAX_ASKED_AS),
        status=_status(data.get("record_status")),
        created_at=date_text(data.get("created_at")),
        updated_at=date_text(data.get("updated_at")),
        expires_at=utc_time(_expiry_text(data)),
        superseded_by=as_text(data.get("superseded_by")),
        supersedes=_texts(data.get("supersedes"))[: LISTS["supersedes"]],
        guard=_guard(data),
        data=data,
    )


def list_problem(data: Mapping[str, object], name: str) -> str:
    """Return why not everything in one of the lists of a memory is read; empty for a missing list and for one that is."""
    value, most = data.get(name, []), LISTS[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return "%s: expected a list of texts" % name
    if len(value) > most:
        return "%s: expected at most %d, got %d" % (name, most, len(value))
    if len(_texts(value, most)) < len(list(filter(None, value))):
        text = "%s: expected at most %d characters each and %d in all"
        return text % (name, _MAX_ITEM_LENGTH, _MAX_LIST_LENGTH)
    return ""


def require_lists(data: Mapping[str, object], names: Iterable[str] = LISTS) -> None:
    """Raise InvalidMemory if not everything in these lists would be read."""
    for problem in filter(None, (list_problem(data, name) for name in names)):
        raise InvalidMemory(problem)


def is_id(identity: object) -> bool:
    """Return whether a value is a valid id, which also names the memory's file."""
    return isinstance(identity, str) and _ID.match(identity) is not None


def _require_writable(value: object, depth: int) -> None:
    """Reject data that cannot be traversed or written as JSON again: deep nesting, and numbers that became infinite."""
    if depth > MAX_DEPTH:
        raise InvalidMemory("nested more than %d levels deep" % MAX_DEPTH)
    if isinstance(value, dict):
        for item in value.values():
            _require_writable(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _require_writable(item, depth + 1)
    elif isinstance(value, float) and not isfinite(value):
        raise InvalidMemory("a number is out of range")


def _status(value: object) -> str:
    if value is None:
        return ACTIVE
    if value not in _STATUSES:
        raise InvalidMemory("record_status: expected one of %s, got %r" % (", ".join(_STATUSES), value))
    return str(value)


def date_text(value: object) -> str:
    """Return a date or time in a memory's file; empty for any other text, because nobody accepts a date as text."""
    text = as_text(value).strip()
    return text if _DATE.match(text) else ""


def utc_time(text: str, default: str = "23:59:59") -> str:
    """Return a time as `now_iso` writes it; a date means the end of its day, or the `default` time. Empty for an invalid date."""
    match = _DATE.match(text)
    if match is None:
        return ""
    day, clock, offset = match.group("day"), match.group("clock") or default, match.group("offset") or "Z"
    try:
        # Python 3.9 reads neither `Z` nor an offset without a colon.
        zone = "+00:00" if offset in "Zz" else "%s:%s" % (offset[:3], offset[-2:])
        moment = datetime.fromisoformat("%sT%s%s" % (day, clock, zone)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return ""
    return moment.replace(tzinfo=None).isoformat() + "Z"


def _expiry_text(data: dict[str, Any]) -> str:
    return (as_text(data.get("expires_at")) or as_text(data["content"].get("expires"))).strip()


def unreadable_expiry(memory: Memory) -> str:
    """Return an expiry that is not a date, which means that the memory never expires; empty for a valid expiry."""
    return "" if memory.expires_at else _expiry_text(memory.data)


def _guard(data: dict[str, object]) -> Guard | None:
    """Return the guard; None also for an invalid one, because a damaged guard makes its memory pending, not invalid."""
    try:
        return parse_guard(data.get("guard"))
    except InvalidGuard:
        return None


def guard_problem(memory: Memory) -> str:
    """Return why a memory's guard cannot be enforced; empty for a valid guard and for none."""
    try:
        parse_guard(memory.data.get("guard"))
    except InvalidGuard as error:
        return str(error)
    return ""


def _texts(value: object, max_items: int = MAX_LISTED) -> tuple[str, ...]:
    """Return the first texts of a list: at most `max_items`, of 1 to 1,000 characters each and 4,000 in all.

    Their number is limited because each text is redacted separately wherever it is shown. A longer text is no tag, path or question. It is
    skipped rather than cut, which could leave half a secret.
    """
    texts: list[str] = []
    remaining = _MAX_LIST_LENGTH
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str) and 0 < len(item) <= min(remaining, _MAX_ITEM_LENGTH):
            texts.append(item)
            remaining -= len(item)
            if len(texts) == max_items:
                break
    return tuple(texts)


# Latin letters that Unicode does not decompose into an ASCII letter and a mark.
_LETTERS = str.maketrans(
    dict(zip("ßæœøđðþłħ\u0131ŋ", ["ss", "ae", "oe", "o", "d", "d", "th", "l", "h", "i", "n"]))
)


def slug(title: str) -> str:
    """Return the id made from a title: its first words in ASCII letters and digits, joined by hyphens; a digest if it has none."""
    decomposed = unicodedata.normalize("NFKD", title.lower().replace("'", "").translate(_LETTERS))
    letters = decomposed.encode("ascii", "ignore").decode("ascii").lower()
    words = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    words = words or "memory-" + digest(title.encode("utf-8", "replace"), 4)
    whole_words = words[: _MAX_SLUG + 1].rpartition("-")[0] if len(words) > _MAX_SLUG else words
    return whole_words or words[:_MAX_SLUG]


def new_memory(
    category: Category, identity: str, title: str, content: Mapping[str, object], extra: Mapping[str, object]
) -> dict[str, Any]:
    """Return the JSON object of a new memory; `extra` holds additional common fields."""
    moment = now_iso()
    data = {
        "schema_version": SCHEMA_VERSION,
        "category": category.name,
        "id": identity,
        "title": title,
        "created_at": moment,
        "updated_at": moment,
        "tags": [],
        "related_files": [],
        "confidence": 1.0,
        "record_status": ACTIVE,
        "changes": [],
        "content": content,
    }
    data.update(extra)
    return data


def with_change(data: dict[str, object], summary: str, fields: Mapping[str, object]) -> dict[str, object]:
    """Return a copy with some fields replaced, the change added to `changes` (the last 50 are kept) and `updated_at` set.

    Phrases are not part of what a memory says, so a change of them alone leaves `updated_at`.
    """
    changes = data.get("changes")
    earlier = changes if isinstance(changes, list) else []
    changed = {**data, **fields}
    changed["changes"] = [*earlier, {"date": now_iso(), "summary": summary[:300]}][-MAX_CHANGES:]
    if set(fields) != {"asked_as"}:
        changed["updated_at"] = now_iso()
    return changed


def body_content(category: Category, body: str) -> dict[str, object]:
    """Return the content with a plain body in the category's main field; for a runbook, its lines without list marks are the steps."""
    if category.primary not in _LISTED:
        return {category.primary: body.strip()}
    steps, before = [""], ""
    for line in body.splitlines():
        if before.strip() and _continues(steps[-1], before, line):
            steps[-1] += " " + line.strip()
        else:
            steps.append(_STEP_MARK.sub("", line, count=1).rstrip())
        before = line
    return {category.primary: [step for step in steps if step]}


def _continues(step: str, before: str, line: str) -> bool:
    """Return whether a line goes on with the step before it, as prose does that was wrapped; commands stay lines of their own."""
    text = line.strip()
    if not _GOES_ON.match(text) or _STEP_MARK.match(line) or step[-1:] in ":?":
        return False
    if line[:1].isspace():
        return True
    ends = text[-1] in ".,;!?"
    return bool(_PROSE.match(step)) and (len(before) >= _LONG_LINE or (ends and not text[0].isupper()))


def main_text(category: str, content: Mapping[str, object]) -> str:
    """Return the text of the category's main field, one item of a list a line."""
    main = content.get(categories()[category].primary, "")
    return "\n".join(as_texts(main)) if isinstance(main, list) else str(main)


def body_text(memory: Memory, max_background: int | None = None) -> str:
    """Return the content as a person would read it: one `name: value` line per field, the category's main field first and unnamed.

    Then come its other fields and those of other categories, and unknown ones as in the file, with their names in quotation marks.
    Context and alternatives of more than `max_background` characters each are left out; None means no limit.
    """
    category = categories()[memory.category]
    content = memory.data["content"]
    if max_background is not None:
        long = {name for name in _BACKGROUND if len(_readable(content.get(name))) > max_background}
        content = {name: value for name, value in content.items() if name not in long}
    lines = []
    for name in dict.fromkeys([category.primary, *category.fields, *content]):
        text = _readable(content.get(name))
        label = _label(name) if name in _known_fields() else quoted_name(name)
        if text:
            lines.append(text if name == category.primary else "%s: %s" % (label, text))
    return "\n".join(lines)


@lru_cache(maxsize=1)
def _known_fields() -> frozenset[str]:
    return frozenset(name for category in categories().values() for name in category.fields)


def quoted_name(name: str) -> str:
    """Return the name of an unknown field, which looks like none of ours and like no other name."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"%s"' % "".join(c if c.isprintable() else "<%x>" % ord(c) for c in escaped)


def _label(name: str) -> str:
    """Return a field's name with spaces. An irregular name is kept: it may be a key that is recognized by its underscores."""
    return name.replace("_", " ") if _FIELD.match(name) else name


def _readable(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return "; ".join(filter(None, map(_readable, value)))
    if isinstance(value, dict):
        texts = {name: _readable(item) for name, item in value.items()}
        return ", ".join("%s: %s" % (_label(name), text) for name, text in texts.items() if text)
    return ""
