"""The status line in the user's settings."""

from __future__ import annotations

import os
from shlex import quote
from shutil import rmtree
from typing import Any, NamedTuple

from ..kernel.files import make_folder, replace_file
from ..kernel.paths import Paths, read_state, write_state
from ..kernel.settings import SettingsFileError, content
from ..kernel.settings.user_file import change_content
from .context import WorkContext, WorkError
from .refresh import prepare_counts
from .status_line import BEFORE, FOLDER, script_path, script_text

_BACKUP = "before.json"

_NAME = "statusLine"


class Installed(NamedTuple):
    """Whether the user's settings were changed, their file, and whether a status line of the user's own comes first."""

    changed: bool
    path: str
    has_other: bool


def install(context: WorkContext) -> Installed:
    """Add the line to the user's settings, after their current one. Raises WorkError and EditError."""
    paths = context.paths
    current = _status_line(paths)
    command = _line_command(paths)
    if current is not None and current.get("command") != command:
        _back_up(current, paths)
    make_folder(paths.state(FOLDER))
    replace_file(script_path(paths), script_text(paths).encode("utf-8"))
    prepare_counts(context)
    value: dict[str, Any] = {**(current or {}), "type": "command", "command": command}
    change = change_content(paths.config_dir, lambda content: content.update({_NAME: value}))
    return Installed(change.changed, change.path, os.path.exists(paths.state(FOLDER, BEFORE)))


def remove(context: WorkContext) -> str:
    """Restore the user's own line, and return the changed file; empty if ours is not in the settings. Raises WorkError and EditError."""
    paths, path = context.paths, ""
    current = _status_line(paths)
    if current is not None and current.get("command") == _line_command(paths):
        before = read_state(paths.state(FOLDER, _BACKUP)).get("before")
        path = change_content(
            paths.config_dir,
            lambda content: content.update({_NAME: before}) if before else content.pop(_NAME, None),
        ).path
    rmtree(paths.state(FOLDER), ignore_errors=True)
    return path


def _back_up(current: dict[str, Any], paths: Paths) -> None:
    """Save the user's current status line: it is shown before ours, and restored when ours is removed."""
    before = current.get("command")
    if current.get("type") != "command" or not isinstance(before, str):
        raise WorkError("nothing was changed: your settings have a status line of an unknown form")
    make_folder(paths.state(FOLDER))
    replace_file(paths.state(FOLDER, BEFORE), (before + "\n").encode("utf-8"))
    write_state(paths.state(FOLDER, _BACKUP), {"before": current}, durable=True)


def _line_command(paths: Paths) -> str:
    """Return the command that prints the status line."""
    return "sh " + quote(script_path(paths))


def _status_line(paths: Paths) -> dict[str, Any] | None:
    """Return the status line in the user's settings, or None. Raises WorkError for an unreadable file."""
    if paths.config_dir is None:
        raise WorkError(paths.why_no_state)
    path = os.path.join(paths.config_dir, "settings.json")
    try:
        value = content(path, follow=True).get(_NAME)
    except FileNotFoundError:
        return None
    except SettingsFileError as error:
        raise WorkError("%s: %s; fix the file first" % (path, error)) from None
    return value if isinstance(value, dict) else None
