"""`memory check text`: apply the rules for secrets and personal data to lines of text."""

from __future__ import annotations

import argparse

from ...kernel.hygiene import findings
from ...kernel.hygiene.rules import places
from ..command_context import CommandContext, UsageError
from ..options import add_flag
from ..secrets_scan import print_findings

HELP = "find secrets and personal data in lines of text"
EXAMPLES = """\
  memory check text --jsonl < lines.jsonl                    {"id": 1, "text": "..."} in, {"id": 1, "findings": [...]} out
  memory check text --jsonl --place judge < lines.jsonl      what would be redacted before a judge sees it
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
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
    return print_findings(
        lambda text: [finding.record() for finding in findings(text, None, arguments.place)], context
    )
