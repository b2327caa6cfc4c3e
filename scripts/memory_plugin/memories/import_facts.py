"""What an import reads and becomes, and what is known of a file or a record beside its text: fields, names, titles, the status, options."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from glob import escape, glob
from itertools import takewhile
from typing import Any, NamedTuple

from ..kernel.files import read_regular
from . import markdown
from .markdown import Section, form, is_named, role_of, table, texts_in, title_for, without_markdown
from .record import ACTIVE, DEFAULT_CATEGORY

Fields = dict[str, "str | list[str]"]
_NAME = re.compile(r"[-_]")  # of a file, unless there are spaces
BOUND = ("globs", "paths", "applyto", "filematchpattern")
_OF_RULES = frozenset([*BOUND, "alwaysapply", "trigger", "inclusion"])  # fields of rule files, not of notes
_HEAD_OF_STATUS = 100  # characters; what is accepted later in a long one is something else
_MAX_FIELDS = 64 << 10  # bytes
_NEAR = 3  # folders above a file whose names say what it is


class Draft(NamedTuple):
    """A memory to be stored, the place and file where it was found, and the names of a record and of those that it replaces."""

    source: str
    data: dict[str, Any]
    path: str
    names: frozenset[str] = frozenset()
    replaces: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Return whether it is in force."""
        return bool(self.data["record_status"] == ACTIVE)


class Reading(NamedTuple):
    """The memories that were found; problems, and what was left out, as (source, reason); `category` is that of entries that name none."""

    drafts: list[Draft]
    problems: list[tuple[str, str]]
    left_out: list[tuple[str, str]]
    category: str = ""
    root: str = ""
    is_folder: bool = False  # nobody named the files themselves


class Entry(NamedTuple):
    """What may become a memory: fields under any names, the category if these name none, and what is known of a record."""

    source: str
    item: object
    category: str = ""
    more: dict[str, str] | None = None
    names: frozenset[str] = frozenset()
    head: str = ""


class LeftOut(Exception):
    """Raised for a file that is not meant to become a memory; the text says why."""


class Document(NamedTuple):
    """A Markdown file: the fields at its head, its text without them, and what its names say."""

    path: str
    stem: str
    fields: Fields
    text: str
    parts: list[Section]
    heading: str
    title: str
    is_runbook: bool
    is_rules: bool
    is_record: bool
    is_guide: bool
    is_diary: bool
    limit: str  # what a note above its sections says that it is not for
    unsaid: list[int]  # the lines that state nothing


def read_document(path: str, text: str, root: str, is_given: bool) -> Document:
    """Return a Markdown file as a document; `root` is the project's folder. Raises LeftOut for a task.

    A working paper is a diary. Neither is said of a file that somebody named (`is_given`).
    """
    fields, text = front_matter(text)
    fields = {**_beside(path), **fields}
    is_inside = root and path.startswith(root + os.sep)
    # The folders above the project say nothing about it.
    *folders, name = (path[len(os.path.dirname(root)) :] if is_inside else path).split(os.sep)
    if not is_given and any(map(form("task_folder").fullmatch, folders[2:][-_NEAR:])):
        raise LeftOut("a task; to import it, name it")
    has_rows = form("rule_table").search(text)
    if not form("under_heading").search(text):
        text = form("line_heading" if name.endswith(".txt") else "loud_heading").sub(r"## \1\n", text)
    stem, text = os.path.splitext(name)[0], visible_text(text)
    headed = form("first_heading").match(markdown.outside_code(text))
    heading = headed[1].strip(" #") if headed and not role_of(headed[1]) else ""
    title, label, about = (str(fields.get(field, "")) for field in ("title", "name", "description"))
    of_file = stem if " " in stem else _NAME.sub(" ", form("before_name").sub("", stem) or stem)
    said = (one for one in (title, label, heading, about) if " " in one or (one and not _NAME.search(one)))
    names = "\n".join([title or label or heading or about, stem, *folders[-_NEAR:]])
    parts = markdown.headings(text)
    is_bound = name.endswith(".mdc") or not _OF_RULES.isdisjoint(fields)
    is_rules = package_of(path, root) is not None or is_bound
    is_runbook = bool(form("runbook").search(names))
    is_called = any(map(form("called_record").match, (stem, "/".join([*folders[-1:], stem]))))
    is_one = is_called or (not is_rules and is_record(heading, parts, is_runbook))
    is_kept = is_given or is_one or is_runbook or is_bound or bool(form("rules").search(folders[-1]))
    is_kept |= is_named(path, "rules") or is_named(path, "instructions")
    is_paper = not is_kept and any(map(form("paper").fullmatch, (*folders[2:][-_NEAR:], stem, heading)))
    labels = [*folders[-1:], stem, str(fields.get("type")), *texts_in(fields.get("tags"))]
    days = [part for part in parts if form("diary").fullmatch(part.heading)] + form("chat_line").findall(text)
    is_diary = is_paper or len(days) > 1 or any(map(form("diary").fullmatch, labels))
    is_guide = is_rules or (not is_runbook and bool(form("rules").search(names)))
    is_guide |= bool(has_rows and form("deciding").match(heading))
    limit = form("limit").search(text.partition("\n## ")[0])
    return Document(
        path, stem, fields, text, parts, heading, next(said, of_file),
        is_runbook, is_rules, is_one, is_guide, is_diary, without_markdown(limit[0]) if limit else "", [],
    )  # fmt: skip


