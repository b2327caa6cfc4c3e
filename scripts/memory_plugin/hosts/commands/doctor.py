"""`memory doctor`: what is wrong, where, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ...kernel.text.clean import plain
from ...memories.survey import survey
from ..checks import installation, judge, langfuse, state, stores
from ..checks.check import FAIL, MAX_DETAILS, NOTE, OK, WARN, Check

if TYPE_CHECKING:
    import argparse

    from ...memories.survey import Survey
    from ..session_context import Session

__all__ = ["CHECKS", "EXAMPLES", "HELP", "STORE_CHECKS", "configure", "examine", "run"]

HELP = "find out what is wrong, and what to do about it"
EXAMPLES = """\
  memory doctor
  memory doctor --json
"""

DONE, FOUND = 0, 1
# To add a check: a function in `hosts/checks`, a line here, a test.
CHECKS: tuple[Callable[[Session], Check], ...] = (
    installation.python,
    installation.sqlite,
    installation.state_folder,
    installation.switch,
    installation.recall,
    installation.settings,
    installation.environment,
    installation.path_variable,
    state.index,
    state.ledgers,
    state.events,
    judge.judge,
    judge.switches,
    langfuse.langfuse,
)
STORE_CHECKS: tuple[Callable[[Session, Survey], Check], ...] = (
    stores.left_alone,
    stores.files,
    stores.names,
    stores.secrets,
    stores.hidden_characters,
    stores.waiting,
    stores.git_log,
    stores.expired,
    stores.duplicates,
)
_COLOURS = {OK: "green", NOTE: "cyan", WARN: "yellow", FAIL: "red"}
_MAX_LINE = 1000


def configure(_parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Print every check; exit code 1 when one warns or fails."""
    checks = examine(session)
    sound = all(check.status in (OK, NOTE) for check in checks)
    if arguments.json:
        session.console.json({"ok": sound, "checks": [check._asdict() for check in checks]})
    else:
        for check in checks:
            _print(check, session)
    return DONE if sound else FOUND


def examine(session: Session) -> list[Check]:
    """The result of every check."""
    found = survey(session.places, session.accepts_pulls)
    return [check(session) for check in CHECKS] + [check(session, found) for check in STORE_CHECKS]


def _print(check: Check, session: Session) -> None:
    console = session.console
    label = console.style("%-4s" % check.status, _COLOURS[check.status])
    console.paragraph("%s: %s" % (check.name, plain(check.text, _MAX_LINE)), label + "  ", 6)
    for detail in check.details[:MAX_DETAILS]:
        console.paragraph(plain(detail, _MAX_LINE), "        ", 8)
    if len(check.details) > MAX_DETAILS:
        console.line("        and %d more" % (len(check.details) - MAX_DETAILS))
    if check.fix:
        console.paragraph(plain(check.fix, _MAX_LINE), "      > ", 8)
