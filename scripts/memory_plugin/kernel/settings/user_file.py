"""Values as a command line takes them, edits of the user's own settings file, and the problems of settings files as text.

One value changes, and all other keys, their order and the indentation stay. The file is shared with Claude Code and edited by hand. A
symbolic link is followed and its target replaced, the mode is kept, the old content is saved as `settings.json.memory-backup`, and a
concurrent change is detected.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Callable, NamedTuple

from ..fastjson import loads
from ..files import FileLock, error_text, make_folder, read_regular, replace_file
from ..paths import load_data, state_folder
from ..text.clean import terminal_safe
from . import JUDGE_ENABLED, MAX_BYTES, Problem, Settings, SettingsFileError, decoded, judge_switches, merged
from .load import load
from .schema import Rule, expected, find_key, keys, mismatch, schema, shown

Content = dict[str, object]
Path = tuple[str, ...]

_LOCK_WAIT = 2.0  # seconds
_BLOCK = "memory"
_JUDGE = "judge"
_INDENTED = re.compile(r'\n([ \t]+)"')
_MAX_NAME = 80
_UNTIL_FIXED = "until it is fixed, the default counts unless another file sets it"


class EditError(RuntimeError):
    """Raised for a change that was not made; the text says why, and the file is unchanged."""


class WrongValueError(Exception):
    """Raised for a value that does not fit its key; the text names the key, what was expected and what was found."""


class FileChange(NamedTuple):
    """The file (the target of a link), its backup (None if nothing was replaced), and whether its content changed."""

    path: str
    backup: str | None
    changed: bool


def value_of(key: Rule, settings: Settings | None) -> Any:  # noqa: ANN401 (any JSON)
    """Return the value of a key, or of a name below one; of a shipped table, what can be changed in it. None: as shipped."""
    setting = key.setting
    if not setting.table:
        return settings.get(key.name) if settings else key.default
    changes = settings.block(setting.name) if settings else {}
    value = _changeable(setting, merged(load_data(*setting.table), changes))
    for part in _below(key):
        value = value[part]
    return value


def _below(key: Rule) -> Path:
    """Return the names that lead from a setting to a name below it; empty for the setting itself."""
    return tuple(key.name[len(key.setting.name) :].split(".")[1:])


def _changeable(rule: Rule, table: Any) -> Any:  # noqa: ANN401 (any JSON)
    if rule.type != "object":
        return table
    entries = {entry["id"]: entry for entry in table} if isinstance(table, list) else table
    rules = ((name, rule.below(name)) for name in entries)
    return {name: _changeable(below, entries[name]) for name, below in rules if below is not None}


def parsed(key: Rule, text: str) -> object:
    """Return a value from the command line: JSON, or for a string key the string itself. Raises WrongValueError for other text."""
    if key.type == "string" and not text.startswith('"'):
        return text
    try:
        return loads(text)
    except ValueError:
        raise WrongValueError("%s: expected %s, got %s" % (key.name, expected(key), shown(text))) from None


def _require_fit(config_dir: str | None, name: str, value: object) -> None:
    """Raise WrongValueError, with the nearest choice, if a value does not fit its key, or the object does not that it becomes part of."""
    key = find_key(name)
    assert key is not None
    setting, below = key.setting, _below(key)
    for part in reversed(below):
        value = {part: value}
    if below:
        value = merged(load(config_dir, None).block(setting.name), value)
    problem = mismatch(setting, value)
    if problem is not None:
        path, expected_value, got, item = problem
        found = ".".join((setting.name, *path))
        nearest = _nearest_choice(found, item)
        hint = "; nearest: " + nearest if nearest else ""
        raise WrongValueError("%s: expected %s, got %s%s" % (found, expected_value, got, hint))


def _nearest_choice(name: str, item: object) -> str:
    """Return the choice of a list, or the name of an object, that is most similar to an unknown one; empty if none is."""
    rule = find_key(name) or find_key(name.rpartition(".")[0])
    if rule is None or not isinstance(item, str):
        return ""
    choices = (rule.items.choices if rule.items else None) or list(rule.entries())
    same_start = [choice for choice in choices if choice.startswith(item.lower() + "-")]
    return next(iter(get_close_matches(item.lower(), choices, 1, 0.6) or same_start), "")


def change_values(config_dir: str | None, values: Mapping[str, object]) -> FileChange:
    """Change several keys of the user's file at once; None removes a key, known or not, or a whole block.

    The first key in a judge's block would switch that judge on, so `enabled: false` is written with it. Raises WrongValueError and
    EditError.
    """
    for name, value in values.items():
        if value is not None:
            _require_fit(config_dir, name, value)

    def edit(content: Content) -> None:
        for name, value in values.items():
            if value is None:
                for path in _places(name):
                    _remove(content, path)
            else:
                _switch_off_new_judge(content, name)
                _set(content, name, value)

    return change_content(config_dir, edit)


def _places(name: str) -> list[Path]:
    """Return the paths at which a file may have a key, that in the block `memory`, which wins, first."""
    path = tuple(name.split("."))
    return [(_BLOCK, *path), path] if path[0] in schema()["x-top-level"] else [(_BLOCK, *path)]


def _has(content: Any, path: Path) -> bool:  # noqa: ANN401 (any JSON)
    for name in path:
        if not isinstance(content, dict) or name not in content:
            return False
        content = content[name]
    return True


def _set(content: Content, name: str, value: object) -> None:
    """Set a key in the first of its places whose block exists. Raises ValueError if one of its blocks is no object."""
    places = _places(name)
    path = next((place for place in places if _has(content, place[:-1])), places[0])
    for at, part in enumerate(path[:-1], 1):
        block = content.setdefault(part, {})
        if not isinstance(block, dict):
            raise ValueError("not a block of keys: " + ".".join(path[:at]))  # noqa: TRY004 (of the file, not an argument)
        content = block
    content[path[-1]] = value


def _switch_off_new_judge(content: Content, name: str) -> None:
    """Write the judge's switch if this key belongs to a judge's block that the file lacks and that would switch it on."""
    feature, belongs, _ = name.partition("." + _JUDGE + ".")
    switch = feature + JUDGE_ENABLED
    if not belongs or name == switch or judge_switches()[feature][0] != switch:
        return
    if not any(_has(content, place) for place in _places(feature + "." + _JUDGE)):
        _set(content, switch, value=False)


def _remove(block: object, path: Path) -> bool:
    """Remove a key, and the blocks that become empty; an empty judge's block remains, because without it the judge would be off.

    Return whether the key was there.
    """
    name, *below = path
    if not isinstance(block, dict) or name not in block or (below and not _remove(block[name], tuple(below))):
        return False
    if not below or not (block[name] or name == _JUDGE):
        del block[name]
    return True


def change_content(config_dir: str | None, edit: Callable[[Content], object]) -> FileChange:
    """Edit the object in the user's file under its lock. Raises EditError, also if another program changes the file meanwhile."""
    folder, why = state_folder(config_dir, None)
    if config_dir is None or folder is None:
        raise EditError(why)
    path = os.path.realpath(os.path.join(config_dir, "settings.json"))
    try:
        make_folder(folder)
        with FileLock(os.path.join(folder, "settings.lock"), _LOCK_WAIT):
            return _change_file(path, edit)
    except (SettingsFileError, ValueError) as error:
        raise EditError("%s: %s; fix the file first" % (path, error)) from None
    except OSError as error:
        raise EditError("%s; nothing was changed" % error_text(error)) from None


