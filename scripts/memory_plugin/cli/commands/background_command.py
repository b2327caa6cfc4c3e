"""`memory background`: what follows a reply or a session, in a process that a hook started."""

from __future__ import annotations

import argparse
import sys

from ...host.background import MAX_INPUT
from ...work.afterward import Ended, run_steps
from ..command_context import CommandContext, UsageError

HELP = "run what follows a reply or a session (used by the plugin itself)"
EXAMPLES = "  memory background < request.json\n"
DONE, FAILED = 0, 1


def run(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Run the steps; what fails is in the events ledger."""
    try:
        ended = Ended.parse(sys.stdin.buffer.read(MAX_INPUT + 1))
    except ValueError:
        raise UsageError("expected a request of a hook on standard input") from None
    return FAILED if run_steps(ended, context, context.taint.why_off) else DONE
