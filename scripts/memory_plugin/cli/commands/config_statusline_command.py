"""`memory config statusline`: a summary for Claude Code's status line, and its place in the settings."""

from __future__ import annotations

import argparse
import os
import shutil
from typing import Any

from ...kernel.data import read_state
from ...kernel.files import make_folder, replace_file
from ...kernel.settings.user_file import EditError, change_content
from ...work.refresh import current_counts, prepare_counts
from ...work.status_line import BEFORE, FOLDER, script_path, script_text, status_text
from ...work.status_settings import BACKUP, NAME, back_up, line_command, status_line
from ..command_context import Approval, CommandContext, CommandError

HELP = "print a line for Claude Code's status line: memories, shown in this session, pending"
EXAMPLES = """\
  memory config statusline
  memory config statusline install      adds it to your settings, after your current status line
  memory config statusline remove
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the action."""
    parser.add_argument(
        "action", nargs="?", choices=("show", "install", "remove"), default="show", help="default: show"
    )


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return the change of the status line; None for printing it."""
    return None if arguments.action == "show" else Approval("%s the status line?" % arguments.action)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the line, or change the user's settings."""
    if arguments.action != "show":
        try:
            (_install if arguments.action == "install" else _remove)(context)
        except EditError as error:
            raise CommandError(str(error)) from None
        return
    line = status_text(context.paths, context.session, current_counts(context))
    if arguments.json:
        context.console.json({"line": line})
    else:
        context.console.verbatim(line)


def _install(context: CommandContext) -> None:
    paths = context.paths
    current = status_line(paths)
    command = line_command(paths)
    if current is not None and current.get("command") != command:
        back_up(current, paths)
    make_folder(paths.state(FOLDER))
    replace_file(script_path(paths), script_text(paths).encode("utf-8"))
    prepare_counts(context)
    value: dict[str, Any] = {**(current or {}), "type": "command", "command": command}
    change = change_content(paths.config_dir, lambda content: content.update({NAME: value}))
    done = "Installed" if change.changed else "Already installed"
    order = " Your own status line comes first." if os.path.exists(paths.state(FOLDER, BEFORE)) else ""
    text = "%s in %s.%s To remove it: memory config statusline remove"
    context.console.paragraph(text % (done, change.path, order))


def _remove(context: CommandContext) -> None:
    paths = context.paths
    current = status_line(paths)
    if current is None or current.get("command") != line_command(paths):
        context.console.line("This status line is not in your settings; nothing was changed there.")
    else:
        before = read_state(paths.state(FOLDER, BACKUP)).get("before")
        change = change_content(
            paths.config_dir,
            lambda content: content.update({NAME: before}) if before else content.pop(NAME, None),
        )
        context.console.line("Removed from %s." % change.path)
    shutil.rmtree(paths.state(FOLDER), ignore_errors=True)
