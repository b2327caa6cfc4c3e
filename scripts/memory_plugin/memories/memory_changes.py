"""Show a memory field by field, and the differences between two versions, to a person who decides whether to accept it."""

from __future__ import annotations

from difflib import ndiff
from typing import TYPE_CHECKING, NamedTuple

from .guard import guard_in_words
from .hygiene import shown_block, shown_line
from .record import guard_problem

if TYPE_CHECKING:
    from .record import Memory

__all__ = ["FieldChange", "changes", "readable_fields"]

_MAX_TEXT = 20_000
_MAX_LINES = 400
_MAX_LINE = 2000
_CUT = "... the rest is not shown here; read the file"


class FieldChange(NamedTuple):
    """A field that differs: its lines with the marks `- `, `+ ` and two spaces, as `diff` shows them."""

    field: str
    lines: list[str]


def readable_fields(memory: Memory) -> dict[str, list[str]]:
    """Return the lines of every field that can be injected, matched or enforced, without secrets; empty fields are left out.

    The last line of a cut text says so, because nobody should accept text that they did not see.
    """
    fields = {
        "title": _lines(memory.title),
        "tags": _lines(", ".join(memory.tags)),
        "files": _lines(", ".join(memory.files)),
        "asked as": _lines("\n".join(memory.asked_as)),
        "guard": _guard_lines(memory),
        "expires": _lines(memory.expires_at),
        "status": _lines(memory.status),
        "superseded by": _lines(memory.superseded_by),
        "supersedes": _lines(", ".join(memory.supersedes)),
    }
    content = {
        shown_line(name).replace("_", " "): _lines(_text(value))
        for name, value in memory.data["content"].items()
    }
    return {name: lines for name, lines in {**fields, **content}.items() if lines}


def changes(old: Memory, new: Memory) -> list[FieldChange]:
    """Return the fields in which two versions of a memory differ, in reading order."""
    before, after = readable_fields(old), readable_fields(new)
    return [
        FieldChange(name, _difference(before.get(name, []), after.get(name, [])))
        for name in dict.fromkeys([*after, *before])
        if before.get(name, []) != after.get(name, [])
    ]


def _difference(old: list[str], new: list[str]) -> list[str]:
    return [line for line in ndiff(old, new) if not line.startswith("?")]


def _guard_lines(memory: Memory) -> list[str]:
    if memory.guard is not None:
        return [shown_line(guard_in_words(memory.guard), _MAX_LINE)]
    problem = guard_problem(memory)
    return ["invalid: " + shown_line(problem, _MAX_LINE)] if problem else []


def _lines(text: str) -> list[str]:
    """Return a text as lines of limited number and length."""
    if not text:
        return []
    all_lines = shown_block(text, _MAX_TEXT).splitlines()
    lines = [line[:_MAX_LINE] for line in all_lines[:_MAX_LINES]]
    is_cut = len(text) > _MAX_TEXT or lines != all_lines
    return [*lines, _CUT] if is_cut else lines


def _text(value: object, mark: str = "") -> str:
    """Return a value of a memory's content as lines, the items of lists with a dash."""
    if isinstance(value, list):
        return "\n".join(_text(item, "- ") for item in value)
    if isinstance(value, dict):
        return "\n".join("%s%s: %s" % (mark, name, _text(item)) for name, item in value.items())
    return "" if value is None or isinstance(value, bool) else mark + str(value)
