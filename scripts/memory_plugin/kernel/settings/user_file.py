"""Edit the user's own settings file so that one value changes and every other character stays.

The file is shared with Claude Code and edited by hand. A symbolic link is followed and its target replaced, the mode is kept, the old
content is saved as `settings.json.memory-backup`, and a concurrent change is detected and merged by another attempt.

The functions on JSON text take valid JSON with an object at its root, and raise ValueError for any other text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from json import JSONDecoder, dumps
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Callable, NamedTuple

from ..files import Unreadable, make_folder, read_regular, replace_file
from ..locks import Busy, FileLock
from ..paths import state_folder
from .load import load
from .schema import find_key, keys, require_valid, top_level
from .values import JUDGE_ENABLED, JUDGE_SWITCHES, MAX_BYTES, SettingsFileError, decoded, merged

Rewrite = Callable[[str], str]
Path = tuple[str, ...]

_ATTEMPTS = 3
_LOCK_WAIT = 2.0  # seconds
_NEW_FILE = "{}\n"
_BLOCK = "memory"
_JUDGE = "judge"
_JSON_SPACE = " \t\n\r"
_DECODER = JSONDecoder()


class EditError(RuntimeError):
    """Raised for a change that was not made; the text says why, and the file is unchanged."""


class FileChange(NamedTuple):
    """The file (the target of a link), its backup (None if nothing was replaced), and whether its content changed."""

    path: str
    backup: str | None
    changed: bool


def set_value(config_dir: str | None, name: str, value: object) -> FileChange:
    """Set one of `keys()` in the user's file. Raises WrongValueError and EditError."""
    return change_values(config_dir, {name: value})


def change_values(config_dir: str | None, values: Mapping[str, object]) -> FileChange:
    """Set several of `keys()` in one change; None removes a key. Raises WrongValueError and EditError.

    The first key in a judge's block would switch that judge on, so `enabled: false` is written with it.
    """
    for name, value in values.items():
        if value is not None:
            _require_valid(config_dir, name, value)

    def rewrite(text: str) -> str:
        for name, value in values.items():
            text = _without_key(text, name) if value is None else _with_key(text, name, value)
        return text

    return change_text(config_dir, rewrite)


def _require_valid(config_dir: str | None, name: str, value: object) -> None:
    """Raise WrongValueError if a value does not fit its key, or the object does not that it becomes part of."""
    key = find_key(name)
    if key is None:
        raise EditError(name + ": no such key")
    require_valid(key, value)
    if key.setting != name:
        present = load(config_dir, None).block(key.setting)
        below = _nested(tuple(name[len(key.setting) + 1 :].split(".")), value)
        require_valid(keys()[key.setting], merged(present, below))


def _with_key(text: str, name: str, value: object) -> str:
    switch = _missing_switch(text, name)
    if switch:
        text = with_value(text, _place(text, switch), value=False)
    return with_value(text, _place(text, tuple(name.split("."))), value)


def _without_key(text: str, name: str) -> str:
    for path in _places(tuple(name.split("."))):
        text = _cut(text, path)
    return text


def unset(config_dir: str | None, name: str) -> FileChange:
    """Remove a key, known or not, or a whole block from the user's file. Raises EditError."""
    return change_text(config_dir, lambda text: _without_key(text, name))


def _places(parts: Path) -> list[Path]:
    own = (_BLOCK, *parts)
    return [own, parts] if parts[0] in top_level() else [own]


def _place(text: str, parts: Path) -> Path:
    """Return the path under which to write a key: where it or most of its blocks exist, else in the block `memory`."""
    places = _places(parts)
    return max(places, key=lambda path: max(0, _depth(text, path) - (len(path) - len(parts))))


def _depth(text: str, path: Path) -> int:
    """Return how many parts of a path exist."""
    return max((depth for depth in range(len(path) + 1) if depth == 0 or find(text, path[:depth])), default=0)


def _missing_switch(text: str, name: str) -> Path:
    """Return the path of the judge's switch if this key belongs to a judge's block that the file lacks and that would switch it on."""
    feature, belongs, _ = name.partition("." + _JUDGE + ".")
    switch = feature + JUDGE_ENABLED
    if not belongs or name == switch or JUDGE_SWITCHES[feature][0] != switch:
        return ()
    return () if any(find(text, path) for path in _places((feature, _JUDGE))) else tuple(switch.split("."))


def _cut(text: str, path: Path) -> str:
    """Return the text without a key and without blocks that become empty.

    An empty judge's block remains, because removing it would switch the judge off.
    """
    if find(text, path) is None:
        return text
    text = without(text, path)
    above = path[:-1]
    while above and above[-1] != _JUDGE and _at(decoded(text.encode()), above) == {}:
        text, above = without(text, above), above[:-1]
    return text


