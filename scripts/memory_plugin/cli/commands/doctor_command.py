"""`memory doctor`: find problems and explain how to fix them."""

from __future__ import annotations

import argparse
from typing import Callable

from ...kernel.files import error_text
from ...kernel.text.clean import plain
from ...memories.survey import Survey
from ...memories.trust_file import TrustUnreadable
from ..checks import FAIL, NOTE, OK, WARN, Check, judge_checks
from ..checks import installation_checks as installation
from ..checks import store_checks as stores
from ..command_context import CommandContext

HELP = "find problems and explain how to fix them"
EXAMPLES = """\
  memory doctor
  memory doctor --json
"""

DONE, FOUND = 0, 1
# To add a check: a function in `cli/checks`, a line here, and a test.
CHECKS: tuple[Callable[[CommandContext], Check], ...] = (
    installation.python,
    installation.sqlite,
    installation.state_folder,
    installation.switch,
    installation.recall,
    installation.settings,
    installation.environment,
    installation.path_variable,
    installation.index,
    installation.ledgers,
    installation.events,
    judge_checks.judge,
    judge_checks.models,
    installation.langfuse,
)
STORE_CHECKS: tuple[Callable[[CommandContext, Survey], Check], ...] = (
    stores.unread_stores,
    stores.files,
    stores.names,
    stores.secrets,
    stores.hidden_characters,
    stores.pending,
    stores.record,
    stores.accept_from,
    stores.expired,
    stores.duplicates,
    stores.superseded,
)
_COLORS = {OK: "green", NOTE: "cyan", WARN: "yellow", FAIL: "red"}
_TEXT_CHECKS = (stores.names, stores.secrets, stores.hidden_characters, stores.expired)
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


def examine(context: CommandContext, overview: Survey | None = None) -> list[Check]:
    """Return the results of all checks; with an `overview` of the stores, without those that read every text."""
    try:
        result = context.survey() if overview is None else overview
    except TrustUnreadable as error:
        fix = "make the file readable; if it cannot be recovered, move it away and accept your memories again"
        broken = Check("trust", FAIL, error_text(error), fix)
        return [*(check(context) for check in CHECKS), broken]
    in_store = (check for check in STORE_CHECKS if overview is None or check not in _TEXT_CHECKS)
    return [check(context) for check in CHECKS] + [check(context, result) for check in in_store]


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
