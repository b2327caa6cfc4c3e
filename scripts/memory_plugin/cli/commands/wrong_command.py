"""`memory wrong`: rate a memory as out of place, which raises its thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...recall.feedback import WRONG
from ..ratings import about_rating, add_ids, rate

if TYPE_CHECKING:
    import argparse

    from ..approval import Approval
    from ..command_context import CommandContext

HELP = "rate a memory as out of place, so that it is recalled less readily"
EXAMPLES = """\
  memory wrong use-postgres               it was recalled where it did not belong
  memory edit use-postgres --body '...'   if the memory itself is out of date
  memory feedback reset use-postgres      undoes the rating
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_ids(parser)


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval:
    """Return which memories to rate."""
    return about_rating(arguments, context, WRONG)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Count the memories as out of place."""
    rate(arguments, context, WRONG)
