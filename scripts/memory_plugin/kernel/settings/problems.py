"""The problems of settings, as sentences and as records."""

from __future__ import annotations

import json
from difflib import get_close_matches

from ..files import read_regular
from ..text.clean import terminal_safe
from .user_file import (
    find_key,
    keys,
    line_of,
    nearest_choice,
)
from .values import MAX_BYTES, Problem, SettingsFileError

_MAX_NAME = 80
_UNTIL_FIXED = "until it is fixed, the default counts unless another file sets it"


def problem_sentence(problem: Problem) -> str:
    """Return a problem in one line: file, line, key, expected, got, and the fix."""
    at = _line(problem)
    place = terminal_safe(problem.file) + ("" if at is None else ":%d" % at)
    key = readable(problem.key) + ": " if problem.path else ""
    got = terminal_safe(problem.got)
    return "%s: %sexpected %s, got %s; %s" % (place, key, problem.expected, got, _hint(problem))


def problem_record(problem: Problem) -> dict[str, object]:
    """Return a problem for JSON output."""
    return {
        "kind": problem.kind,
        "file": problem.file,
        "line": _line(problem),
        "key": problem.key,
        "expected": problem.expected,
        "got": problem.got,
        "hint": _hint(problem),
    }


def unknown_key_hint(key: str) -> str:
    """Return which existing key is most similar to an unknown one."""
    try:
        names = list(keys())
    except SettingsFileError:
        names = []
    names += {name.rpartition(".")[0]: 0 for name in names if "." in name}  # the blocks
    same_name = [name for name in names if name.rpartition(".")[2] == key.rpartition(".")[2]]
    nearest = [*get_close_matches(key, names, 1, 0.6), *same_name][:1]
    return "".join("nearest key: %s; " % name for name in nearest) + "`memory config show` lists all keys"


def readable(name: str) -> str:
    """Return a name from a file, safe for a terminal and at most 80 characters long."""
    text = terminal_safe(name)
    return text if len(text) <= _MAX_NAME else text[:_MAX_NAME] + "..."


def _line(problem: Problem) -> int | None:
    """Return the line of a problem's key, or of the first JSON error; None if it cannot be determined."""
    try:
        data = read_regular(problem.file, MAX_BYTES, follow=True)[0]
        text = data.decode("utf-8", "replace").lstrip("\ufeff")
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno if problem.expected == "JSON" else None
    except (OSError, ValueError, RecursionError):
        return None
    return line_of(text, problem.path) if problem.path else None


def _hint(problem: Problem) -> str:
    """Return how to fix a problem."""
    if problem.kind == "file":
        return "fix the file; until then it counts as empty"
    if problem.kind == "refused":
        how = "remove the key from this file; to set it for yourself, run: memory config set %s VALUE"
        return how % readable(problem.key)
    if problem.kind == "unknown":
        return unknown_key_hint(problem.key)
    key = find_key(problem.key) or find_key(problem.key.rpartition(".")[0])
    nearest = nearest_choice(key.rule, problem.item) if key else None
    return "nearest: %s; %s" % (nearest, _UNTIL_FIXED) if nearest else _UNTIL_FIXED
