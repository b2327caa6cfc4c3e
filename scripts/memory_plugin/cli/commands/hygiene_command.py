"""`memory hygiene`: the rules for secrets and personal data, applied to lines, and their accuracy."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from ...kernel.hygiene import accuracy as measured
from ...kernel.hygiene import findings, policy

if TYPE_CHECKING:
    import argparse

    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "secrets and personal data in lines of text, and how well the rules find them"
EXAMPLES = """\
  memory hygiene --jsonl < lines.jsonl                    {"id": 1, "text": "..."} in, {"id": 1, "findings": [...]} out
  memory hygiene --jsonl --place judge < lines.jsonl      what would be redacted before a judge sees it
  memory hygiene accuracy                                 measured on the examples that stand beside the rules
"""
DONE, FAILED, USAGE = 0, 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", nargs="?", choices=["accuracy"], help="print precision and recall by kind")
    parser.add_argument("--jsonl", action="store_true", help="read lines {id, text} from standard input")
    parser.add_argument(
        "--place",
        default="memory",
        choices=sorted(policy.places()),
        help="whose actions are told (default: memory)",
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print findings line by line, never a value; or the accuracy."""
    if arguments.action:
        return _accuracy(arguments, context)
    if not arguments.jsonl:
        context.console.error("say --jsonl, or accuracy; `memory hygiene --help` shows how")
        return USAGE
    bad = sum(not _line(line, arguments.place, context) for line in sys.stdin.buffer if line.strip())
    if bad:
        context.console.error("%d lines without a text were passed over" % bad)
    return FAILED if bad else DONE


def _line(line: bytes, place: str, context: CommandContext) -> bool:
    try:
        entry = json.loads(line)
        text = entry["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    if not isinstance(text, str):
        return False
    found = [finding.record() for finding in findings(text, None, place)]
    context.console.line(json.dumps({"id": entry.get("id"), "findings": found}))
    return True


def _accuracy(arguments: argparse.Namespace, context: CommandContext) -> int:
    rows = measured.accuracy()
    if arguments.json:
        context.console.json([row._asdict() for row in rows])
    else:
        cells = [
            [
                row.kind,
                str(row.hits),
                str(row.found),
                str(row.misses),
                str(row.false),
                "%.3f" % row.precision,
                "%.3f" % row.recall,
            ]
            for row in rows
        ]
        context.console.table(
            ["kind", "must match", "found", "must not match", "false alarms", "precision", "recall"], cells
        )
        context.console.line(
            "Measured on the examples that stand beside the rules, which the rules were written for; docs/hygiene.md has others."
        )
    return DONE