def _at(content: dict[str, Any], path: Path) -> object:
    value: Any = content
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def change_text(config_dir: str | None, rewrite: Rewrite) -> FileChange:
    """Rewrite the text of the user's file under its lock; after a concurrent change `rewrite` is called again. Raises EditError."""
    folder, why = state_folder(config_dir, None)
    if config_dir is None or folder is None:
        raise EditError(why)
    path = os.path.realpath(os.path.join(config_dir, "settings.json"))
    try:
        make_folder(folder)
        with FileLock(os.path.join(folder, "settings.lock"), _LOCK_WAIT):
            for _ in range(_ATTEMPTS):
                change = _attempt(path, rewrite)
                if change is not None:
                    return change
    except (Busy, Unreadable) as error:
        raise EditError(str(error)) from None
    except SettingsFileError as error:
        raise EditError("%s: %s; fix the file first" % (path, error)) from None
    except OSError as error:
        raise EditError("%s: %s; nothing was changed" % (path, error.strerror or error)) from None
    raise EditError(path + ": another program keeps changing it; try again")


def _attempt(path: str, rewrite: Rewrite) -> FileChange | None:
    """Read, rewrite and replace the file once; return None if it changed meanwhile."""
    before = _read(path)
    text = (before[0] if before else b"").decode("utf-8", "replace")
    if before:
        decoded(before[0])
    try:
        after = rewrite(text if text.lstrip("\ufeff").strip() else _NEW_FILE)
    except ValueError as error:
        raise EditError("%s: %s; fix the file first" % (path, error)) from None
    data = after.encode("utf-8")
    if (before is None and after == _NEW_FILE) or (before and data == before[0]):
        return FileChange(path, None, changed=False)
    decoded(data)
    if len(data) > MAX_BYTES:
        raise EditError("%s: it would exceed %d bytes" % (path, MAX_BYTES))
    backup = _back_up(path, before[0]) if before else None
    if _read(path) != before:
        return None
    mode = stat.S_IMODE(before[1]) if before else 0o600
    replace_file(path, data, mode)
    os.chmod(path, mode)  # the umask may have taken bits away
    return FileChange(path, backup, changed=True)


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


class Member(NamedTuple):
    """One member of an object: its name, the offset of the quoted name, and the start and end offsets of its value."""

    name: str
    start: int
    value: int
    end: int


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _JSON_SPACE:
        at += 1
    return at


def members(text: str, start: int) -> list[Member]:
    """Return the members of the object whose brace is at `start`; empty for any other value."""
    found: list[Member] = []
    if text[start] != "{":
        return found
    at = _skip_space(text, start + 1)
    while text[at] != "}":
        name, after = scanstring(text, at + 1, True)
        value = _skip_space(text, _skip_space(text, after) + 1)
        end = _DECODER.raw_decode(text, value)[1]
        found.append(Member(name, at, value, end))
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return found


def _root(text: str) -> int:
    return _skip_space(text, 1 if text.startswith("\ufeff") else 0)


def find(text: str, path: tuple[str, ...]) -> Member | None:
    """Return the member at a path, the last of several with the same name, as JSON parsers do; None if there is none."""
    start, member = _root(text), None
    for name in path:
        member = next(
            (candidate for candidate in reversed(members(text, start)) if candidate.name == name), None
        )
        if member is None:
            return None
        start = member.value
    return member


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the line of a key, from 1; None if it is missing."""
    member = find(text, path)
    return None if member is None else text.count("\n", 0, member.start) + 1


def with_value(text: str, path: tuple[str, ...], value: object) -> str:
    """Return the text with the value at a path set, and missing blocks added.

    An object as value replaces the old one, on one line. Raises ValueError if a part of the path is not an object.
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
    """Return the text with one more key at the end of the object at `start`, formatted like the keys before it."""
    present = members(text, start)
    if not present:
        return _with_first_member(text, start, name, value)
    last = present[-1]
    gap_start = _skip_space(text, present[-2].end) + 1 if len(present) > 1 else start + 1
    gap = text[gap_start : last.start]
    on_lines = "\n" in gap
    body = _member(text, name, value, gap.rpartition("\n")[2] if on_lines else None)
    comma = "," + (gap if on_lines or len(present) > 1 else " ")
    return text[: last.end] + comma + body + text[last.end :]


def _with_first_member(text: str, start: int, name: str, value: object) -> str:
    end = _skip_space(text, start + 1)
    if start != _root(text) and "\n" not in text.strip():
        return text[: start + 1] + _member(text, name, value, None) + text[end:]
    margin, line = _margin(text, start), _newline(text)
    inner = margin + _unit(text)
    return text[: start + 1] + line + inner + _member(text, name, value, inner) + line + margin + text[end:]


def _member(text: str, name: str, value: object, margin: str | None) -> str:
    """Return a key and its value in the style of the file: on lines with an indentation of `margin`, or with None on one line."""
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
    """Return the text without the key at a path, duplicates included; unchanged if it is missing."""
    member = find(text, path)
    while member is not None:
        above = find(text, path[:-1])
        start = _root(text) if above is None else above.value
        present = members(text, start)
        at = present.index(member)
        if len(present) == 1:
            end = _skip_space(text, member.end)
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
    """Return the indentation of the line at an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one level of indentation: that of the first key if it is on its own line, else two spaces."""
    first = members(text, _root(text))[:1]
    margin = _margin(text, first[0].start) if first else ""
    return margin or "  "
