"""`memory statusline`: one short line for Claude Code's status line; install it there, or remove it."""

from __future__ import annotations

import os
import shutil
from shlex import quote
from typing import TYPE_CHECKING, Any

from ...hooks.status_line import FOLDER, status_text
from ...hooks.status_script import BEFORE, script_path, script_text
from ...kernel.files import make_folder, replace_file
from ...kernel.settings.load import SettingsFileError, content
from ...kernel.settings.user_file import EditError, change_text, with_value, without
from ...kernel.state_file import read_state, write_state
from ..command_context import CommandError
from ..status_counts import current_counts, prepare_counts

if TYPE_CHECKING:
    import argparse

    from ...kernel.paths import Places
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "print one line for Claude Code's status line: memories, told in this session, pending"
EXAMPLES = """\
  memory statusline
  memory statusline install      adds it to your settings, after the line that you have there
  memory statusline remove
"""
_NAME = "statusLine"
_KEPT = "before.json"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the action."""
    parser.add_argument(
        "action", nargs="?", choices=("show", "install", "remove"), default="show", help="default: show"
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print the line, or change the user's settings."""
    if arguments.action == "show":
        line = status_text(context.places, context.session, current_counts(context))
        if arguments.json:
            context.console.json({"line": line})
        else:
            context.console.verbatim(line)
        return 0
    context.require_approval("change your status line")
    try:
        (_install if arguments.action == "install" else _remove)(context)
    except EditError as error:
        raise CommandError(str(error)) from None
    return 0


def _install(context: CommandContext) -> None:
    places = context.places
    present = _present(places)
    command = _command(places)
    if present is not None and present.get("command") != command:
        _keep(present, places)
    make_folder(places.state(FOLDER))
    replace_file(script_path(places), script_text(places).encode("utf-8"))
    prepare_counts(context)
    value: dict[str, Any] = {**(present or {}), "type": "command", "command": command}
    changed = change_text(places.config_dir, lambda text: with_value(text, (_NAME,), value))
    word = "Installed" if changed.changed else "Already installed"
    kept = " Your own status line comes first." if os.path.exists(places.state(FOLDER, BEFORE)) else ""
    context.console.paragraph(
        "%s in %s.%s To take it back: memory statusline remove" % (word, changed.path, kept)
    )


def _keep(present: dict[str, Any], places: Places) -> None:
    """Keep the status line that the user has, so that it is shown before ours, and comes back when ours is removed."""
    before = present.get("command")
    if present.get("type") != "command" or not isinstance(before, str):
        raise CommandError("your settings hold a status line of another form; nothing was changed")
    make_folder(places.state(FOLDER))
    replace_file(places.state(FOLDER, BEFORE), (before + "\n").encode("utf-8"))
    write_state(places.state(FOLDER, _KEPT), {"before": present}, durable=True)


def _remove(context: CommandContext) -> None:
    places = context.places
    present = _present(places)
    if present is None or present.get("command") != _command(places):
        context.console.line("Your settings do not hold this status line; nothing was changed there.")
    else:
        before = read_state(places.state(FOLDER, _KEPT)).get("before")
        changed = change_text(
            places.config_dir,
            lambda text: with_value(text, (_NAME,), before) if before else without(text, (_NAME,)),
        )
        context.console.line("Removed from %s." % changed.path)
    shutil.rmtree(places.state(FOLDER), ignore_errors=True)


def _command(places: Places) -> str:
    return "sh " + quote(script_path(places))


def _present(places: Places) -> dict[str, Any] | None:
    """Return the status line of the user's settings, None without one. Raises CommandError for a file that cannot be read."""
    if places.config_dir is None:
        raise CommandError(places.why_no_state)
    path = os.path.join(places.config_dir, "settings.json")
    try:
        value = content(path, follow=True).get(_NAME)
    except FileNotFoundError:
        return None
    except SettingsFileError as error:
        raise CommandError("%s: %s; fix the file first" % (path, error)) from None
    return value if isinstance(value, dict) else None
