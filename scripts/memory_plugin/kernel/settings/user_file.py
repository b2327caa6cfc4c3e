"""Values as a command line takes them, edits of the user's own settings file, and the problems of settings files as text.

One value changes, and all other keys, their order and the indentation stay. The file is shared with Claude Code and edited by hand. A
symbolic link is followed and its target replaced, the mode is kept, the old content is saved as `settings.json.memory-backup`, and a
concurrent change is detected and merged by another attempt.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from difflib import get_close_matches
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Callable, NamedTuple

from ..fastjson import loads
from ..files import Busy, FileLock, Unreadable, make_folder, read_regular, replace_file
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
_JSON_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()
_INDENTED = re.compile(r'\n([ \t]+)"')
_MAX_NAME = 80
_UNTIL_FIXED = "until it is fixed, the default counts unless another file sets it"


class EditError(RuntimeError):
    """Raised for a change that was not made; the text says why, and the file is unchanged."""


class WrongValueError(Exception):
    """Raised for a value that does not fit its key."""

    def __init__(self, key: str, expected: str, got: str) -> None:
        super().__init__("%s: expected %s, got %s" % (key, expected, got))


class FileChange(NamedTuple):
    """The file (the target of a link), its backup (None if nothing was replaced), and whether its content changed."""

    path: str
    backup: str | None
    changed: bool


def table_value(name: str, settings: Settings | None) -> Any:  # noqa: ANN401 (any JSON)
    """Return what can be changed of a shipped table, or of a name in it: with the user's changes, or as shipped for None.

    Raises LookupError for a key without a table.
    """
    key = find_key(name)
    setting = keys()[key.setting if key else ""]
    if not setting.table:
        raise LookupError(name)
    changes = settings.block(setting.name) if settings else {}
    value = _changeable(setting, merged(load_data(*setting.table), changes))
    for part in name[len(setting.name) + 1 :].split(".") if name != setting.name else ():
        value = value[part]
    return value


def _changeable(rule: Rule, table: Any) -> Any:  # noqa: ANN401 (any JSON)
    if rule.type != "object":
        return table
    entries = {entry["id"]: entry for entry in table} if isinstance(table, list) else table
    rules = ((name, rule.below(name)) for name in entries)
    return {name: _changeable(below, entries[name]) for name, below in rules if below is not None}


def is_block(name: str) -> bool:
    """Return whether a name is that of a block of keys."""
    return any(key.startswith(name + ".") for key in keys())


def parsed(key: Rule, text: str) -> object:
    """Parse a value from the command line: JSON, or for a string key the string itself.

    Raises WrongValueError if it does not fit.
    """
    value: object = text
    if key.type != "string" or text.startswith('"'):
        try:
            value = loads(text)
        except ValueError:
            raise WrongValueError(key.name, expected(key), shown(text)) from None
    _require_fit(key, value)
    return value


def _require_fit(key: Rule, value: object) -> None:
    """Raise WrongValueError, with the nearest choice, for a value that does not fit a key."""
    problem = mismatch(key, value)
    if problem is None:
        return
    path, expected_value, got, item = problem
    rule = key
    for name in path:
        rule = rule.below(name) or rule
    nearest = _nearest_choice(rule, item)
    name = ".".join((key.name, *path))
    raise WrongValueError(name, expected_value, got + ("; nearest: " + nearest if nearest else ""))


def _nearest_choice(rule: Rule, item: object) -> str | None:
    """Return the choice of a list, or the name of an object, that is most similar to an unknown one; None if none is."""
    choices = (rule.items.choices if rule.items else None) or list(rule.entries())
    word = item.lower() if isinstance(item, str) else ""
    same_start = [choice for choice in choices if choice.startswith(word + "-")]
    return next(iter(get_close_matches(word, choices, 1, 0.6) or same_start), None)


def change_values(config_dir: str | None, values: Mapping[str, object]) -> FileChange:
    """Change several keys of the user's file at once; None removes a key, known or not, or a whole block.

    The first key in a judge's block would switch that judge on, so `enabled: false` is written with it. Raises WrongValueError and
    EditError.
    """
    for name, value in values.items():
        if value is not None:
            _require_valid(config_dir, name, value)

    def edit(content: Content) -> None:
        for name, value in values.items():
            if value is None:
                _remove(content, name)
            else:
                _switch_off_new_judge(content, name)
                _set(content, tuple(name.split(".")), value)

    return change_content(config_dir, edit)


def _require_valid(config_dir: str | None, name: str, value: object) -> None:
    """Raise WrongValueError if a value does not fit its key, or the object does not that it becomes part of."""
    key = find_key(name)
    if key is None:
        raise EditError(name + ": no such key")
    _require_fit(key, value)
    if key.setting != name:
        for part in reversed(name[len(key.setting) + 1 :].split(".")):
            value = {part: value}
        _require_fit(keys()[key.setting], merged(load(config_dir, None).block(key.setting), value))


def _places(parts: Path) -> list[Path]:
    """Return the paths at which a file may have a key, that in the block `memory` first."""
    own = (_BLOCK, *parts)
    return [own, parts] if parts[0] in schema()["x-top-level"] else [own]


def _values_on(content: Content, path: Path) -> list[Any]:
    """Return the content and the values at the parts of a path, as far as they exist."""
    found: list[Any] = [content]
    for name in path:
        if not isinstance(found[-1], dict) or name not in found[-1]:
            break
        found.append(found[-1][name])
    return found


def _set(content: Content, parts: Path, value: object) -> None:
    """Set a key where most of its blocks exist, else in the block `memory`. Raises ValueError if one of them is no object."""
    own, *others = _places(parts)  # `own` has one part more than the others
    path = max([own, *others], key=lambda place: max(1, len(_values_on(content, place)) - (place == own)))
    for at, name in enumerate(path[:-1], 1):
        block = content.setdefault(name, {})
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
    if not any(len(_values_on(content, path)) > len(path) for path in _places((feature, _JUDGE))):
        _set(content, tuple(switch.split(".")), value=False)


def _remove(content: Content, name: str) -> None:
    """Remove a key and the blocks that become empty; an empty judge's block remains, because without it the judge would be off."""
    for path in _places(tuple(name.split("."))):
        values = _values_on(content, path)
        if len(values) > len(path):
            del values[-2][path[-1]]
            for at in range(len(path) - 2, -1, -1):
                if values[at + 1] or path[at] == _JUDGE:
                    break
                del values[at][path[at]]


