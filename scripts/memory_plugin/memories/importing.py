"""Read what people and other tools have as memories to be stored: the files of a folder, the entries of each, a memory from each entry.

A Markdown file is first read as a document, with its front matter, sections and kind (import_facts), then as entries: the records in
it, and else one note or its rules (import_documents, statements). At last, what a record says it replaces is archived.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from glob import escape, glob
from json import JSONDecoder
from textwrap import dedent
from typing import Any

from ..kernel.fastjson import as_object, as_text, loads
from ..kernel.files import read_regular
from . import InvalidMemory, markdown, record
from .import_documents import INDEX, document_entries
from .import_facts import Draft, Entry, LeftOut, Reading, below, bind, package_of, visible_text, why_over
from .markdown import form, is_named, table, texts_in, title_for
from .memory_files import has_store
from .nearby import STORE
from .repository import git
from .statements import blocks_of, statement_category

STDIN = "-"
_MAX_BYTES = 32 << 20
_MARKDOWN, _JSON = (".md", ".mdc", ".markdown", ".txt"), (".json", ".jsonl", ".ndjson")
_TEXTS = (*_MARKDOWN, *_JSON, ".rst", ".adoc", ".asciidoc", ".org", ".textile")
_BESIDE = (".yaml", ".yml", ".png", ".jpg", ".svg", ".drawio", ".puml")
_UNREAD = "expected one of %s" % ", ".join(_MARKDOWN + _JSON)
_UNKNOWN = "unknown format: no text under a common name"
_TALK = "a conversation or a task, nothing to keep"
_DECODER = JSONDecoder(parse_constant=loads)  # which refuses NaN and infinity
_OPENED = re.compile(r"\s*(?=[{\[])")
_JOINED = re.compile(r'(?<=[}\]])\s*(?=\{\s*"\w)')  # a quote before a word opens a string, so this is in none
_CODE_OR_TABLE = ("```", "~~~", "|")
PERHAPS_OVER = "perhaps over: a later record is called "
_RELATIONS = "%d relations between its entities"
_LOADED = "Claude Code reads it anyway; to import it, name it or add --all"
_LOADED_RULES = os.path.join("", ".claude", "rules", "")
_HIDDEN = "a hidden folder; to import it, name it"
_LINK = "a symbolic link; to import it, name it"
_OWN_PROJECT = "a separate project"
_NOT_RULES = "ignored by git, text of others, prompts, skills or history; to import it, name it"


def read(path: str, category: str = "", root: str = "", *, everything: bool = False) -> Reading:
    """Read all memories in a file or folder, without those that Claude Code reads itself unless `everything` is wanted; never raises."""
    path = os.path.abspath(path)
    reading = Reading([], [], [], category, os.path.realpath(root) if root else "", os.path.isdir(path))
    for file in _files_below(path, reading, everything=everything) if reading.is_folder else [path]:
        _keep(file, _entries(file, reading), reading)
    return reading


def read_lines(text: str, category: str = "") -> Reading:
    """Read JSON objects, one a line, or plain lines, because the client asks about each command with braces and quotes."""
    reading = Reading([], [], [], category)
    is_json = text.lstrip()[:1] in "{["
    _keep(STDIN, _lines(STDIN, text, reading) if is_json else _plain_lines(STDIN, text), reading)
    return reading


def _plain_lines(path: str, text: str) -> Iterator[Entry]:
    """Yield the entries of plain lines: `title: ...` begins one; a line without the name of a field goes on with the one above."""
    line = 1
    for part in form("plain_title").split(text):
        _, *parts = form("plain_field").split(part)
        item: dict[str, object] = {name: value.strip() for name, value in zip(parts[::2], parts[1::2])}
        item["asked_as"] = str(item.get("asked_as", "")).split(";")
        if parts:
            yield Entry("%s:%d" % (path, line), item)
        line += part.count("\n")


def _keep(path: str, entries: Iterator[Entry], reading: Reading) -> None:
    """Make memories of the entries of a file. Whatever cannot be read becomes a problem, or is left out, with its reason."""
    package = package_of(path, reading.root)
    try:
        for entry in entries:
            try:
                data = item_data(entry.item, reading.category or entry.category)
            except InvalidMemory as error:
                _refuse(entry.source, error, reading)
                continue
            data["content"] = {**(entry.more or {}), **data["content"]}
            bind(data, package, reading.root)
            reading.drafts.append(Draft(entry.source, data, path, entry.names, _replaced(entry.head)))
    except (OSError, InvalidMemory, UnicodeDecodeError) as error:
        _refuse(path, error, reading)
    except LeftOut as why:
        reading.left_out.append((path, str(why)))


def _refuse(source: str, error: Exception, reading: Reading) -> None:
    """Report a problem; a log of talk is none, nor that some files of a folder hold no memories."""
    at = getattr(error, "start", None)
    reason = getattr(error, "strerror", None) or str(error)
    reason = reason if at is None else "not UTF-8 (byte %d): save it as UTF-8" % at
    is_expected = reason == _TALK or (reading.is_folder and reason in (_UNKNOWN, _UNREAD))
    (reading.left_out if is_expected else reading.problems).append((source, reason))


def _entries(path: str, reading: Reading) -> Iterator[Entry]:
    """Yield the entries of a file by its kind. Raises InvalidMemory, LeftOut, OSError and UnicodeDecodeError."""
    ending = os.path.splitext(path)[1].lower()
    is_markdown = ending in _MARKDOWN or is_named(path, "rules")
    if not (is_markdown or ending in _JSON):
        raise InvalidMemory(_UNREAD)
    text = read_regular(path, _MAX_BYTES, not reading.is_folder)[0].decode("utf-8-sig").replace("\r\n", "\n")
    if is_markdown:
        yield from document_entries(path, text, reading)
    else:  # MCP's memory server writes JSON Lines into a file named .json
        is_lines = ending in _JSON[1:] or _JOINED.search(text)
        yield from _lines(path, text, reading) if is_lines else _items(path, _parsed(text))


def _parsed(text: str) -> object:
    try:
        return loads(text)
    except ValueError as error:
        why = str(error).removeprefix("not JSON").removeprefix(": ")
        raise InvalidMemory("not JSON: %s" % why if why else "not JSON") from None


def _lines(path: str, text: str, reading: Reading) -> Iterator[Entry]:
    """Yield the objects of JSON Lines; the relations between entities in the file of MCP's memory server are counted."""
    lines = enumerate(text.split("\n"), 1)
    values = [("%s:%d" % (path, at), value) for at, line in lines for value in _values(line)]
    entries = [Entry(at, value) for at, value in values if as_object(value).get("type") != "relation"]
    if len(entries) < len(values):
        reading.left_out.append((path, _RELATIONS % (len(values) - len(entries))))
    yield from entries


