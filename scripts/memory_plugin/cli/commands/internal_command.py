"""Commands that hooks start: `memory grade`, `memory propose` and `memory describe`. Each imports only what it needs itself."""

from __future__ import annotations

import argparse
import json
import sys
from types import SimpleNamespace

from ...hooks.events import PROBLEM, id_field, log_event, path_field
from ...kernel.clock import Deadline
from ...kernel.context import Context
from ...kernel.files import os_error_text
from ..command_context import CommandContext, UsageError, needed_approval
from ..command_line import module_of, parse_arguments

DONE, FAILED = 0, 1
_TURN_ENDED = "Stop"
_MAX_GRADED, _MAX_PROPOSED = 1 << 20, 1 << 16  # bytes of a request
_PROPOSE_SECONDS = 120.0
_NOTE_DAYS = 1.0


def _grade(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
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


def _propose(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Store the candidates in the state folder; a failure is recorded in the events ledger."""
    from ...capture.pipeline import capture_session, capture_turn
    from ..candidate_check import check_for, keep_other_candidates, may_use, section_watch

    try:
        request = json.loads(sys.stdin.buffer.read(_MAX_PROPOSED))
        transcript, session = path_field(request["transcript"]), id_field(request["session"])
        event = id_field(request["event"])
    except (ValueError, KeyError, TypeError):
        raise UsageError("expected a request of a hook on standard input") from None
    if context.settings.text("capture.mode") == "off":
        return DONE
    timed = Context(context.paths, context.settings, Deadline(_PROPOSE_SECONDS), session)
    try:
        if event == _TURN_ENDED:
            capture_turn(transcript, may_use, check_for(timed), timed)
        else:
            capture_session(transcript, may_use, check_for(timed), timed, section_watch(timed))
            keep_other_candidates(timed, _NOTE_DAYS)
    except OSError as error:
        log_event(context.paths, session, event, PROBLEM, "nothing was captured: %s" % os_error_text(error))
        return FAILED
    return DONE


def _take_words(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `describe`."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="the command")


def _describe(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the action, the digests of its texts, and the project; an empty object if no approval is needed."""
    described = parse_arguments(arguments.words)
    approval = needed_approval(module_of(described.command), described, context)
    record: dict[str, object] = {}
    if approval is not None:
        project = context.paths.project_key
        record = {"action": approval.action, "texts": sorted(approval.texts), "project": project}
    context.console.json(record)


PARTS = {
    "grade": SimpleNamespace(
        HELP="judge one reply, given by the Stop hook on standard input (used by the plugin itself)",
        EXAMPLES="  memory grade < request.json\n",
        run=_grade,
    ),
    "propose": SimpleNamespace(
        HELP="find what may be worth keeping in a session (used by the plugin itself)",
        EXAMPLES="  memory propose < request.json\n",
        run=_propose,
    ),
    "describe": SimpleNamespace(
        HELP="print what a command needs the user's approval for",
        EXAMPLES="  memory describe accept --all\n",
        configure=_take_words,
        run=_describe,
    ),
}
