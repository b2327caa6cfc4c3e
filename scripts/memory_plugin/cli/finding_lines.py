"""Apply rules to JSON Lines on standard input, and print the findings in each text."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from .console import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from .command_context import CommandContext


def print_findings(find: Callable[[str], list[dict[str, object]]], context: CommandContext) -> int:
    """Print `{id, findings}` for each line `{id, text}`. Return the exit code: 1 if a line has no text."""
    skipped = 0
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            text = entry["text"]
        except (ValueError, KeyError, TypeError, RecursionError):
            text = None
        if isinstance(text, str):
            context.console.verbatim(json.dumps({"id": entry.get("id"), "findings": find(text)}))
        else:
            skipped += 1
    if skipped:
        context.console.error("%s without a text skipped" % counted(skipped, "line"))
    return 1 if skipped else 0
