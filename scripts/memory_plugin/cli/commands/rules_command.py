"""`memory evaluate rules`: list, validate and apply rule packs."""

from __future__ import annotations

import argparse

from ...evaluation import EvaluationError
from ...evaluation.packs import check_pack, load_pack, pack_names
from ...evaluation.rule_matching import find_matches
from ..command_context import CommandContext, CommandError
from ..console import counted
from ..options import add_actions, require_known
from .scan_command import print_findings

HELP = "list, validate and apply the rule packs used for evaluation"
EXAMPLES = """\
  memory evaluate rules list
  memory evaluate rules check caregiving-ny
  memory evaluate rules check my-pack.json --json
  memory evaluate rules apply caregiving --role user < lines.jsonl     {"id": 1, "text": "..."} on each line
"""
_ACTIONS = {
    "list": "list the built-in packs",
    "check": "validate a pack, run its examples, and time its patterns",
    "apply": "print the findings for each line of standard input",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = add_actions(parser, _ACTIONS)
    for name in ("check", "apply"):
        actions[name].add_argument("pack", metavar="PACK", help="the name of a pack, or a file")
    actions["apply"].add_argument(
        "--role",
        choices=["assistant", "user"],
        default="assistant",
        help="who wrote the lines (default: assistant)",
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action. The exit code is 1 for a pack with errors."""
    if arguments.action == "list":
        return _list(arguments, context)
    require_known(arguments.pack, pack_names())
    try:
        return (_check if arguments.action == "check" else _apply)(arguments, context)
    except EvaluationError as error:
        raise CommandError(str(error)) from None


def _list(arguments: argparse.Namespace, context: CommandContext) -> int:
    packs = [load_pack(name) for name in pack_names()]
    if arguments.json:
        context.console.json(
            [{"id": pack.id, "gates": list(pack.gates), "rules": len(pack.rules)} for pack in packs]
        )
    else:
        rows = [[pack.id, ", ".join(pack.gates) or "none", str(len(pack.rules))] for pack in packs]
        context.console.table(["pack", "gates", "rules"], rows)
    return 0


def _check(arguments: argparse.Namespace, context: CommandContext) -> int:
    report = check_pack(arguments.pack)
    counts = (
        counted(report.rules, "rule"),
        counted(report.examples, "example"),
        counted(len(report.faults), "error"),
    )
    slowest = "%s with %.1f ms" % (report.slowest or "none", report.slowest_ms)
    summary = "%s: %s; slowest pattern: %s" % (report.pack, ", ".join(counts), slowest)
    errors = ["error: " + fault for fault in report.faults]
    context.console.result(arguments.json, report._asdict(), *errors, summary)
    return 1 if report.faults else 0


def _apply(arguments: argparse.Namespace, context: CommandContext) -> int:
    pack = load_pack(arguments.pack)
    rules = [rule for rule in pack.rules if rule.speaker in (arguments.role, "both")]
    return print_findings(
        lambda text: [
            {"gate": match.rule.gate, "rule": match.rule.id} for match in find_matches(pack, rules, text)
        ],
        context,
    )
