"""Reading what other tools and people kept, as memories to be stored: Markdown notes, JSON, JSON lines, and whole stores."""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.fastjson import loads
from ..kernel.files import Unreadable, read_regular
from ..kernel.paths import data_path
from .markdown import Section, front_matter, sections
from .markdown_records import is_over, questions_in, records_in
from .record import (
    ARCHIVED,
    CONTEXT,
    MAX_ASKED_AS,
    MAX_TITLE,
    InvalidMemory,
    body_content,
    categories,
    category_named,
    is_id,
    new_memory,
    parse_memory,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .markdown_records import WrittenRecord

    Fields = dict[str, str | list[str]]

__all__ = ["Draft", "Reading", "category_for", "read"]

MAX_BYTES = 32 << 20
MAX_FILES = 20_000
_INDEX_LINE = re.compile(r"- \[([A-Za-z_ -]+)\] (.+)\Z")
_ARROW, _TAGS = " -> ", " #tags:"


class Draft(NamedTuple):
    """A memory to be stored, as a file's data, and where it was found: a path, with a line where there are several."""

    source: str
    data: dict[str, Any]


class Reading(NamedTuple):
    """What was found, and what could not be understood: source and reason."""

    drafts: list[Draft]
    problems: list[tuple[str, str]]


def read(path: str, category: str = "") -> Reading:
    """Return all that a file or folder holds; `category` is the one for what names none itself.

    Nothing is raised for what lies there: everything that is not understood is a problem, with its source and reason.
    """
    reading = Reading([], [])
    path = os.path.abspath(path)
    if os.path.isdir(path):
        _read_folder(path, category, reading)
    else:
        _read_file(path, category, reading, follow=True)
    return reading


def _read_folder(path: str, category: str, reading: Reading) -> None:
    inner = os.path.join(path, ".claude", "memory")
    if os.path.isdir(inner):
        path = inner
    names = set(os.listdir(path))
    folders = [one for one in categories().values() if one.folder in names]
    if folders:
        for one in folders:
            for file in _files(os.path.join(path, one.folder), (".json",)):
                _read_file(file, one.name, reading)
    elif "index.md" in names:
        _read_index(os.path.join(path, "index.md"), reading)
    else:
        for file in _files(path, tuple(_READERS)):
            _read_file(file, category, reading)


def _files(folder: str, ends: tuple[str, ...]) -> Iterator[str]:
    """Return the files below a folder with such an ending, in order; links and hidden ones are passed over."""
    count = 0
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(ends) and not name.startswith(".") and count < MAX_FILES:
                count += 1
                yield os.path.join(above, name)


def _read_file(path: str, category: str, reading: Reading, follow: bool = False) -> None:
    reader = _READERS.get(os.path.splitext(path)[1].lower())
    if reader is None:
        reading.problems.append((path, "expected one of %s" % ", ".join(_READERS)))
        return
    text = _text(path, reading, follow)
    if text is not None:
        reader(path, text, category, reading)


def _text(path: str, reading: Reading, follow: bool = False) -> str | None:
    try:
        return read_regular(path, MAX_BYTES, follow)[0].decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        reading.problems.append((path, "not there"))
    except Unreadable as error:
        reading.problems.append((path, str(error)))
    except UnicodeDecodeError as error:
        reading.problems.append((path, "not UTF-8 (byte %d)" % error.start))
    return None


def _read_markdown(path: str, text: str, category: str, reading: Reading) -> None:
    fields, rest, skipped = front_matter(text)
    stem = os.path.splitext(os.path.basename(path))[0]
    if fields:
        _collect(reading, path, partial(_note, fields, rest, stem, category))
        return
    parts = sections(rest)
    records = records_in(rest, parts, stem)
    for record in records:
        source = "%s:%d" % (path, record.line + skipped)
        _collect(reading, source, partial(_from_record, record, category, {}))
    for section in [] if records else parts:
        source = "%s:%d" % (path, section.line + skipped)
        _collect(reading, source, partial(_from_section, section, stem, category))


def _note(fields: Fields, text: str, stem: str, category: str) -> dict[str, Any]:
    """Return the one memory of a note with fields at its head."""
    parts = sections(text)
    headings = [section.heading for section in parts if section.heading]
    title = _one(fields, "title") or _one(fields, "name") or (headings[0] if headings else stem)
    named = _one(fields, "category") or _one(fields, "type")
    chosen = category_for(named) or category
    records = records_in(text, parts, stem)
    if len(records) == 1:
        record = records[0]
        return _from_record(record._replace(title=_one(fields, "title") or record.title), chosen, fields)
    body = "\n\n".join(part for part in (_one(fields, "description"), text.strip()) if part)
    item = {"title": title, "body": body, **_about(fields)}
    item.setdefault("asked_as", [heading for heading in headings if questions_in(heading)][:MAX_ASKED_AS])
    return _item(item, chosen or category_for(title, otherwise=True))


def _about(fields: Fields) -> dict[str, Any]:
    """Return what the fields at a note's head say other than its title, under the names that `_item` knows."""
    found: dict[str, Any] = {"tags": _listed(fields.get("tags", []))}
    for name, others in _HEAD_FIELDS.items():
        said = [value for other in others for value in _listed(fields.get(other, []))]
        if said:
            found[name] = said
    context = _one(fields, "context") or _one(fields, "problem")
    return {**found, "context": context} if context else found


def _listed(value: str | list[str]) -> list[str]:
    return value.split(",") if isinstance(value, str) else value


def _from_record(record: WrittenRecord, category: str, fields: Fields) -> dict[str, Any]:
    """Return the memory of a decision record or a runbook."""
    chosen = categories()[category or record.category]
    about = _about(fields)
    status = _one(fields, "status")
    texts = {**record.fields, **({"context": about["context"]} if "context" in about else {})}
    content = body_content(chosen, texts.pop("answer"))
    content.update((name, texts[name].strip()) for name in (*chosen.fields, *texts) if name in texts)
    asked = [*about.get("asked_as", []), *record.asked_as]
    item = {
        "title": record.title,
        "body": "-",
        **about,
        "asked_as": list(dict.fromkeys(asked))[:MAX_ASKED_AS],
    }
    data = _item(item, chosen.name)
    data["content"] = content
    if record.is_over or is_over(status):
        data.update(record_status=ARCHIVED, archived_reason=(status or texts.get("status", "")).strip()[:200])
    return data


def _one(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else ", ".join(value)


def _from_section(section: Section, stem: str, category: str) -> dict[str, Any]:
    title = section.heading or section.text.splitlines()[0].lstrip("#-*> ")[:MAX_TITLE] or stem
    if section.above:
        title = "%s: %s" % (section.above, title)
    item = {"title": title, "body": section.text, "asked_as": questions_in(section.heading)}
    return _item(item, category or category_for(title, otherwise=True))


def _read_json(path: str, text: str, category: str, reading: Reading) -> None:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        reading.problems.append(("%s:%d" % (path, error.lineno), "not JSON: " + error.msg))
        return
    except (ValueError, RecursionError) as error:
        reading.problems.append((path, "not JSON: %s" % error))
        return
    if isinstance(value, dict) and isinstance(value.get("memories"), list):
        value = value["memories"]
    if not isinstance(value, list):
        stem = os.path.splitext(os.path.basename(path))[0]
        _collect(reading, path, partial(_item, value, category, stem))
        return
    for number, item in enumerate(value, 1):
        _collect(reading, "%s item %d" % (path, number), partial(_item, item, category))


def _refuse(name: str) -> None:
    raise ValueError("%s is no JSON number" % name)


def _read_json_lines(path: str, text: str, category: str, reading: Reading) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            _collect(reading, "%s:%d" % (path, number), partial(_from_line, line, category))


def _from_line(line: str, category: str) -> dict[str, Any]:
    try:
        value = loads(line)
    except ValueError as error:
        raise InvalidMemory("not JSON: %s" % error) from None
    return _item(value, category)


def _read_index(path: str, reading: Reading) -> None:
    """Return the memories of a store of which only the index is left: what its lines say is all there is."""
    for number, line in enumerate((_text(path, reading) or "").split("\n"), 1):
        if line.startswith("- ["):
            _collect(reading, "%s:%d" % (path, number), partial(_from_index, line))


def _from_index(line: str) -> dict[str, Any]:
    found = _INDEX_LINE.match(line.rstrip())
    if found is None:
        raise InvalidMemory("expected `- [CATEGORY] title -> path #tags:a,b`")
    # The path is the last thing that an arrow leads to, since a title may hold one.
    title, _, rest = found[2].rpartition(_ARROW) if _ARROW in found[2] else (found[2], "", "")
    tags = rest.partition(_TAGS)[2] or title.partition(_TAGS)[2]
    title = title.partition(_TAGS)[0].strip()
    return _item(
        {"title": title, "body": title, "tags": tags.split(",")}, category_named(found[1].strip()).name
    )


def _collect(reading: Reading, source: str, make: Callable[[], dict[str, Any]]) -> None:
    try:
        reading.drafts.append(Draft(source, make()))
    except ValueError as error:
        reading.problems.append((source, str(error)))


def _item(item: object, category: str, identity: str = "") -> dict[str, Any]:
    """Return the data of one memory. Raises InvalidMemory naming the field that is wrong."""
    if not isinstance(item, dict):
        raise InvalidMemory("expected an object, got %s" % type(item).__name__)
    title = item.get("title")
    if not isinstance(title, str) or not title.strip():
        raise InvalidMemory("title: expected a text, got %.80r" % (title,))
    named = item.get("category")
    if isinstance(named, str) and named.strip():
        category = category_for(named) or category_named(named).name
    chosen = categories()[category or category_for(title, otherwise=True)]
    if isinstance(item.get("content"), dict):
        wished = item.get("id") if is_id(item.get("id")) else identity
        data = {
            **new_memory(chosen, "", title, {}, {}),
            **item,
            "category": chosen.name,
            "id": wished if is_id(wished) else "",
        }
        parse_memory(data, "checked", chosen)
        return data
    body = item.get("body", item.get("text"))
    if not isinstance(body, str) or not body.strip():
        raise InvalidMemory("body: expected a text, got %.80r" % (body,))
    extra = {name: _texts(item.get(old)) for name, old in _LISTS.items() if item.get(old)}
    content = body_content(chosen, body)
    if isinstance(item.get(CONTEXT), str) and item[CONTEXT].strip():
        content[CONTEXT] = item[CONTEXT].strip()
    wished = item.get("id") if is_id(item.get("id")) else ""
    return new_memory(chosen, str(wished), title, content, extra)


_LISTS = {"tags": "tags", "related_files": "files", "asked_as": "asked_as", "supersedes": "supersedes"}
_HEAD_FIELDS = {
    "asked_as": ("asked_as", "aliases", "questions", "symptoms"),
    "files": ("files", "related_files"),
}


def _texts(value: object) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [part.strip() for part in parts if isinstance(part, str) and part.strip()]


def category_for(text: str, otherwise: bool = False) -> str:
    """Return the category that a word or a heading stands for; empty when none does, unless there must be one."""
    table = _words()
    for word in re.findall(r"\w+", text.lower()):
        if word in table:
            return table[word]
    whole = "_".join(re.findall(r"\w+", text.lower()))
    if whole in categories():
        return whole
    return table[""] if otherwise else ""


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    with open(data_path("memories", "importing.json"), encoding="utf-8") as handle:
        table = loads(handle.read())
    assert isinstance(table, dict)
    words = {word: category for category, words in table["words"].items() for word in words}
    return {**words, "": table["otherwise"]}


_READERS: dict[str, Callable[[str, str, str, Reading], None]] = {
    ".md": _read_markdown,
    ".markdown": _read_markdown,
    ".txt": _read_markdown,
    ".json": _read_json,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}
