"""Write an output where the user wants it, and never over a file that is not an earlier output of ours.

Inside the client, a command of Claude's may be allowed without a question. There it writes only below the project, outside of hidden files
and folders, or into our own folder for reports.
"""

from __future__ import annotations

import os
import stat

from ..kernel.files import Unreadable, make_folder, read_regular, replace_file
from .command_context import CommandContext, CommandError

FOLDER = "reports"  # in the state folder
_MAX_BYTES = 1 << 28
_OUTSIDE = (
    "%s: inside Claude Code, files are written only below the project, outside of hidden files and folders, or into %s;"
    " run the command in a terminal"
)
_NOT_OURS = "%s exists and is not an earlier output of this command; name another file, or delete it first"


def write_output(path: str, data: bytes, mark: bytes, context: CommandContext) -> None:
    """Write a file with mode 0600. `mark` is in every output of the command, so that an earlier one is recognized.

    In a terminal, the user is asked before another file is replaced. Raises CommandError where nothing may be written, and OSError.
    """
    assert mark in data
    if context.inside_client:
        _require_allowed_place(path, context)
    if os.path.lexists(path) and not _is_own_output(path, mark):
        asks = not context.inside_client and not os.path.islink(path) and context.console.can_prompt()
        if not asks or not context.console.confirm("Replace %s, which this command did not write?" % path):
            raise CommandError(_NOT_OURS % path)
    replace_file(path, data, 0o600)


def reports_folder(context: CommandContext) -> str:
    """Return our own folder for reports, which is created. Raises OSError, and RuntimeError without a state folder."""
    folder = context.paths.state(FOLDER)
    make_folder(folder)
    return folder


def _require_allowed_place(path: str, context: CommandContext) -> None:
    """Raise CommandError unless a path, with all links resolved, is in a place that Claude may write to."""
    real = os.path.realpath(path)
    reports = os.path.realpath(context.paths.state(FOLDER))
    if os.path.dirname(real) == reports:
        return
    below = os.path.relpath(real, os.path.realpath(context.paths.project_root))
    if (
        below.startswith(os.pardir)
        or os.path.isabs(below)
        or any(part.startswith(".") for part in below.split(os.sep))
    ):
        raise CommandError(_OUTSIDE % (path, reports))


def _is_own_output(path: str, mark: bytes) -> bool:
    """Return whether a file is a regular one with our mark and without another name."""
    try:
        status = os.lstat(path)
        return (
            stat.S_ISREG(status.st_mode)
            and status.st_nlink == 1
            and mark in read_regular(path, _MAX_BYTES)[0]
        )
    except (OSError, Unreadable):
        return False