def _change_file(path: str, edit: Callable[[Content], object]) -> FileChange:
    before, mode = _read(path)
    content = decoded(before)
    old = json.dumps(content)
    edit(content)
    if json.dumps(content) == old:
        return FileChange(path, None, changed=False)
    # A lone surrogate, which UTF-8 cannot hold, stays escaped.
    data = _in_style_of(before.decode("utf-8"), content).encode("utf-8", "backslashreplace")
    if len(data) > MAX_BYTES:
        raise EditError("%s: it would exceed %d bytes" % (path, MAX_BYTES))
    backup = path + ".memory-backup" if before else None
    if backup:
        replace_file(backup, before)
    if _read(path) != (before, mode):
        raise EditError(path + ": another program has just changed it; try again")
    replace_file(path, data, mode)
    os.chmod(path, mode)  # the umask may have taken bits away
    return FileChange(path, backup, changed=True)


def _in_style_of(text: str, content: Content) -> str:
    """Return an object as JSON with the indentation of a text. Raises ValueError for infinity."""
    body = text.strip("\ufeff \t\n\r")
    indented = _INDENTED.search(body)
    indent = indented[1] if indented else None if len(body) > len("{}") and "\n" not in body else 2
    result = json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False)
    return result + ("\n" if not body or text.endswith("\n") else "")


