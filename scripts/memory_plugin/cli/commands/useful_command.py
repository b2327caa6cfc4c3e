"""`memory useful`: say that a memory was useful, which moves its own thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...recall.feedback import USEFUL
from ..ratings import add_ids, rate

if TYPE_CHECKING:
    import argparse

    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "say that a memory helped, so that it is recalled more readily"
EXAMPLES = """\
  memory useful use-postgres
  memory feedback                         what was said, and the thresholds
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_ids(parser)


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Count the memories as useful. Needs approval."""
    return rate(arguments, context, USEFUL)
