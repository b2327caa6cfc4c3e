"""`memory grade`: judge one reply in the background."""

from __future__ import annotations

import argparse
import sys

from ...host.events import PROBLEM, id_field, log_event, path_field
from ...kernel.clock import Deadline
from ...kernel.context import Context
from ..command_context import CommandContext, UsageError

HELP = "judge one reply, given by the Stop hook on standard input (used by the plugin itself)"
EXAMPLES = "  memory grade < request.json\n"

DONE, FAILED = 0, 1
_TURN_ENDED = "Stop"
_MAX_GRADED = 1 << 20  # bytes of a request


def run(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Judge the reply and record the result; a failure that disables the judge for the session is recorded as an event."""
    from ...kernel.judge.asking import Judge
    from ...replies.grading import DISABLING_FAILURES, GradeRequest, grade_reply, read_turn

    try:
        request = GradeRequest(sys.stdin.buffer.read(_MAX_GRADED))
    except ValueError:
        raise UsageError("expected a grade request of the Stop hook on standard input") from None
    settings, paths = context.settings, context.paths
    user, calls = read_turn(path_field(request.score["transcript"]))
    deadline = Deadline(settings.integer("scoring.judge.timeout_ms") / 1000)
    timed = Context(paths, settings, deadline, id_field(request.session))
    try:
        judge = Judge("scoring", timed, off=context.taint.why_off)
        failure = grade_reply(request, user, calls, judge, timed)
    except OSError as error:
        log_event(paths, timed.session, _TURN_ENDED, PROBLEM, str(error))
        return FAILED
    if failure in DISABLING_FAILURES:
        text = "replies of this session are no longer judged: %s; see: memory judge check" % failure
        log_event(paths, timed.session, _TURN_ENDED, "judge", text)
    return FAILED if failure else DONE
