"""`memory propose`: find in the background what may be worth keeping in a session."""

from __future__ import annotations

import argparse
import json
import sys

from ...host.events import PROBLEM, id_field, log_event, path_field
from ...kernel.clock import Deadline
from ...kernel.context import Context
from ...kernel.files import os_error_text
from ..command_context import CommandContext, UsageError

HELP = "find what may be worth keeping in a session (used by the plugin itself)"
EXAMPLES = "  memory propose < request.json\n"

DONE, FAILED = 0, 1
_TURN_ENDED = "Stop"
_MAX_PROPOSED = 1 << 16  # bytes of a request
_PROPOSE_SECONDS = 120.0
_NOTE_DAYS = 1.0


def run(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Store the candidates in the state folder; a failure is recorded in the events ledger."""
    from ...capture.pipeline import capture_session, capture_turn
    from ...work.candidate_check import check_for, keep_other_candidates, may_use, section_watch

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
