"""`memory check text`: find secrets and personal data in lines of text."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from ...kernel.hygiene import findings
from ...kernel.hygiene.rules import places
from ...kernel.text.clean import counted
from ..command_context import CommandContext, UsageError
from ..options import add_flag

HELP = "find secrets and personal data in lines of text"
EXAMPLES = """\
  memory check text --jsonl < lines.jsonl                    {"id": 1, "text": "..."} in, {"id": 1, "findings": [...]} out
  memory check text --jsonl --place judge < lines.jsonl      what would be redacted before a judge sees it
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `check text`."""
    add_flag(parser, "--jsonl", "read lines {id, text} from standard input")
    parser.add_argument(
        "--place",
        default="memory",
        choices=sorted(places()),
        help="where the text is going, which decides what is redacted (default: memory)",
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print the findings in each line, never the matched values."""
    if not arguments.jsonl:
        raise UsageError("expected --jsonl; see `memory check text --help`")

    def find(text: str) -> list[dict[str, object]]:
        return [finding.record() for finding in findings(text, None, arguments.place)]

    return print_findings(find, context)


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
