"""Explain settings: each problem with its line and its fix, and for each key the layer that decided it.

This module is not imported while a prompt waits.
"""

from __future__ import annotations

from difflib import get_close_matches
from json import JSONDecodeError
from json import loads as public_loads
from typing import TYPE_CHECKING, NamedTuple

from ..files import read_regular
from .load import MAX_BYTES, SettingsFileError, defaults
from .schema import keys, nearest_choice, replacements
from .user_file import line_of

if TYPE_CHECKING:
    from typing import Any

    from .load import Problem, Settings

_MAX_NAME = 80


def problem_line(problem: Problem) -> int | None:
    """Return the line of a problem's key, or of the first JSON error; None if it cannot be determined."""
    try:
        data = read_regular(problem.file, MAX_BYTES, follow=True)[0]
        text = data.decode("utf-8", "replace").lstrip("\ufeff")
        public_loads(text)
    except JSONDecodeError as error:
        return error.lineno if problem.expected == "JSON" else None
    except (OSError, ValueError, RecursionError):
        return None
    return line_of(text, problem.path) if problem.path else None


def nearest_key(key: str) -> str | None:
    """Return the existing key that is most similar to an unknown one; None if none is."""
    try:
        names = list(defaults())
    except SettingsFileError:
        return None
    last = key.rpartition(".")[2]
    same_name = [name for name in names if name.rpartition(".")[2] == last]
    return next(iter(get_close_matches(key, names, 1, 0.6) or same_name), None)


def replaced_by(key: str) -> str:
    """Return what replaces a key of an older version; empty for any other key."""
    try:
        return replacements().get(key, "")
    except SettingsFileError:
        return ""


def readable(name: str) -> str:
    """Return a name from a file, safe for a terminal and at most 80 characters long."""
    text = terminal_safe(name)
    return text if len(text) <= _MAX_NAME else text[:_MAX_NAME] + "..."


def hint(problem: Problem) -> str:
    """Return how to fix a problem."""
    key = readable(problem.key)
    if problem.kind == "file":
        return "fix the file; until then it counts as empty"
    if problem.kind == "refused":
        return "remove the key from this file; to set it for yourself, run: memory config set %s VALUE" % key
    if problem.kind == "unknown":
        successor = replaced_by(problem.key)
        if successor:
            return "no longer used; set instead: " + successor
        nearest = nearest_key(problem.key)
        return ("nearest key: %s; " % nearest if nearest else "") + "`memory config show` lists all keys"
    nearest = nearest_choice(_rule(problem.key), problem.item)
    until = "until it is fixed, the value of another layer or the default counts"
    return ("nearest: %s; " % nearest if nearest else "") + until


def _rule(key: str) -> dict[str, Any]:
    try:
        found = keys().get(key)
    except SettingsFileError:
        return {}
    return found.rule if found else {}


def problem_sentence(problem: Problem) -> str:
    """Return a problem in one line: file, line, key, expected, got, and the fix."""
    at = problem_line(problem)
    place = terminal_safe(problem.file) + ("" if at is None else ":%d" % at)
    key = readable(problem.key) + ": " if problem.path else ""
    got = terminal_safe(problem.got)
    return "%s: %sexpected %s, got %s; %s" % (place, key, problem.expected, got, hint(problem))


def terminal_safe(text: str) -> str:
    """Return a text in printable ASCII, with escapes for all other characters."""
    text = text.encode("ascii", "backslashreplace").decode("ascii")
    return "".join(letter if letter.isprintable() else "\\x%02x" % ord(letter) for letter in text)


class KeyOrigin(NamedTuple):
    """The origin of a key's value: the layer and file that decided it (no file for a default), and the values that were refused."""

    key: str
    value: object
    layer: str
    file: str
    refused: list[Problem]


def origins(settings: Settings, prefix: str = "") -> list[KeyOrigin]:
    """Return the origins of all keys, or of those under `prefix`, in the order of the defaults."""
    return [_origin(settings, key) for key in settings.all_keys() if _under(key, prefix)]


def _under(key: str, prefix: str) -> bool:
    return not prefix or key == prefix or key.startswith(prefix + ".")


def _origin(settings: Settings, key: str) -> KeyOrigin:
    layer = settings.origin(key)
    refused = [problem for problem in settings.problems if problem.kind == "refused" and problem.key == key]
    return KeyOrigin(key, settings.get(key), layer, settings.files.get(layer, ""), refused)


def nested(rows: list[KeyOrigin]) -> dict[str, object]:
    """Return the values as nested objects, like the block `memory` of a file."""
    tree: dict[str, object] = {}
    for row in rows:
        *blocks, name = row.key.split(".")
        node = tree
        for block in blocks:
            child = node.setdefault(block, {})
            node = child if isinstance(child, dict) else {}
        node[name] = row.value
    return tree


def problem_record(problem: Problem) -> dict[str, object]:
    """Return a problem for JSON output."""
    return {
        "kind": problem.kind,
        "file": problem.file,
        "line": problem_line(problem),
        "key": problem.key,
        "expected": problem.expected,
        "got": problem.got,
        "hint": hint(problem),
    }
