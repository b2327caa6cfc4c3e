"""Parse Markdown as a source of memories: the front matter of a file, and the sections below its headings."""

from __future__ import annotations

import re
from typing import NamedTuple

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:[ \t]*(.*)\Z")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)\Z")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TOP = 1


class Section(NamedTuple):
    """A heading with the text below it, up to the next heading; `above` is the heading that holds this one.

    `line` is the line of the heading and `first` that of the text's first line, both counted from 1.
    """

    heading: str
    above: str
    text: str
    line: int
    first: int


def front_matter(text: str) -> tuple[dict[str, str | list[str]], str, int]:
    """Return the front matter of a file with lower-case names, the text after it, and its number of lines.

    It understands the YAML that notes use: `name: value`, quoted values, `[a, b]`, lists with dashes, and indented blocks after `|` or `>`.
    """
    match = _FRONT.match(text)
    if match is None:
        return {}, text, 0
    return _fields(match[1].splitlines()), text[match.end() :], match[0].count("\n")


def _fields(lines: list[str]) -> dict[str, str | list[str]]:
    fields: dict[str, str | list[str]] = {}
    name = ""
    for line in lines:
        field = _FIELD.match(line)
        item = _ITEM.match(line)
        if field is not None:
            name = field[1].lower()
            fields[name] = _value(field[2].strip())
        elif item is not None and name:
            fields[name] = [*_as_list(fields[name]), _unquoted(item[1])]
        elif name and line.startswith((" ", "\t")) and isinstance(fields[name], str):
            fields[name] = ("%s\n%s" % (fields[name], line.strip())).strip()
    return fields


def _value(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [part for part in map(_unquoted, text[1:-1].split(",")) if part]
    return "" if text in ("|", ">", "|-", ">-") else _unquoted(text)


def _as_list(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _unquoted(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def sections(text: str) -> list[Section]:
    """Return the sections of a text; the text before the first heading has an empty heading. Headings in code fences do not count."""
    found: list[Section] = []
    open_headings: list[tuple[int, str]] = []
    heading, line_of, lines, fence = "", 1, [], ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _fence_after(line, fence)
        mark = None if fence else _HEADING.match(line)
        if mark is None:
            lines.append(line)
            continue
        found.append(_section(heading, open_headings, lines, line_of))
        level = len(mark[1])
        open_headings = [heading for heading in open_headings if heading[0] < level] + [(level, mark[2])]
        heading, line_of, lines = mark[2], number, []
    found.append(_section(heading, open_headings, lines, line_of))
    return [section for section in found if section.text]


def first_heading(text: str) -> str:
    """Return the first heading of a text, outside code fences; empty when there is none."""
    fence = ""
    for line in text.splitlines():
        fence = _fence_after(line, fence)
        mark = None if fence else _HEADING.match(line)
        if mark is not None:
            return mark[2]
    return ""


def _section(heading: str, open_headings: list[tuple[int, str]], lines: list[str], line: int) -> Section:
    # The title of the whole document is above every section and distinguishes none.
    above = [text for level, text in open_headings[:-1] if level > _TOP]
    text = "\n".join(lines).rstrip()
    first = line + (1 if heading else 0) + len(text) - len(text.lstrip("\n"))
    return Section(heading, above[-1] if above else "", text.lstrip("\n"), line, first)


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after a line. A fence of the same character and at least its length closes it (CommonMark 4.5)."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    closes = mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence
