"""A settings problem in words: its line, the nearest key, what to do. Not for the prompt's path."""

from __future__ import annotations

from difflib import get_close_matches
from json import JSONDecodeError
from json import loads as public_loads
from typing import TYPE_CHECKING

from ..files import read_regular
from .document import line_of
from .keys import keys, replacements
from .load import MAX_BYTES, SettingsFileError, defaults
from .values import nearest_choice

if TYPE_CHECKING:
    from typing import Any

    from .record import Problem

__all__ = ["hint", "line", "nearest", "readable", "replaced_by", "sentence"]

_LONGEST_NAME = 80


def line(problem: Problem) -> int | None:
    """The line of a problem's key, or where a text stops being JSON; None when the file does not say."""
    try:
        data = read_regular(problem.file, MAX_BYTES, follow=True)[0]
        text = data.decode("utf-8", "replace").lstrip("\ufeff")
        public_loads(text)
    except JSONDecodeError as error:
        return error.lineno if problem.expected == "JSON" else None
    except (OSError, ValueError, RecursionError):
        return None
    return line_of(text, problem.path) if problem.path else None


def nearest(key: str) -> str | None:
    """The key that somebody who wrote this one most likely meant; None when nothing comes near."""
    try:
        names = list(defaults())
    except SettingsFileError:
        return None
    last = key.rpartition(".")[2]
    same_name = [name for name in names if name.rpartition(".")[2] == last]
    return next(iter(get_close_matches(key, names, 1, 0.6) or same_name), None)


def replaced_by(key: str) -> str:
    """Return what to use in place of a key that there was once; empty for every other."""
    try:
        return replacements().get(key, "")
    except SettingsFileError:
        return ""


def readable(name: str) -> str:
    """A name from a file, safe on a terminal and cut."""
    text = terminal_safe(name)
    return text if len(text) <= _LONGEST_NAME else text[:_LONGEST_NAME] + "..."


def hint(problem: Problem) -> str:
    """What to do about a problem."""
    key = readable(problem.key)
    if problem.kind == "file":
        return "mend the file; until then it counts as empty"
    if problem.kind == "refused":
        return "take the key out of this file; if you want it, run: memory config set %s VALUE" % key
    if problem.kind == "unknown":
        successor = replaced_by(problem.key)
        if successor:
            return "no longer used; set instead: " + successor
        near = nearest(problem.key)
        return ("nearest key: %s; " % near if near else "") + "`memory config show` lists all keys"
    near = nearest_choice(_rule(problem.key), problem.item)
    mend = "until it is mended another layer's value, or the default, counts"
    return ("nearest: %s; " % near if near else "") + mend


def _rule(key: str) -> dict[str, Any]:
    try:
        known = keys().get(key)
    except SettingsFileError:
        return {}
    return known.rule if known else {}


def sentence(problem: Problem) -> str:
    """A problem in one line: file, line, key, expected, got, and what to do."""
    at = line(problem)
    place = terminal_safe(problem.file) + ("" if at is None else ":%d" % at)
    key = readable(problem.key) + ": " if problem.path else ""
    got = terminal_safe(problem.got)
    return "%s: %sexpected %s, got %s; %s" % (place, key, problem.expected, got, hint(problem))


def terminal_safe(text: str) -> str:
    """A text in printable ASCII, the rest of it escaped."""
    text = text.encode("ascii", "backslashreplace").decode("ascii")
    return "".join(letter if letter.isprintable() else "\\x%02x" % ord(letter) for letter in text)
