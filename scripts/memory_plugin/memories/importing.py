"""Read the notes of other tools and people as memories to be stored: Markdown, JSON, JSON Lines, and whole stores."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.fastjson import loads
from ..kernel.files import Unreadable, read_regular
from .import_exports import is_of_graph, items_in
from .imported_items import bound_files, item_data, note_data, record_data, statement_data
from .invalid_memory import InvalidMemory
from .markdown import front_matter, sections
from .markdown_records import records_in
from .markdown_rules import statements_in
from .record import categories, category_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Fields = dict[str, str | list[str]]

MAX_BYTES = 32 << 20
MAX_FILES = 20_000
_INDEX_LINE = re.compile(r"- \[([A-Za-z_ -]+)\] (.+)\Z")
_OF_FOLDERS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md")
_NAMES = (".cursorrules", ".windsurfrules", ".clinerules")  # Markdown without an ending
_ARROW, _TAGS = " -> ", " #tags:"


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
    """Read all memories in a file or folder; `category` is the default category, `root` the project's folder.

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
    names = set(os.listdir(path))
    records = [
        (file, kind.name)
        for kind in categories().values()
        if kind.folder in names
        for file in _files(os.path.join(path, kind.folder), (".json",))
    ]
    if records:  # without records it is not a store: many projects have Markdown files in docs/decisions
        for file, name in records:
            _read_file(file, name, reading)
    elif "index.md" in names:
        _read_index(os.path.join(path, "index.md"), reading)
    else:
        for file in _files(path, tuple(_READERS)):
            _read_file(file, category, reading)


def _files(folder: str, ends: tuple[str, ...]) -> Iterator[str]:
    """Yield the files below a folder with one of these extensions, in order; hidden ones are skipped."""
    count = 0
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(ends) and not name.startswith(".") and count < MAX_FILES:
                count += 1
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
    bound = bound_files(fields)
    if fields and not bound and not _is_rule_file(path, fields):
        _collect(reading, path, path, partial(note_data, fields, rest, stem, category))
        return
    bound = bound or _own_folder(path, reading.root)
    parts = sections(rest)
    records = records_in(rest, parts, stem)
    for record in records:
        source = "%s:%d" % (path, record.line + skipped)
        _collect(reading, source, path, partial(record_data, record, category, {}))
    for section in [] if records else parts:
        for statement in statements_in(section):
            source = "%s:%d" % (path, statement.line + skipped)
            _collect(
                reading, source, path, partial(statement_data, statement, section, stem, category, bound)
            )


def _is_rule_file(path: str, fields: Fields) -> bool:
    return path.endswith(".mdc") or "alwaysapply" in fields


def _own_folder(path: str, root: str) -> list[str]:
    """Return the folder to which an instruction file in a subfolder applies; empty for one in the project's root."""
    folder = os.path.relpath(os.path.dirname(path), root) if root else ""
    outside = folder in ("", ".") or folder.startswith(("..", "."))
    return [] if outside or os.path.basename(path) not in _OF_FOLDERS else [folder.replace(os.sep, "/") + "/"]


def _read_json(path: str, text: str, category: str, reading: Reading) -> None:
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        reading.problems.append(("%s:%d" % (path, error.lineno), "not JSON: " + error.msg))
        return
    except (ValueError, RecursionError) as error:
        reading.problems.append((path, "not JSON: %s" % error))
        return
    items = items_in(value)
    if items is None:
        stem = os.path.splitext(os.path.basename(path))[0]
        _collect(reading, path, path, partial(item_data, value, category, stem))
        return
    for number, item in enumerate(items, 1):
        _collect(reading, "%s item %d" % (path, number), path, partial(item_data, item, category))


def _reject_constant(name: str) -> None:
    raise ValueError("%s is not a JSON number" % name)


def _read_json_lines(path: str, text: str, category: str, reading: Reading) -> None:
    rows: list[tuple[str, object]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            source = "%s:%d" % (path, number)
            try:
                value = loads(line)
            except ValueError as error:
                reading.problems.append((source, "not JSON: %s" % error))
                continue
            rows.append((source, value))
    graph = items_in([value for _, value in rows if is_of_graph(value)]) or []
    for number, item in enumerate(graph, 1):
        _collect(reading, "%s observation %d" % (path, number), path, partial(item_data, item, category))
    for source, value in rows:
        if not is_of_graph(value):
            _collect(reading, source, path, partial(item_data, value, category))


def _read_index(path: str, reading: Reading) -> None:
    """Read the memories of a store of which only the index is left."""
    for number, line in enumerate((_text(path, reading) or "").split("\n"), 1):
        if line.startswith("- ["):
            _collect(reading, "%s:%d" % (path, number), path, partial(_from_index, line))


def _from_index(line: str) -> dict[str, Any]:
    match = _INDEX_LINE.match(line.rstrip())
    if match is None:
        raise InvalidMemory("expected `- [CATEGORY] title -> path #tags:a,b`")
    # The path follows the last arrow, because a title may contain one.
    title, _, rest = match[2].rpartition(_ARROW) if _ARROW in match[2] else (match[2], "", "")
    tags = rest.partition(_TAGS)[2] or title.partition(_TAGS)[2]
    title = title.partition(_TAGS)[0].strip()
    return item_data(
        {"title": title, "body": title, "tags": tags.split(",")}, category_named(match[1].strip()).name
    )


def _collect(reading: Reading, source: str, path: str, make: Callable[[], dict[str, Any]]) -> None:
    try:
        reading.drafts.append(Draft(source, make(), path))
    except ValueError as error:
        reading.problems.append((source, str(error)))


_READERS: dict[str, Callable[[str, str, str, Reading], None]] = {
    ".md": _read_markdown,
    ".mdc": _read_markdown,
    ".markdown": _read_markdown,
    ".txt": _read_markdown,
    ".json": _read_json,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}
