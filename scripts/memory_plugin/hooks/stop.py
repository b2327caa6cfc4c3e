"""Stop: score the reply that just ended, start its grading by a judge if needed, and record which injected memories it used."""

from __future__ import annotations

import os

from ..kernel.data import session_file
from ..kernel.fastjson import as_text
from ..kernel.files import os_error_text
from ..replies.pipeline import (
    CompletedReply,
    encode_request,
    may_request_grade,
    read_last_reply,
    score_reply,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..host.environment import Taint
    from ..kernel.context import Context
    from .entry import Event

_LASTING_TASKS = ("shell", "monitor")  # may run for the rest of the session


def handle(event: Event) -> dict[str, object] | None:
    """Score the reply; return a line for the user about what Claude saved at their request, or None, the usual case.

    Any other output of a Stop hook could make the turn continue.
    """
    if event.paths.state_dir is None or _awaits_sub_agents(event.payload):
        return None
    context = event.context
    settings = context.settings
    text = as_text(event.payload.get("last_assistant_message"))
    reply = CompletedReply(text, event.field("prompt_id"), event.transcript)
    problems = _score(reply, context, event.taint) if settings.text("scoring.mode") != "off" else []
    if settings.flag("retrieval.feedback") and context.session:
        problems += _record_uses(reply, context)
    if settings.text("capture.mode") != "off":
        problems += _propose(reply, context)
    saved = _unseen_saves(context, problems)
    for problem in problems:
        event.log(problem)
    return event.output("", saved)


def _unseen_saves(context: Context, problems: list[str]) -> str:
    """Return lines about what Claude saved under this session's grant, unless the user has seen them; end the session's tickets."""
    paths, session = context.paths, context.session
    if not any(map(os.path.lexists, (session_file(paths, session, "grant"), paths.state("tickets")))):
        return ""
    from ..memories.grants import end_tickets, take_unshown_saves

    try:
        end_tickets(paths, session)
        return "\n".join(take_unshown_saves(context.paths, context.session))
    except OSError as error:
        problems.append("the list of saved memories is not shown: %s" % os_error_text(error))
        return ""


def _awaits_sub_agents(payload: dict[str, object]) -> bool:
    """Return whether background work continues this turn; if so, the host sends Stop again with the final reply.

    A shell command or a monitor, such as a development server, does not count.
    """
    tasks = payload.get("background_tasks")
    if not isinstance(tasks, list):
        return False
    return any(not isinstance(task, dict) or task.get("type") not in _LASTING_TASKS for task in tasks)


def _score(reply: CompletedReply, context: Context, taint: Taint) -> list[str]:
    """Score a reply and return the problems that occurred."""
    record, errors = score_reply(reply, context)
    problems = [str(error) for error in errors]
    wants_judge = record["escalate"] or record["audit"]  # the rules are unsure, or it is in the audit sample
    if wants_judge and not _start_grading(record, reply.text, context, taint):
        problems.append("no process could be started to ask the judge")
    return problems


def _record_uses(reply: CompletedReply, context: Context) -> list[str]:
    """Record which of the memories injected in this session the reply used; return the problems that occurred."""
    from ..recall.feedback import USED, find_uses, injected_in_session, record_feedback

    injected = injected_in_session(context)
    used = find_uses(injected, reply.text, reply.transcript, context, reply.prompt_id) if injected else []
    if not used:
        return []
    try:
        record_feedback(context.paths, used, USED)
        context.append("feedback", {"kind": USED, "memories": used, "prompt_id": reply.prompt_id})
    except OSError as error:
        return ["the use of a memory was not recorded: %s" % os_error_text(error)]
    return []


def _propose(reply: CompletedReply, context: Context) -> list[str]:
    """Start the search for memory candidates in the prompt, if it could contain any; return the problems that occurred.

    It runs in the background, because its rules and redaction would delay the end of the turn.
    """
    from ..capture.statement_model import may_hold_statement

    if not reply.prompt and context.settings.text("scoring.mode") == "off":
        reply.prompt = read_last_reply(reply.transcript).prompt
    if not may_hold_statement(reply.prompt):
        return []
    from ..work.background import start_proposals

    started = start_proposals("Stop", reply.transcript, context)
    return [] if started else ["no process could be started to look for memory candidates"]


def _start_grading(record: dict[str, Any], text: str, context: Context, taint: Taint) -> bool:
    """Start `memory grade` where a judge may be asked; return False only if the process could not be started.

    The reply is passed on standard input, so that no file holds its text.
    """
    if not may_request_grade(context, judges_off=taint.judges_off):
        return True
    from ..host.background import MAX_INPUT, judge_variables, start

    data = encode_request(record, text, context.session, MAX_INPUT)
    return start(["grade", "--root", context.paths.project_root], data, judge_variables(context.settings))
