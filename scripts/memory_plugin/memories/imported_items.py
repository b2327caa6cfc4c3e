"""Convert imported items to memories: items of an export, notes with front matter, records, and single statements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .import_categories import category_for, category_of
from .import_exports import normalized
from .import_titles import is_general, shortened, title_for, without_markdown, without_number
from .invalid_memory import InvalidMemory
from .markdown import Section, sections
from .markdown_records import is_over, questions_in, records_in
from .record import (
    ARCHIVED,
    CONTEXT,
    MAX_ASKED_AS,
    body_content,
    categories,
    category_named,
    is_id,
    new_memory,
    parse_memory,
)

if TYPE_CHECKING:
    from .markdown_records import WrittenRecord
    from .markdown_rules import WrittenStatement

    Fields = dict[str, str | list[str]]

_TYPE = re.compile(r"^type:[ \t]*(\w+)", re.MULTILINE)
_FILE_NAME = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)+(?:\.md)?\Z", re.IGNORECASE)
_WHY = re.compile(
    r"^[ \t>*-]*(?:\*\*|__)(?:why|reason|because|context)[:.]?(?:\*\*|__):?[ \t]*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*\n?", re.MULTILINE)
_MAX_FILES = 12
_RUNBOOK = "runbook"
_CODE_SPAN = re.compile(r"`([^`\s]+)`")
_PATH = re.compile(r"(?![/@~]|\w+:)(?:[\w.*{},@+\[\]-]+/)+(?:[\w.*{},@+\[\]-]+\.\w{1,5}|\*+)?\Z")
_BOUND = ("globs", "paths", "applyto")
_EVERYTHING = ("**", "*", "**/*", "")


def bound_files(fields: Fields) -> list[str]:
    """Return the paths and patterns to which a rule file applies."""
    paths = [path.strip() for name in _BOUND for path in _listed(fields.get(name, []))]
    return [path for path in paths if path not in _EVERYTHING][:_MAX_FILES]


def statement_data(
    statement: WrittenStatement, section: Section, stem: str, category: str, bound: list[str]
) -> dict[str, Any]:
    """Return the memory of one statement of a section; `bound` are the files to which its document applies."""
    heading = without_markdown(section.heading)
    category = category or category_of(statement.text, heading, section.above, statement.is_procedure)
    spans = _CODE_SPAN.findall("%s %s %s" % (section.above, section.heading, statement.text))
    files = [span for span in spans if _PATH.match(span)]
    item = {
        "title": statement.title or stem,
        "body": _FENCE.sub("", statement.text) if category == _RUNBOOK else statement.text,
        CONTEXT: statement.context or _why(statement.text),
        "files": list(dict.fromkeys([*bound, *files]))[:_MAX_FILES],
        "tags": _topic(heading, section.above),
        "asked_as": questions_in(section.heading),
    }
    return _data(item, category)


def _topic(heading: str, above: str) -> list[str]:
    """Return the short headings above a statement, as tags."""
    plain = (without_number(heading).lower() for heading in (without_markdown(above), heading))
    return [re.sub(r"[^\w]+", "-", heading).strip("-") for heading in plain if 0 < len(heading.split()) <= 2]


def note_data(fields: Fields, text: str, stem: str, category: str) -> dict[str, Any]:
    """Return the memory of a note with front matter."""
    parts = sections(text)
    headings = [section.heading for section in parts if section.heading]
    metadata_type = _TYPE.search(_text(fields, "metadata"))
    kind = _text(fields, "category") or _text(fields, "type") or (metadata_type[1] if metadata_type else "")
    category = category_for(kind) or category or ("decision" if _text(fields, "problem") else "")
    records = records_in(text, parts, stem)
    if len(records) == 1:
        record = records[0]
        return record_data(record._replace(title=_text(fields, "title") or record.title), category, fields)
    body = "\n\n".join(part for part in (_text(fields, "description"), text.strip()) if part)
    title = _note_title(fields, headings, text, stem)
    item = {"title": title, "body": body, **_head_fields(fields)}
    item.setdefault(CONTEXT, _why(text))
    item.setdefault("asked_as", [heading for heading in headings if questions_in(heading)][:MAX_ASKED_AS])
    return _data(item, category or category_of(body, title))


def _note_title(fields: Fields, headings: list[str], text: str, stem: str) -> str:
    """Return the title of a note: its first name that is not too general. A name such as `feedback_tests` is a file name."""
    names = [_text(fields, "title"), _text(fields, "name"), _text(fields, "description"), *headings[:1]]
    titles = [without_number(without_markdown(name)) for name in names if name and not _FILE_NAME.match(name)]
    specific = [title for title in titles if not is_general(title)]
    return shortened(specific[0]) if specific else title_for(text) or (titles or [stem])[0]


def _why(text: str) -> str:
    match = _WHY.search(text)
    return without_markdown(match[1]) if match else ""


def _head_fields(fields: Fields) -> dict[str, Any]:
    """Return a note's front matter except its title, under the names that `_data` uses."""
    result: dict[str, Any] = {"tags": _listed(fields.get("tags", []))}
    for name, aliases in _HEAD_ALIASES.items():
        values = [value for alias in aliases for value in _listed(fields.get(alias, []))]
        if values:
            result[name] = values
    context = _text(fields, "context") or _text(fields, "problem")
    return {**result, "context": context} if context else result