def _values(line: str) -> Iterator[object]:
    """Yield the JSON values of a line, of which two writers at once leave several, then the rest of it that is none; no empty list."""
    end = 0
    with suppress(ValueError, RecursionError):
        while opened := _OPENED.match(line, end):
            value, end = _DECODER.raw_decode(line, opened.end())
            yield from [] if value == [] else [value]
    yield from filter(None, [line[end:].strip()])


def _items(path: str, value: object) -> Iterator[Entry]:
    """Yield the entries in a JSON document: those in its list, or itself. Raises InvalidMemory."""
    if isinstance(value, dict) and not isinstance(value.get("title"), str):
        lists = (value[name] for name in table()["lists"] if isinstance(value.get(name), list))
        value = next(lists, value)
    if isinstance(value, list):
        items = [{"text": item} if isinstance(item, str) else item for item in value]
        yield from (Entry("%s item %d" % (path, at), item) for at, item in enumerate(items, 1))
    elif isinstance(value, dict) and _first(value, table()["own_text"]):
        yield Entry(path, value)
    else:
        raise InvalidMemory(_UNKNOWN)


def item_data(item: object, category: str) -> dict[str, Any]:
    """Return a memory from an entry, or a line of JSON, under any common field names. Raises InvalidMemory that names the invalid field."""
    item = _parsed(item) if isinstance(item, str) else item
    if not isinstance(item, dict):
        raise InvalidMemory("expected an object, got %s" % type(item).__name__)
    source = {**as_object(item.get("metadata")), **item}
    known = table()["fields"]
    source = {**{known.get(name.lower(), name): value for name, value in source.items()}, **source}
    kind = _first(source, ["entityType", "category"]) or "role %s" % item.get("role")
    if form("talk").fullmatch("%s/%s" % (as_text(kind), as_text(item.get("name")))):
        raise InvalidMemory(_TALK)
    if isinstance(item.get("content"), dict):
        return _whole_memory(item, category)
    found = {name: _first(source, others) for name, others in table()["aliases"].items()}
    body, title = found.pop("body"), as_text(found.pop("title"))
    observed = list(dict.fromkeys(texts_in(body))) if isinstance(body, list) else []
    if isinstance(body, list):
        said = [one for one in observed if not (form("ended").search(one) or form("passing").match(one))]
        if observed and not said:
            raise InvalidMemory(_TALK)
        title = below(title, title_for(said[0])) if title and said and " " not in title else title
        body = visible_text("\n".join(said)).strip()
    if not isinstance(body, str) or not body:
        raise InvalidMemory(_UNKNOWN)
    body = form("code").sub(lambda code: form("bad_code").sub("", code[0]), body)
    named = _category(found.pop("category")) or category
    named = named or (record.DEFAULT_CATEGORY if title else statement_category(body))
    kind = record.categories()[named]
    content = _steps(kind, body) if named == "runbook" else record.body_content(kind, body)
    context, ends = found.pop(record.CONTEXT), record.utc_time(as_text(found.pop("expires_at")))
    content.update({record.CONTEXT: context} if isinstance(context, str) else {})
    times = [record.utc_time(as_text(found.pop(name)), "00:00:00") for name in ("created_at", "updated_at")]
    extra: dict[str, object] = {name: texts_in(value) for name, value in found.items() if value}
    extra.update({"tags": [tag.lstrip("#") for tag in texts_in(found["tags"])]} if found["tags"] else {})
    extra.update({"expires_at": ends} if ends else {})
    extra.update({"created_at": times[0], "updated_at": times[1] or times[0]} if times[0] else {})
    # A UUID describes nothing, and a person would have to type it.
    identity = "" if form("uuid").match(as_text(item.get("id"))) else as_text(item.get("id"))
    data = record.new_memory(kind, identity, title or title_for(body), content, extra)
    is_over = any(form("ended_field").fullmatch("%s: %s" % pair) for pair in source.items())
    stated = "\n".join(form("stated").findall("\n".join(observed)))
    state = "archived" if is_over else as_text(source.get("status") or source.get("state")) or stated
    archive(data, why_over(state, named))
    return data


