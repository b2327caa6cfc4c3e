"""`memory describe`: say what another command needs the user's approval for."""

from __future__ import annotations

import argparse

from ..command_context import CommandContext, needed_approval
from ..command_line import module_of, parse_arguments

HELP = "print what a command needs the user's approval for"
EXAMPLES = "  memory describe accept --all\n"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `describe`."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="the command")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the question, the digests of its texts, and the project; an empty object if no approval is needed."""
    described = parse_arguments(arguments.words)
    approval = needed_approval(module_of(described.command), described, context)
    record: dict[str, object] = {}
    if approval is not None:
        project = context.paths.project_key
        record = {"question": approval.question, "texts": sorted(approval.texts), "project": project}
    context.console.json(record)
