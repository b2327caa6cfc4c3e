"""Describe problems of settings files: file, line, key, and how to fix it."""

from __future__ import annotations

import os
from difflib import get_close_matches
from json import JSONDecodeError
from json import loads as public_loads

from ..kernel.files import read_regular
from ..kernel.settings.schema import find_key, nearest_choice, replacements
from ..kernel.settings.user_file import line_of
from ..kernel.settings.values import MAX_BYTES, Problem, Settings, SettingsFileError, defaults
from ..kernel.text.clean import terminal_safe
from .command_context import CommandError

_SETTINGS_OF = {  # the files of overrides in earlier versions
    "interview.json": "interview.scoring, with the content of `scoring`",
    "sessions.json": "sessions.weights and sessions.prompt",
}
_MAX_NAME = 80
_UNTIL_FIXED = "until it is fixed, the value of another layer or the default counts"


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


def require_valid(settings: Settings, *keys: str) -> None:
    """Raise CommandError, with the first problem, if the user's value of a key that decides this command is not used."""
    for problem in settings.problems:
        if problem.kind == "value" and (problem.key + ".").startswith(tuple(key + "." for key in keys)):
            raise CommandError(problem_sentence(problem))


def unread_overrides(config_dir: str | None) -> list[str]:
    """Return a sentence for each file with overrides, as versions before these were settings read them."""
    folder = os.path.join(config_dir or "", "memory", "overrides")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json")) if config_dir else []
    except OSError:
        return []
    return [
        "%s is no longer read; %s"
        % (
            terminal_safe(os.path.join(folder, name)),
            "set instead: " + _SETTINGS_OF[name] if name in _SETTINGS_OF else "nothing replaces it",
        )
        for name in names
    ]


def unknown_key_hint(key: str) -> str:
    """Return what replaced a key of an older version, or which existing key is most similar to an unknown one."""
    try:
        successor, names = replacements().get(key), list(defaults())
    except SettingsFileError:
        successor, names = None, []
    if successor:
        return "no longer used; set instead: " + successor
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
        public_loads(text)
    except JSONDecodeError as error:
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
