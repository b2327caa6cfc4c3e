"""Changes to the user's own settings file, in which every other character stays as it is.

The file is shared with Claude Code and edited by hand: a link is followed and its target replaced, the mode
is kept, the old content lies beside it as `settings.json.memory-backup`, and a change that somebody else
makes meanwhile is seen and worked into a second attempt.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from ..files import Unreadable, make_folder, read_regular, replace_file
from ..locks import Busy, FileLock
from ..paths import state_folder
from .document import find, with_value, without
from .keys import keys, must_fit, top_level
from .load import MAX_BYTES, SettingsFileError, decoded
from .record import JUDGE_SWITCH

if TYPE_CHECKING:
    from typing import Any, Callable

    Rewrite = Callable[[str], str]
    Path = tuple[str, ...]

__all__ = ["Change", "EditError", "set_value", "unset"]

_ATTEMPTS = 3
_LOCK_WAIT = 2.0  # seconds
_NEW_FILE = "{}\n"
_BLOCK = "memory"
_JUDGE = "judge"


class EditError(Exception):
    """A change that was not made, and why; the file is as it was."""


class Change(NamedTuple):
    """The file (the target of a link), its backup (None where nothing was replaced), whether it differs."""

    path: str
    backup: str | None
    changed: bool


def set_value(config_dir: str | None, name: str, value: object) -> Change:
    """Set one of `keys()` in the user's file. Raises WrongValueError and EditError.

    The first key of a judge's block would switch that judge on, so `enabled: false` is written with it.
    """
    must_fit(keys()[name], value)
    parts = tuple(name.split("."))

    def rewrite(text: str) -> str:
        switch = _unwritten_switch(text, name)
        if switch:
            text = with_value(text, _place(text, switch), value=False)
        return with_value(text, _place(text, parts), value)

    return _change(config_dir, rewrite)


def unset(config_dir: str | None, name: str) -> Change:
    """Take a key, known or not, or a whole block out of the user's file. Raises EditError."""
    parts = tuple(name.split("."))

    def rewrite(text: str) -> str:
        for path in _places(parts):
            text = _cut(text, path)
        return text

    return _change(config_dir, rewrite)


def _places(parts: Path) -> list[Path]:
    own = (_BLOCK, *parts)
    return [own, parts] if parts[0] in top_level() else [own]


def _place(text: str, parts: Path) -> Path:
    """Where a key is written: where it or most of its blocks stand, else in the block `memory`."""
    places = _places(parts)
    return max(places, key=lambda path: max(0, _depth(text, path) - (len(path) - len(parts))))


def _depth(text: str, path: Path) -> int:
    """How much of a path is there already."""
    return max((depth for depth in range(len(path) + 1) if depth == 0 or find(text, path[:depth])), default=0)


def _unwritten_switch(text: str, name: str) -> Path:
    """The switch of the judge to whose block this key belongs, if the file lacks that block; else empty."""
    feature, belongs, _ = name.partition("." + _JUDGE + ".")
    if not belongs or name == feature + JUDGE_SWITCH:
        return ()
    block = (*feature.split("."), _JUDGE)
    return () if any(find(text, path) for path in _places(block)) else (*block, "enabled")


def _cut(text: str, path: Path) -> str:
    """The text without a key and without the blocks that this leaves empty.

    A judge's block stays: leaving it out would switch the judge off.
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


def _change(config_dir: str | None, rewrite: Rewrite) -> Change:
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
        raise EditError("%s: %s; mend the file first" % (path, error)) from None
    except OSError as error:
        raise EditError("%s: %s; nothing was changed" % (path, error.strerror or error)) from None
    raise EditError(path + ": somebody else keeps changing it; try again")


def _attempt(path: str, rewrite: Rewrite) -> Change | None:
    """One read, rewrite and replace; None when the file changed meanwhile."""
    before = _read(path)
    text = (before[0] if before else b"").decode("utf-8", "replace")
    if before:
        decoded(before[0])
    try:
        after = rewrite(text if text.strip("\ufeff \t\r\n") else _NEW_FILE)
    except ValueError as error:
        raise EditError("%s: %s; mend the file first" % (path, error)) from None
    data = after.encode("utf-8")
    if (before is None and after == _NEW_FILE) or (before and data == before[0]):
        return Change(path, None, changed=False)
    decoded(data)
    if len(data) > MAX_BYTES:
        raise EditError("%s: it would pass %d bytes" % (path, MAX_BYTES))
    backup = _keep(path, before[0]) if before else None
    if _read(path) != before:
        return None
    mode = stat.S_IMODE(before[1]) if before else 0o600
    replace_file(path, data, mode)
    os.chmod(path, mode)  # the umask may have taken bits away
    return Change(path, backup, changed=True)


def _read(path: str) -> tuple[bytes, int] | None:
    try:
        data, status = read_regular(path, MAX_BYTES, follow=True)
    except FileNotFoundError:
        return None
    return data, status.st_mode


def _keep(path: str, data: bytes) -> str:
    backup = path + ".memory-backup"
    replace_file(backup, data)
    return backup
