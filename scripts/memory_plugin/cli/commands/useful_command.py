"""`memory useful`: rate a memory as useful, which lowers its thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...recall.feedback import USEFUL
from ..ratings import about_rating, add_ids, rate

if TYPE_CHECKING:
    import argparse

    from ..approval import Approval
    from ..command_context import CommandContext

HELP = "rate a memory as useful, so that it is recalled more readily"
EXAMPLES = """\
  memory useful use-postgres
  memory feedback                         lists ratings and thresholds
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_ids(parser)


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval:
    """Return which memories to rate."""
    return about_rating(arguments, context, USEFUL)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Count the memories as useful."""
    rate(arguments, context, USEFUL)