def _listed(value: str | list[str]) -> list[str]:
    return value.split(",") if isinstance(value, str) else value


def record_data(record: WrittenRecord, category: str, fields: Fields) -> dict[str, Any]:
    """Return the memory of a decision record or a runbook."""
    kind = categories()[category or record.category]
    head = _head_fields(fields)
    status = _text(fields, "status")
    texts = dict(record.fields)
    if "context" in head:
        texts["context"] = head["context"]
    content = body_content(kind, texts.pop("answer"))
    content.update((name, texts[name].strip()) for name in (*kind.fields, *texts) if name in texts)
    phrases = dict.fromkeys([*head.get("asked_as", []), *record.asked_as])
    item = {"title": record.title, "body": "-", **head, "asked_as": list(phrases)[:MAX_ASKED_AS]}
    data = _data(item, kind.name)
    data["content"] = content
    if record.is_over or is_over(status):
        data.update(record_status=ARCHIVED, archived_reason=(status or texts.get("status", "")).strip()[:200])
    return data


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else ", ".join(value)


def item_data(item: object, category: str, identity: str = "") -> dict[str, Any]:
    """Return the data of one memory. Raises InvalidMemory that names the invalid field."""
    if not isinstance(item, dict):
        raise InvalidMemory("expected an object, got %s" % type(item).__name__)
    return _data(normalized(item), category, identity)


def _data(item: dict[str, Any], category: str, identity: str = "") -> dict[str, Any]:
    title = item.get("title")
    if not isinstance(title, str) or not title.strip():
        raise InvalidMemory("title: expected a text, got %.80r" % (title,))
    name = item.get("category")
    if isinstance(name, str) and name.strip():
        category = category_for(name) or category_named(name).name
    body = item.get("body")
    kind = categories()[category or category_of(body if isinstance(body, str) else title, title)]
    if isinstance(item.get("content"), dict):
        requested_id = item.get("id") if is_id(item.get("id")) else identity
        data = {
            **new_memory(kind, "", title, {}, {}),
            **item,
            "category": kind.name,
            "id": requested_id if is_id(requested_id) else "",
        }
        parse_memory(data, "checked", kind)  # raises InvalidMemory
        return data
    if not isinstance(body, str) or not body.strip():
        raise InvalidMemory("body: expected a text, got %.80r" % (body,))
    extra: dict[str, Any] = {name: _texts(item.get(old)) for name, old in _LISTS.items() if item.get(old)}
    content = body_content(kind, body)
    if isinstance(item.get(CONTEXT), str) and item[CONTEXT].strip():
        content[CONTEXT] = item[CONTEXT].strip()
    if item.get("created_at"):
        extra["created_at"] = item["created_at"]
    requested_id = item.get("id") if is_id(item.get("id")) else ""
    return new_memory(kind, str(requested_id), title, content, extra)


_LISTS = {"tags": "tags", "related_files": "files", "asked_as": "asked_as", "supersedes": "supersedes"}
_HEAD_ALIASES = {
    "asked_as": ("asked_as", "aliases", "questions", "symptoms"),
    "files": ("files", "related_files"),
}


def _texts(value: object) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [part.strip() for part in parts if isinstance(part, str) and part.strip()]