def _beside(path: str) -> Fields:
    """Return the fields in the one YAML file beside a README, such as `kep.yaml`, which holds its status; empty for other files."""
    folder, name = os.path.split(path)
    beside = glob(os.path.join(escape(folder), "*.y*ml")) if name.lower().startswith("readme.") else []
    with suppress(OSError, ValueError):
        (one,) = beside
        fields = _fields(read_regular(one, _MAX_FIELDS)[0].decode("utf-8"))
        return fields if "status" in fields else {}
    return {}


def front_matter(text: str) -> tuple[Fields, str]:
    """Return the front matter of a file, in the YAML that notes use, with lower-case names, and the text with blank lines in its place."""
    fields: Fields = {}
    start = 0
    # A tool may have put its own above that of the note.
    while head := form("front").match(text, start):
        more = _fields(head[1])
        if head[1].strip() and not more:
            break  # a text between two lines
        fields, start = {**fields, **more}, head.end()
    if head := form("properties").match(text, start):  # of a page in an outline
        fields, start = {**_fields(head[0].replace("::", ":")), **fields}, head.end()
    return fields, "\n" * text.count("\n", 0, start) + text[start:]


def _fields(text: str) -> Fields:
    fields: Fields = {}
    for name, written, below in form("field").findall(text):
        value, items = _value(written.strip()), list(map(_unquoted, form("dash").findall(below)))
        block = [line.strip() for line in below.splitlines() if line[:1].isspace()]
        if items and len(items) >= len(block):
            value = [*([value] if isinstance(value, str) and value else value), *items]
        known = table()["fields"].get(name.lower(), name.lower())
        fields[known] = "\n".join([value, *block]).strip() if isinstance(value, str) else value
    return fields


def _value(text: str) -> str | list[str]:
    if listed := form("listed").fullmatch(text):
        return [part for part in map(_unquoted, form("comma").split(listed[1])) if part]
    return "" if text in ("|", ">", "|-", ">-", "null", "~", "none", "None") else _unquoted(text)


def _unquoted(text: str) -> str:
    quoted = re.fullmatch(r"""\s*(["'])(.*)\1\s*""", text, re.DOTALL)
    return quoted[2] if quoted else text.strip()


def visible_text(text: str) -> str:
    """Return a text with blank lines for what is hidden, the descriptions of images, and all of its headings with `#`."""
    has_headings = form("under_heading").search(text)

    def shown(part: re.Match[str]) -> str:
        if part["title"]:
            return "%s %s\n" % ("#" if part["line"] == "=" else "##", part["title"])
        if part["bold"] and not has_headings:
            is_part = text[: part.start()].strip() or part["bold"].endswith("?")
            return ("##" if is_part else "#") + " " + part["bold"]
        if part["hidden"] is None and part["ban"] is None:
            is_status = "/badge/status" in part[0] and ":" not in part["image"]
            return ("status: " if is_status else "") + part["image"] if part["image"] else part[0]
        return (part["ban"] or "") + "\n" * part[0].count("\n")

    def as_lines(head: re.Match[str]) -> str:
        names, values = (cells.strip(" |").split("|") for cells in head.groups())
        return "\n".join("| %s | %s |" % pair for pair in zip(names, values))

    return form("one_row").sub(as_lines, form("rule_table").sub(_as_items, form("hidden").sub(shown, text)))


