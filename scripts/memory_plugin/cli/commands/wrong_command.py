"""`memory wrong`: say that a memory was wrong, which moves its own thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...recall.feedback import WRONG
from ..ratings import add_ids, rate

if TYPE_CHECKING:
    import argparse

    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "say that a memory was out of place, so that it is recalled less readily"
EXAMPLES = """\
  memory wrong use-postgres               told where it did not belong
  memory edit use-postgres --body '...'   where the memory itself is out of date
  memory feedback reset use-postgres      take it back
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_ids(parser)


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Count the memories as wrong. Needs approval."""
    return rate(arguments, context, WRONG)