def _read(path: str) -> tuple[bytes, int]:
    """Return the content and the permissions of a file; those of a new one if there is none."""
    try:
        data, status = read_regular(path, MAX_BYTES, follow=True)
    except FileNotFoundError:
        return b"", 0o600
    return data, stat.S_IMODE(status.st_mode)


def line_of(file: str, path: Path) -> int | None:
    """Return the line, from 1, of a settings file where a key is, after the keys of the objects around it; None if there is none.

    Without a key it is the line of the first error in the file's JSON.
    """
    try:
        text = read_regular(file, MAX_BYTES, follow=True)[0].decode("utf-8-sig", "replace")
        if not path:
            json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno
    except (OSError, ValueError, RecursionError):
        return None
    at = 0
    for name in path:
        key = re.compile(r"%s\s*:" % re.escape(json.dumps(name, ensure_ascii=False))).search(text, at)
        if key is None:
            return None
        at = key.end()
    return text.count("\n", 0, at) + 1 if path else None


def problem_sentence(problem: Problem) -> str:
    """Return a problem in one line: file, line, key, expected, got, and the fix."""
    at = line_of(problem.file, problem.path)
    place = terminal_safe(problem.file) + ("" if at is None else ":%d" % at)
    key = readable(problem.key) + ": " if problem.path else ""
    got = terminal_safe(problem.got)
    return "%s: %sexpected %s, got %s; %s" % (place, key, problem.expected, got, _hint(problem))


def problem_record(problem: Problem) -> dict[str, object]:
    """Return a problem for JSON output."""
    return {
        "kind": problem.kind,
        "file": problem.file,
        "line": line_of(problem.file, problem.path),
        "key": problem.key,
        "expected": problem.expected,
        "got": problem.got,
        "hint": _hint(problem),
    }


def unknown_key_hint(key: str) -> str:
    """Return which existing key is most similar to an unknown one."""
    blocks = dict.fromkeys(name.rpartition(".")[0] for name in keys())
    names = [*keys(), *blocks]
    same_name = [name for name in names if name.rpartition(".")[2] == key.rpartition(".")[2]]
    nearest = [*get_close_matches(key, names, 1, 0.6), *same_name][:1]
    return "".join("nearest key: %s; " % name for name in nearest) + "`memory config show` lists all keys"


def readable(name: str) -> str:
    """Return a name from a file, safe for a terminal and at most 80 characters long."""
    return terminal_safe(name)[:_MAX_NAME]


def _hint(problem: Problem) -> str:
    """Return how to fix a problem."""
    if problem.kind == "file":
        return "fix the file; until then it counts as empty"
    if problem.kind == "refused":
        how = "remove the key from this file; to set it for yourself, run: memory config set %s VALUE"
        return how % readable(problem.key)
    if problem.kind == "unknown":
        return unknown_key_hint(problem.key)
    nearest = _nearest_choice(problem.key, problem.item)
    return "nearest: %s; %s" % (nearest, _UNTIL_FIXED) if nearest else _UNTIL_FIXED
