"""`memory session ended`: grade the sessions that have ended, in the background."""

from __future__ import annotations

import argparse

from ...host.events import PROBLEM, log_event
from ...sessions import pipeline
from ...work.judges import session_scorer
from ..command_context import CommandContext
from .session_command import DONE

HELP = "grade the sessions that have ended (used by the plugin itself)"
EXAMPLES = "  memory session ended\n"


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Grade them one by one; a failure is recorded in the events ledger."""

    def report(session: str, text: str) -> None:
        log_event(context.paths, session, "SessionEnd", PROBLEM, text)

    graded = pipeline.grade_ended(session_scorer(context), report)
    context.console.result(arguments.json, {"graded": graded}, "%d graded" % graded)
    return DONE
