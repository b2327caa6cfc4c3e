"""The list of texts that a memory consists of: what Claude sees, what a person sees, and what the digest covers.

A field that is not on this list, such as a date or the history of changes, is not shown as the memory's text. The content is
one text, so none of its lines can pass for another field.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice
from typing import Any, NamedTuple

from ..kernel.fastjson import digest, dumps
from .guard import guard_in_words
from .hygiene import shown_block
from .record import ACTIVE, Memory, body_text, categories, guard_problem

TITLE, TEXT, STATUS = "title", "text", "status"
# Characters of a field: no more are shown or matched (recall/documents.py).
MAX_SHOWN = 20_000
_MAX_DIFFERENCE = 2000  # lines of both versions; comparing them takes quadratic time
_CUT = "... the rest is neither shown nor matched; read the file"


class FieldChange(NamedTuple):
    """A field that differs: its lines with the marks `- `, `+ ` and two spaces, as `diff` shows them."""

    field: str
    lines: list[str]


class TextDigests(NamedTuple):
    """The digests of a memory: `full` includes its id; `text` does not, so a rejected text stays rejected under another id."""

    full: str
    text: str


def memory_fields(memory: Memory) -> list[tuple[str, str]]:
    """Return the name and the text of each field that can be shown, matched or enforced, in order; empty ones are left out."""
    fields = [
        (TITLE, memory.title),
        (TEXT, body_text(memory)),
        ("tags", ", ".join(memory.tags)),
        ("files", ", ".join(memory.files)),
        ("asked as", "\n".join(memory.asked_as)),
        ("guard", _guard_text(memory)),
        ("expires", memory.expires_at),
        (STATUS, "" if memory.status == ACTIVE else memory.status),
        ("replaced by", memory.superseded_by),
        ("replaces", ", ".join(memory.supersedes)),
    ]
    return [(name, text) for name, text in fields if text]


def repeats_title(text: str, title: str) -> bool:
    """Return whether a text begins with the words of its title, whatever their case and the punctuation after them."""
    words, first = _plain_words(text), _plain_words(title)
    return bool(first) and words[: len(first)] == first


def _plain_words(text: str) -> list[str]:
    return [word for part in text.casefold().split() if (word := part.rstrip(".,:;!?\u2026\u3002"))]


def told_digests(memory: Memory) -> TextDigests:
    """Return the digests of the fields without the phrases: these are evidence for recall, and are accepted apart from the text."""
    return text_digests(memory._replace(asked_as=()))


def text_digests(memory: Memory) -> TextDigests:
    """Return the digests of the fields; reformatting a file does not change them, another order of what is shown does."""
    content = memory.data["content"]
    values: list[Any] = [
        memory.category,
        memory.title,
        content,
        memory.tags,
        memory.files,
        memory.asked_as,
        memory.data.get("guard"),
        memory.expires_at,
        memory.status,
        memory.superseded_by,
        memory.supersedes,
    ]
    unknown = {name: None for name in content if name not in categories()[memory.category].fields}
    # Known fields have a fixed order. The order of others counts only if it is not the usual one, so most digests are of the values alone.
    orders = [order for value in (unknown, *content.values()) for order in _unusual_orders(value)]
    written = dumps(canonical([*values, *([orders] if orders else [])])).encode("ascii")
    return TextDigests(digest(memory.id.encode("ascii") + b"\n" + written), digest(written))


def canonical(value: object) -> object:
    """Return a value in canonical form for JSON: keys of objects sorted, tuples as lists."""
    if isinstance(value, dict):
        return {str(key): canonical(value[key]) for key in sorted(value, key=str)}
    return [canonical(item) for item in value] if isinstance(value, (list, tuple)) else value


def _unusual_orders(value: object) -> Iterator[list[str]]:
    """Yield the keys of each object in a value whose keys are not sorted."""
    if isinstance(value, dict):
        keys = list(map(str, value))
        if keys != sorted(keys):
            yield keys
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _unusual_orders(item)


def shown_fields(memory: Memory) -> dict[str, list[str]]:
    """Return the fields as lines without secrets and hidden characters.

    The last line of a cut text says so, because nobody should accept text that they did not see.
    """
    return {name: _lines(text) for name, text in memory_fields(memory)}


def changes(old: dict[str, list[str]], new: dict[str, list[str]]) -> list[FieldChange]:
    """Return the fields in which two versions of a memory differ, as `shown_fields` has them, in reading order."""
    both = [(name, old.get(name, []), new.get(name, [])) for name in dict.fromkeys([*new, *old])]
    return [FieldChange(name, _difference(a, b)) for name, a, b in both if a != b]


def lines_of(changed: list[FieldChange], fields: dict[str, list[str]]) -> list[str]:
    """Return the changes as lines; without changes the memory's text, indented, and its other fields: `name: value`, or indented."""
    if changed:
        return [line for change in changed for line in (change.field + ":", *_indented(change.lines))]
    is_in_title = fields.get(TEXT) == fields[TITLE]
    lines = [TEXT + ": same as the title"] if is_in_title else [TEXT + ":", *_indented(fields.get(TEXT, []))]
    for name, text in fields.items():
        if name in (TITLE, TEXT):  # the heading shows the title
            continue
        lines += ["%s: %s" % (name, text[0])] if len(text) == 1 else [name + ":", *_indented(text)]
    return lines


def _indented(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]


def _difference(old: list[str], new: list[str]) -> list[str]:
    if len(old) + len(new) > _MAX_DIFFERENCE:
        return [*("- " + line for line in old), *("+ " + line for line in new)]
    # The lines after the names of both versions and their numbers; all of both, because each has as much context.
    lines = islice(unified_diff(old, new, n=len(old), lineterm=""), 3, None)
    return ["%s %s" % (line[0], line[1:]) for line in lines]


def _guard_text(memory: Memory) -> str:
    if memory.guard is not None:
        return guard_in_words(memory.guard)
    problem = guard_problem(memory)
    return "invalid: " + problem if problem else ""


def _lines(text: str) -> list[str]:
    lines = shown_block(text, MAX_SHOWN).split("\n")
    return [*lines, _CUT] if len(text) > MAX_SHOWN else lines
