"""`memory evaluate rules`: list and validate the rule packs used for evaluation."""

from __future__ import annotations

import argparse

from ...evaluation import EvaluationError
from ...evaluation.packs import check_pack, load_pack, pack_names
from ...kernel.text.clean import counted
from ..command_context import CommandContext, CommandError
from ..options import add_actions, require_known

HELP = "list and validate the rule packs used for evaluation"
EXAMPLES = """\
  memory evaluate rules list
  memory evaluate rules check caregiving-ny
  memory evaluate rules check my-pack.json --json
"""

_ACTIONS = {
    "list": "list the built-in packs",
    "check": "validate a pack and run its examples",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = add_actions(parser, _ACTIONS)
    actions["check"].add_argument("pack", metavar="PACK", help="the name of a pack, or a file")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action. The exit code is 1 for a pack with errors."""
    if arguments.action == "list":
        return _list_packs(arguments, context)
    return _check_pack(arguments, context)


def _list_packs(arguments: argparse.Namespace, context: CommandContext) -> int:
    packs = [load_pack(name) for name in pack_names()]
    if arguments.json:
        context.console.json(
            [{"id": pack.id, "gates": list(pack.gates), "rules": len(pack.rules)} for pack in packs]
        )
    else:
        rows = [[pack.id, ", ".join(pack.gates) or "none", str(len(pack.rules))] for pack in packs]
        context.console.table(["pack", "gates", "rules"], rows)
    return 0


def _check_pack(arguments: argparse.Namespace, context: CommandContext) -> int:
    require_known(arguments.pack, pack_names())
    try:
        report = check_pack(arguments.pack)
    except EvaluationError as error:
        raise CommandError(str(error)) from None
    counts = (
        counted(report.rules, "rule"),
        counted(report.examples, "example"),
        counted(len(report.faults), "error"),
    )
    errors = ["error: " + fault for fault in report.faults]
    summary = "%s: %s" % (report.pack, ", ".join(counts))
    context.console.result(arguments.json, report._asdict(), *errors, summary)
    return 1 if report.faults else 0