def _as_items(rows: re.Match[str]) -> str:
    """Return the rows of a table of rules or decisions as a list, without states, bad examples and what is over; a date comes last."""
    lines = (rows[1], *form("row_start").sub("", rows[2]).splitlines())
    names, *cells = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines)
    items = [""]
    for row in cells:
        pairs = list(zip(names[-len(row) :], row))  # from the right: the number of a row is cut off
        states = [cell for name, cell in pairs if form("state_column").fullmatch(name)]
        # What not to do is told with its reason only.
        bad = [cell for name, cell in pairs if form("bad_column").fullmatch(name)]
        told = [cell for cell in row if cell and (names[2:] or cell not in bad)]
        said = ["not: " + cell if cell in bad else cell for cell in told]
        said = sorted(said, key=lambda cell: bool(form("date_cell").fullmatch(cell)))
        text = "- " + " — ".join(cell for cell in said if cell not in states)
        items.append("" if any(map(why_over, states)) else text)
    return "\n%s\n" % "\n".join(items)


def is_record(title: str, parts: list[Section], is_runbook: bool) -> bool:
    """Return whether a document is one decision record by the status below its title or at its end: unless others have one too."""
    names = (title if form("foot").search(part.text) else part.heading for part in parts)
    told = ((name, status_in(part.text)) for name, part in zip(names, parts) if not is_runbook)
    ended = (name for name, said in told if said and (form("accepted").search(said) or why_over(said)))
    return [*ended] in ([""], [title])


def title_of(title: str, answer: str) -> str:
    """Return the title of a record or note without its number; a single word is followed by the answer, unless that has it."""
    bare = form("symbols").sub("", title) or title
    title = title_for(form("number").sub("", form("day").sub("", bare)))
    title = title if " " in title else title.replace("-", " ")
    is_name = re.findall(r"[^\W\d_]+", title)[1:]
    return title if is_name else below(title, title_for(answer))


def below(name: str, title: str) -> str:
    """Return a title after a name, unless it says that."""
    return title if name.lower() in title.lower() else title_for(markdown.with_lead(name, title))


@lru_cache(maxsize=1024)
def status_in(text: str) -> str:
    """Return the status in a line of a text, as in a record's head or an entry of a log, or the banner that says that it is over."""
    text = form("code").sub("", text)
    found = (form("picked").sub(r"\1", line).strip(" |*_\\") for line in form("status_line").findall(text))
    # An item says it of something else.
    ended = None if text.startswith(("- ", "* ")) else form("ended").match(text)
    return "\n".join(found) or ("outdated: " + ended[0] if ended else "")


def relations(fields: Fields) -> Iterator[str]:
    """Yield what the fields say about other records, such as `Superseded by: ADR-7`, also in a list of relations with their types."""
    for name, value in fields.items():
        texts = value if isinstance(value, list) else re.split(r"(?m)^- ", value)
        for said in (re.sub(r"\A#?(?=\d+\Z)", "ADR-", text) for text in texts):
            line = re.sub(r"\b\w+:\s+", "", said) if "type:" in said else "%s: %s" % (name, said)
            line = re.sub(r"[-_]by\b", " by", " ".join(line.split()))
            if said and form("relation").match(line):
                yield line[0].upper() + line[1:]


def why_over(status: str, category: str = DEFAULT_CATEGORY) -> str:
    """Return why an entry is not in force, by how its status begins; empty for one that holds, as work to do until it is done."""
    text = form("wrapped").sub(r"\1 ", form("unsaid").sub("", status))
    lines = list(map(without_markdown, re.split(r"[\n|]|(?<=[.;])\s+", text)))
    is_work = category == "tech_debt"
    if any(form("over").match(line) or (is_work and form("done").match(line)) for line in lines):
        return status[:200]
    words = "\n".join(lines).strip()
    is_open = form("proposed").match(words) and not form("taken").search(words[:_HEAD_OF_STATUS])
    return "only proposed" if is_open and not is_work else ""


