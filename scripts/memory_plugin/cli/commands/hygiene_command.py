"""`memory check text`: apply the rules for secrets and personal data to lines of text, or measure their accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.hygiene import accuracy as measured
from ...kernel.hygiene import findings, policy
from ..command_context import UsageError
from ..finding_lines import print_findings
from ..options import add_flag

if TYPE_CHECKING:
    import argparse

    from ..command_context import CommandContext

HELP = "find secrets and personal data in lines of text, and measure the rules"
EXAMPLES = """\
  memory check text --jsonl < lines.jsonl                    {"id": 1, "text": "..."} in, {"id": 1, "findings": [...]} out
  memory check text --jsonl --place judge < lines.jsonl      what would be redacted before a judge sees it
  memory check text accuracy                                 measured on the examples that come with the rules
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", nargs="?", choices=["accuracy"], help="print precision and recall by kind")
    add_flag(parser, "--jsonl", "read lines {id, text} from standard input")
    parser.add_argument(
        "--place",
        default="memory",
        choices=sorted(policy.places()),
        help="where the text is going, which decides what is redacted (default: memory)",
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print the findings in each line, never the matched values; or the accuracy of the rules."""
    if arguments.action:
        return _accuracy(arguments, context)
    if not arguments.jsonl:
        raise UsageError("expected --jsonl or accuracy; see `memory check text --help`")
    return print_findings(
        lambda text: [finding.record() for finding in findings(text, None, arguments.place)], context
    )


def _accuracy(arguments: argparse.Namespace, context: CommandContext) -> int:
    rows = measured.accuracy()
    if arguments.json:
        context.console.json([row._asdict() for row in rows])
        return 0
    cells = [
        [
            row.kind,
            *map(str, (row.hits, row.found, row.misses, row.false)),
            "%.3f" % row.precision,
            "%.3f" % row.recall,
        ]
        for row in rows
    ]
    context.console.table(
        ["kind", "must match", "found", "must not match", "false alarms", "precision", "recall"], cells
    )
    context.console.line(
        "Measured on the examples for which the rules were written; docs/privacy.md has independent figures."
    )
    return 0
