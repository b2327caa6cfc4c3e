"""Where a key stands in the text of a JSON file, so that one value can change and every other character stay.

The text must be valid JSON with an object at its root; each function raises ValueError for another.
"""

from __future__ import annotations

from json import JSONDecoder, dumps
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import NamedTuple

__all__ = ["Member", "find", "line_of", "members", "with_value", "without"]

_SPACE = " \t\n\r"
_DECODER = JSONDecoder()


class Member(NamedTuple):
    """One key of an object: its name, where the quoted name begins, and where its value begins and ends."""

    name: str
    start: int
    value: int
    end: int


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def members(text: str, start: int) -> list[Member]:
    """The keys of the object whose brace stands at `start`; empty for any other value."""
    found: list[Member] = []
    if text[start] != "{":
        return found
    at = _skip(text, start + 1)
    while text[at] != "}":
        name, after = scanstring(text, at + 1, True)
        value = _skip(text, _skip(text, after) + 1)
        end = _DECODER.raw_decode(text, value)[1]
        found.append(Member(name, at, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _root(text: str) -> int:
    return _skip(text, 1 if text.startswith("\ufeff") else 0)


def find(text: str, path: tuple[str, ...]) -> Member | None:
    """The member at a path, the last where a name stands twice, as JSON readers have it; None without one."""
    start, member = _root(text), None
    for name in path:
        member = next((one for one in reversed(members(text, start)) if one.name == name), None)
        if member is None:
            return None
        start = member.value
    return member


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line of a key, from 1; None when it is not there."""
    member = find(text, path)
    return None if member is None else text.count("\n", 0, member.start) + 1


def with_value(text: str, path: tuple[str, ...], value: object) -> str:
    """The text with the value at a path set, and blocks on the way made where they are missing.

    A value that is an object replaces the one that was there, on one line. Raises ValueError when something that is no object stands on
    the way.
    """
    start, depth = _root(text), 0
    while depth < len(path):
        if text[start] != "{":
            raise ValueError("not a block of keys: " + ".".join(path[:depth]))
        member = find(text, path[: depth + 1])
        if member is None:
            return _with_member(text, start, path[depth], _nested(path[depth + 1 :], value))
        start, depth = member.value, depth + 1
    end = _DECODER.raw_decode(text, start)[1]
    return text[:start] + _inline(value) + text[end:]


def _nested(path: tuple[str, ...], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _with_member(text: str, start: int, name: str, value: object) -> str:
    """The text with one more key at the end of the object at `start`, laid out as the keys before it."""
    present = members(text, start)
    if not present:
        return _with_first_member(text, start, name, value)
    last = present[-1]
    gap = (
        text[_skip(text, present[-2].end) + 1 : last.start]
        if len(present) > 1
        else text[start + 1 : last.start]
    )
    on_lines = "\n" in gap
    body = _member(text, name, value, gap.rpartition("\n")[2] if on_lines else None)
    comma = "," + (gap if on_lines or len(present) > 1 else " ")
    return text[: last.end] + comma + body + text[last.end :]


def _with_first_member(text: str, start: int, name: str, value: object) -> str:
    end = _skip(text, start + 1)
    if start != _root(text) and "\n" not in text.strip():
        return text[: start + 1] + _member(text, name, value, None) + text[end:]
    margin, line = _margin(text, start), _newline(text)
    inner = margin + _unit(text)
    return text[: start + 1] + line + inner + _member(text, name, value, inner) + line + margin + text[end:]


def _member(text: str, name: str, value: object, margin: str | None) -> str:
    """A key and its value as this file writes them: on lines behind a margin, else on one line."""
    key = dumps(name, ensure_ascii=False) + ": "
    if margin is None or not isinstance(value, dict):
        return key + _inline(value)
    inner = _newline(text) + margin + _unit(text)
    lines = ",".join(
        inner + _member(text, below, deeper, margin + _unit(text)) for below, deeper in value.items()
    )
    return key + "{" + lines + _newline(text) + margin + "}"


def _inline(value: object) -> str:
    return dumps(value, ensure_ascii=False)


def without(text: str, path: tuple[str, ...]) -> str:
    """The text without the key at a path, wherever its name stands twice; unchanged without it."""
    member = find(text, path)
    while member is not None:
        above = find(text, path[:-1])
        start = _root(text) if above is None else above.value
        present = members(text, start)
        at = present.index(member)
        if len(present) == 1:
            end = _skip(text, member.end)
            text = text[: start + 1] + text[end:]
        elif at == 0:
            text = text[: member.start] + text[present[1].start :]
        else:
            text = text[: present[at - 1].end] + text[member.end :]
        member = find(text, path)
    return text


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _margin(text: str, at: int) -> str:
    """The white space that the line of a position begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation: that of the first key if it stands on its own line, else two spaces."""
    first = members(text, _root(text))[:1]
    margin = _margin(text, first[0].start) if first else ""
    return margin or "  "
