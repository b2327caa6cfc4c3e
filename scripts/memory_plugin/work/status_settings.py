"""The status line in the user's settings."""

from __future__ import annotations

import os
from shlex import quote
from typing import Any

from ..kernel.data import write_state
from ..kernel.files import make_folder, replace_file
from ..kernel.paths import Paths
from ..kernel.settings.values import SettingsFileError, content
from .context import WorkError
from .status_line import BEFORE, FOLDER, script_path

BACKUP = "before.json"

NAME = "statusLine"


def back_up(current: dict[str, Any], paths: Paths) -> None:
    """Save the user's current status line: it is shown before ours, and restored when ours is removed."""
    before = current.get("command")
    if current.get("type") != "command" or not isinstance(before, str):
        raise WorkError("nothing was changed: your settings have a status line of an unknown form")
    make_folder(paths.state(FOLDER))
    replace_file(paths.state(FOLDER, BEFORE), (before + "\n").encode("utf-8"))
    write_state(paths.state(FOLDER, BACKUP), {"before": current}, durable=True)


def line_command(paths: Paths) -> str:
    """Return the command that prints the status line."""
    return "sh " + quote(script_path(paths))


def status_line(paths: Paths) -> dict[str, Any] | None:
    """Return the status line in the user's settings, or None. Raises WorkError for an unreadable file."""
    if paths.config_dir is None:
        raise WorkError(paths.why_no_state)
    path = os.path.join(paths.config_dir, "settings.json")
    try:
        value = content(path, follow=True).get(NAME)
    except FileNotFoundError:
        return None
    except SettingsFileError as error:
        raise WorkError("%s: %s; fix the file first" % (path, error)) from None
    return value if isinstance(value, dict) else None