def change_content(config_dir: str | None, edit: Callable[[Content], object]) -> FileChange:
    """Edit the object in the user's file under its lock; after a concurrent change `edit` is called again. Raises EditError."""
    folder, why = state_folder(config_dir, None)
    if config_dir is None or folder is None:
        raise EditError(why)
    path = os.path.realpath(os.path.join(config_dir, "settings.json"))
    try:
        make_folder(folder)
        with FileLock(os.path.join(folder, "settings.lock"), _LOCK_WAIT):
            for _ in range(3):
                change = _attempt(path, edit)
                if change is not None:
                    return change
    except (Busy, Unreadable) as error:
        raise EditError(str(error)) from None
    except (SettingsFileError, ValueError) as error:
        raise EditError("%s: %s; fix the file first" % (path, error)) from None
    except OSError as error:
        raise EditError("%s: %s; nothing was changed" % (path, error.strerror or error)) from None
    raise EditError(path + ": another program keeps changing it; try again")


def _attempt(path: str, edit: Callable[[Content], object]) -> FileChange | None:
    """Read, edit and replace the file once; return None if it changed meanwhile."""
    before = _read(path)
    content = decoded(before[0] if before else b"")
    old = json.dumps(content)
    edit(content)
    if json.dumps(content) == old:
        return FileChange(path, None, changed=False)
    data = _in_style_of((before[0] if before else b"").decode("utf-8"), content).encode("utf-8")
    if len(data) > MAX_BYTES:
        raise EditError("%s: it would exceed %d bytes" % (path, MAX_BYTES))
    backup = _back_up(path, before[0]) if before else None
    if _read(path) != before:
        return None
    mode = stat.S_IMODE(before[1]) if before else 0o600
    replace_file(path, data, mode)
    os.chmod(path, mode)  # the umask may have taken bits away
    return FileChange(path, backup, changed=True)


def _in_style_of(text: str, content: Content) -> str:
    """Return an object as JSON with the indentation, the line ends and the byte order mark of a text. Raises ValueError for infinity."""
    body = text.strip("\ufeff" + _JSON_SPACE)
    indented = _INDENTED.search(body)
    indent = indented[1] if indented else None if len(body) > len("{}") and "\n" not in body else 2
    # A lone surrogate, which UTF-8 cannot hold, stays escaped.
    has_surrogate = any("\ud800" <= letter <= "\udfff" for letter in json.dumps(content, ensure_ascii=False))
    result = json.dumps(content, indent=indent, ensure_ascii=has_surrogate, allow_nan=False)
    start = "\ufeff" if text.startswith("\ufeff") else ""
    end = "\n" if not body or text.endswith("\n") else ""
    return start + (result + end).replace("\n", "\r\n" if "\r\n" in text else "\n")


def _read(path: str) -> tuple[bytes, int] | None:
    try:
        data, status = read_regular(path, MAX_BYTES, follow=True)
    except FileNotFoundError:
        return None
    return data, status.st_mode


def _back_up(path: str, data: bytes) -> str:
    backup = path + ".memory-backup"
    replace_file(backup, data)
    return backup


def line_of(text: str, path: Path) -> int | None:
    """Return the line of a key in a JSON object, from 1; None if it is missing. Raises ValueError for a text that is not JSON."""
    at = value = _skip_space(text, 1 if text.startswith("\ufeff") else 0)
    for name in path:
        at, value = _members(text, value).get(name, (-1, -1))
        if at < 0:
            return None
    return text.count("\n", 0, at) + 1


def _members(text: str, start: int) -> dict[str, tuple[int, int]]:
    """Return the names in the object whose brace is at `start` with the offsets of the name and of its value; empty for another value."""
    found: dict[str, tuple[int, int]] = {}
    at = _skip_space(text, start + 1)
    while text[start] == "{" and text[at] != "}":
        name, after = scanstring(text, at + 1, True)
        value = _skip_space(text, _skip_space(text, after) + 1)
        found[name] = at, value  # as for JSON parsers, the last of several equal names counts
        at = _skip_space(text, _DECODER.raw_decode(text, value)[1])
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return found


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _JSON_SPACE:
        at += 1
    return at


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
    nearest = _nearest_choice(key, problem.item) if key else None
    return "nearest: %s; %s" % (nearest, _UNTIL_FIXED) if nearest else _UNTIL_FIXED
