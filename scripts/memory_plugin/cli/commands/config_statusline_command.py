"""`memory config statusline`: a summary for Claude Code's status line, and its place in the settings."""

from __future__ import annotations

import argparse

from ...kernel.settings.user_file import EditError
from ...work.refresh import current_counts
from ...work.status_line import status_text
from ...work.status_settings import install, remove
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
    installed = install(context)
    done = "Installed" if installed.changed else "Already installed"
    order = " Your own status line comes first." if installed.has_other else ""
    text = "%s in %s.%s To remove it: memory config statusline remove"
    context.console.paragraph(text % (done, installed.path, order))


def _remove(context: CommandContext) -> None:
    path = remove(context)
    text = "Removed from %s." % path
    if not path:
        text = "This status line is not in your settings; nothing was changed there."
    context.console.line(text)
