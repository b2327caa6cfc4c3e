"""`memory settle`: carry out what the user allowed in Claude Code's dialog, once the transcript says so."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ...host.background import MAX_INPUT
from ...kernel.fastjson import loads
from ..command_context import CommandContext, UsageError
from ..command_line import carry_out

HELP = "carry out what the user allowed in Claude Code's dialog"
EXAMPLES = "  memory settle\n"


def run(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Carry out the commands that a hook passes. Where Claude runs this, as before each of its commands, all is done already."""
    if context.inside_client:
        return 0
    try:
        wishes: Any = loads(sys.stdin.buffer.read(MAX_INPUT + 1).decode("ascii"))
        return carry_out(wishes, context)
    except (ValueError, KeyError, TypeError):
        raise UsageError("expected the wishes of a hook on standard input") from None