def _steps(kind: record.Category, body: str) -> dict[str, object]:
    """Return the steps of a runbook: its paragraphs and items with the code, tables and points below; the first says its heading."""
    steps: list[str] = []
    for part in markdown.sections(body):
        lead, leads = "" if markdown.role_of(part.heading) else part.heading, False
        for at, block in enumerate(blocks_of(part.text)):
            is_point = block.text[:2] in ("- ", "* ", "+ ")
            is_more = at > 0 and (block.text.startswith(_CODE_OR_TABLE) or (is_point and leads))
            leads = leads if is_point else block.text.endswith(":")
            has_code = is_more or "```" in block.text
            said, _, code = block.text.partition("\n") if has_code else (block.text, "", "")
            lines = [said.strip()] if is_more else texts_in(record.body_content(kind, said)[kind.primary])
            said = "\n".join([*lines, dedent(code)]).strip()
            if is_more:
                steps[-1] = "%s\n%s" % (steps[-1], said)
            else:
                steps.append(markdown.with_lead("" if at else lead, said))
    return {kind.primary: steps or [body]}


def _first(source: dict[str, object], names: list[str]) -> object:
    """Return the first value under one of these names that is not blank; texts are stripped."""
    values = (source.get(name) for name in names)
    return next(filter(None, (value.strip() if isinstance(value, str) else value for value in values)), None)


def _category(named: object) -> str:
    """Return the category for what an entry calls its kind; "" for one that we do not know."""
    name = as_text(named).lower().replace("-", "_")
    return name if name in record.categories() else str(table()["kinds"].get(name, ""))


def _whole_memory(item: dict[str, object], category: str) -> dict[str, object]:
    """Return a memory of a store with its unknown fields. Raises InvalidMemory."""
    kind = record.categories()[_category(item.get("category")) or category or record.DEFAULT_CATEGORY]
    data = {**record.new_memory(kind, "", "", {}, {}), **item, "category": kind.name}
    record.parse_memory(data, "checked", kind)
    said = as_text(as_object(data["content"]).get("status")) if data["record_status"] == record.ACTIVE else ""
    archive(data, why_over(said, kind.name))
    return data


def archive(data: dict[str, object], reason: str) -> None:
    """Archive a memory to be stored, unless the reason is empty."""
    data.update({"record_status": record.ARCHIVED, "archived_reason": reason} if reason else {})


