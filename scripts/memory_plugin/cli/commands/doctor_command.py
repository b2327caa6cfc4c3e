"""`memory doctor`: find problems and explain how to fix them."""

from __future__ import annotations

import argparse

from ...kernel.text.clean import plain
from ...work.doctor import examine
from ...work.installation import FAIL, NOTE, OK, WARN, Check
from ..command_context import CommandContext

HELP = "find problems and explain how to fix them"
EXAMPLES = """\
  memory doctor
  memory doctor --json
"""

DONE, FOUND = 0, 1
_COLORS = {OK: "green", NOTE: "cyan", WARN: "yellow", FAIL: "red"}
_MAX_LINE = 1000
_MAX_DETAILS = 20


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print every check. The exit code is 1 if any check warns or fails."""
    checks = examine(context)
    is_healthy = all(check.status in (OK, NOTE) for check in checks)
    if arguments.json:
        context.console.json({"ok": is_healthy, "checks": [check._asdict() for check in checks]})
    else:
        for check in checks:
            _print(check, context)
    return DONE if is_healthy else FOUND


def _print(check: Check, context: CommandContext) -> None:
    console = context.console
    label = console.style("%-4s" % check.status, _COLORS[check.status])
    console.paragraph("%s: %s" % (check.name, plain(check.text, _MAX_LINE)), label + "  ", 6)
    for detail in check.details[:_MAX_DETAILS]:
        console.paragraph(plain(detail, _MAX_LINE), "        ", 8)
    if len(check.details) > _MAX_DETAILS:
        console.line("        and %d more" % (len(check.details) - _MAX_DETAILS))
    if check.fix:
        console.paragraph(plain(check.fix, _MAX_LINE), "      > ", 8)