def said_of_option(text: str, path: tuple[str, ...], chosen: str) -> str:
    """Return a text below the headings of options, of those not in the decision (`chosen`, lower case) only names and objections."""
    option, part = "".join(path[:1]).lower(), "".join(path[1:])
    is_chosen = any(name and name in chosen for name in re.split("[:\u2014] ", option))
    if is_chosen or form("chosen").search(option) or form("objection").search(part):
        return text
    kept, is_whole = list[str](), False
    for line in form("continued").sub(" ", text).splitlines():
        side = form("side").match(line)  # a label such as `Pros`
        name = None if path or side else form("option_name").match(line)
        if name or (side and side.end() == len(line)):
            is_whole = bool(form("objection" if side else "chosen").search(line))
        start = name.end() if name else 0
        told = line[start:] if is_whole or not line[start:].strip(" .") else _objections(line[start:])
        if name or told or not line.strip():
            kept.append((name[0] if name else "") + told)
    return "\n".join(kept).strip()


def _objections(text: str) -> str:
    """Return the sentences that say something against an option, from where they turn against it."""
    kept = ""
    for sentence in re.split(r"(?<=[.!?])(?=\s)", text):
        turn = form("turn").search(sentence)
        said = sentence[: turn.start()] if turn else sentence
        if form("objection").search(said) or form("against").search(said.lstrip(" :*")):
            kept += sentence
        elif turn:
            kept += " " + sentence[turn.start() :].lstrip(" ,;")
    return kept


def without_weighed(text: str) -> str:
    """Return the text of a decision; of options that were not taken, below a label or in a paragraph, only names and objections."""

    def kept(aside: re.Match[str]) -> str:
        return aside[1] + said_of_option(aside[0][len(aside[1]) :], (), "")

    parts = re.split(r"\n[ \t]*\n", form("aside").sub(kept, text))
    return "\n\n".join(said_of_option(one, (), "") if form("weighed").match(one) else one for one in parts)


def without_points(text: str, head: str) -> str:
    """Return a text without those of its numbered points that the head of its record calls over."""
    for number in form("point_over").findall(head):
        text = re.sub(r"(?m)^\(?%s[.)][ \t](?:.|\n(?!\s*(?:\(?\w{1,2}[.)]|\n)))*\n?" % number, "", text)
    return text


def package_of(path: str, root: str) -> str | None:
    """Return the folder of a project that a file of agents is for, as `packages/web/`, empty for the whole; None for other files."""
    inside = os.path.relpath(path, root).split(os.sep)[:-1] if root and path.startswith(root + os.sep) else []
    folders = list(takewhile(lambda folder: not is_named(folder, "rule_folders"), inside))
    is_of_agents = folders != inside or is_named(path, "instructions") or is_named(path, "rules")
    is_of_agents |= is_named(path, "guides") and not is_named(os.path.dirname(path), "docs")
    return "".join(folder + "/" for folder in folders) if is_of_agents else None


def bind(data: dict[str, Any], package: str | None, root: str) -> None:
    """Let a memory name the part of a project that it is for in its title, and by its files: those that it names there, or all."""
    if package:
        data["title"] = below(package.split("/")[-2], data["title"])
        data["related_files"] = [_path_in(package, name, root) for name in data["related_files"]] or [package]


def _path_in(package: str, name: str, root: str) -> str:
    """Return the path from the root that a name in a part of a project means: there or in the nearest folder above that has it."""
    name = re.sub(r"\A\.?/", "", name if "/" in name or "*" not in name else "**/" + name)
    folders = package.split("/")[:-1]
    places = ["/".join([*folders[:depth], name]) for depth in range(len(folders), -1, -1)]
    there = (place for place in places if os.path.exists(os.path.join(root, place.partition("*")[0])))
    return name if name.startswith(package) else next(there, places[0])