def archive_replaced(drafts: list[Draft]) -> None:
    """Archive the records that one in force says it replaces; of several with one number it may be any, unless one says it is over.

    A record whose subject a later title removes gets a note that it is perhaps over.
    """
    by_name: dict[str, list[Draft]] = {}
    for draft in drafts:
        for name in draft.names:
            by_name.setdefault(os.path.join(os.path.dirname(draft.path), name), []).append(draft)
    for draft in (one for one in drafts if one.holds):
        title = draft.data["title"]
        for name in draft.replaces:
            path = os.path.normpath(os.path.join(os.path.dirname(draft.path), name))
            old = [one for one in by_name.get(path, ()) if one is not draft]
            is_one = len({one.path for one in old}) < 2
            for one in old if is_one or all(one.holds for one in old) else ():
                if is_one and one.holds:
                    archive(one.data, "replaced by " + title)
                elif not is_one:
                    _doubt(one, title)
        for one in _removed(draft, drafts):
            _doubt(one, title)


def _removed(draft: Draft, drafts: list[Draft]) -> list[Draft]:
    """Return the earlier records beside a record in force whose titles name what its title removes."""
    if not (removed := form("removes").match(draft.data["title"])):
        return []
    named, folder = re.compile(r"(?i)\b%s\b" % re.escape(removed[1])), os.path.dirname(draft.path)
    earlier = (one for one in drafts if one.holds and one.names and one.path < draft.path)
    return [one for one in earlier if os.path.dirname(one.path) == folder and named.search(one.data["title"])]


def _doubt(one: Draft, title: str) -> None:
    said = (one.data["content"].get("status"), PERHAPS_OVER + title)
    one.data["content"]["status"] = "\n".join(filter(None, said))


def _replaced(text: str) -> tuple[str, ...]:
    """Return what a record says that it replaces: paths and names as linked, then numbers without leading zeros."""
    said = "\n".join(form("replaces").findall(text))
    names = map("".join, form("target").findall(said))
    return tuple(sorted((name.lstrip("0") if name.isdigit() else name for name in names), key=str.isdigit))


def _files_below(folder: str, reading: Reading, *, everything: bool) -> Iterator[str]:
    """Yield the files below a folder that may hold memories, of another project only its store; what is skipped is left out."""
    if has_store(folder) and os.path.realpath(folder) != reading.root:
        folder = os.path.join(folder, STORE)
    # What is imported goes there; of it only the notes of people are read.
    own = os.path.join(reading.root, STORE)
    names_of_git = git(folder, "ls-files", "-oi", "--exclude-standard", "--directory", "-z").split("\0")
    ignored = {os.path.join(folder, name.rstrip("/")) for name in names_of_git if name}
    for above, folders, names in os.walk(folder):
        is_own = above != folder and os.path.realpath(above) == own
        reasons = {name: _why_closed(os.path.join(above, name), ignored, own) for name in sorted(folders)}
        folders[:] = [name for name, reason in reasons.items() if reason is None and not is_own]
        reading.left_out.extend((os.path.join(above, name), why) for name, why in reasons.items() if why)
        for name in sorted(names):
            path = os.path.join(above, name)
            is_text = name.lower().endswith(_MARKDOWN if is_own else _TEXTS) and name[0] != "."
            if (is_own and name == "index.md") or not (is_text or is_named(path, "rules")):
                continue
            # Alone in its folder, but for its status or pictures, it is the folder's document.
            others = (other for other in names if not other.lower().endswith(_BESIDE))
            is_alone = [*others] == [name] and above != folder and name.lower().startswith("readme.")
            is_index = form("index").fullmatch(name) and not is_alone
            is_loaded = (is_named(path, "loaded") or _LOADED_RULES in path) and not everything
            if is_index or is_loaded:
                reading.left_out.append((path, INDEX if is_index else _LOADED))
            else:
                yield path


def _why_closed(path: str, ignored: set[str], own: str) -> str | None:
    """Return why a folder is not read, empty if nobody would expect it; None for one that is."""
    name, is_ours = os.path.basename(path), is_named(path, "rule_folders")
    if os.path.lexists(os.path.join(path, ".git")):
        return _OWN_PROJECT
    if os.path.realpath(path) == own:
        return None
    if path.endswith(os.sep + STORE) or (name.startswith(".") and not is_ours):
        notes = map(os.path.basename, glob(os.path.join(escape(path), "*.md")))
        return "" if all(map(form("index").fullmatch, notes)) else _HIDDEN
    is_of_agents = is_named(os.path.dirname(path), "rule_folders") and is_named(path, "prompts")
    is_others = is_named(path, "others") or (path in ignored and not is_ours)
    is_others |= is_named(path.lower(), "over") or is_of_agents
    return _NOT_RULES if is_others else _LINK if os.path.islink(path) else None
