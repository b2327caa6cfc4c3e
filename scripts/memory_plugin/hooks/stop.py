"""Stop: score the reply that has just ended, have a judge grade it if wanted, and note which injected memories it used."""

from __future__ import annotations

import os

from ..kernel.context import Context
from ..kernel.files import cause
from ..kernel.settings.load import load
from ..kernel.state_file import session_file
from ..replies.pipeline import CompletedReply, score_reply
from .events import PROBLEM, follow_hygiene, identity, note, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from ..replies.pipeline import ScoredReply
    from .environment import Taint

__all__ = ["handle"]

EVENT = "Stop"
_LASTING_TASKS = ("shell", "monitor")


def handle(
    payload: dict[str, object],
    places: Places,
    taint: Taint,
    deadline: Deadline,
) -> dict[str, object] | None:
    """Score the reply; return one line for the user about what Claude saved as they asked, mostly None.

    Anything else that a Stop hook returns may make the turn go on.
    """
    if places.state_dir is None or _awaits_sub_agents(payload):
        return None
    settings = load(places.config_dir, places.project_root)
    follow_hygiene(settings)
    context = Context(places, settings, deadline, identity(payload.get("session_id")))
    text = payload.get("last_assistant_message")
    reply = CompletedReply(
        text if isinstance(text, str) else "",
        identity(payload.get("prompt_id")),
        path(payload.get("transcript_path")),
    )
    problems = _score(reply, context, taint) if settings.flag("scoring.enabled") else []
    if settings.flag("retrieval.feedback") and context.session:
        problems += _note_uses(reply, context)
    if settings.flag("capture.enabled"):
        problems += _propose(reply, context)
    saved = _saved(context, problems)
    for problem in problems:
        note(places, context.session, EVENT, PROBLEM, problem)
    return {"systemMessage": saved} if saved else None


def _saved(context: Context, problems: list[str]) -> str:
    """Return what Claude saved under the grant of this session and the user was not shown yet."""
    if not os.path.lexists(session_file(context.places, context.session, "grant")):
        return ""
    from ..memories.grants import take_unshown

    try:
        return "\n".join(take_unshown(context.places, context.session))
    except OSError as error:
        problems.append("what was saved is not shown: %s" % cause(error))
        return ""


def _awaits_sub_agents(payload: dict[str, object]) -> bool:
    """Return whether background work will go on with this turn: the host sends Stop again when it is done, with the final reply.

    A shell command or a monitor, such as a development server, may run as long as the session and ends no turn.
    """
    tasks = payload.get("background_tasks")
    if not isinstance(tasks, list):
        return False
    return any(not isinstance(task, dict) or task.get("type") not in _LASTING_TASKS for task in tasks)


def _score(reply: CompletedReply, context: Context, taint: Taint) -> list[str]:
    """Score a reply and return what went wrong on the way."""
    scored = score_reply(reply, context)
    problems = [str(error) for error in scored.errors]
    if (
        scored.wants_judge
        and context.settings.text("scoring.mode") == "hybrid"
        and not _start_grading(scored, context, taint)
    ):
        problems.append("no process could be started to ask the judge")
    return problems


def _note_uses(reply: CompletedReply, context: Context) -> list[str]:
    """Note which of the memories that Claude was told in this session the reply used, and return what went wrong; mostly none were told."""
    from ..recall.uses import find_uses, injected_in_session

    told = injected_in_session(context)
    used = find_uses(told, reply.text, reply.transcript, context, reply.prompt_id) if told else []
    if not used:
        return []
    from ..recall.feedback import USED, record_feedback

    try:
        record_feedback(context.places, used, USED)
        context.append("feedback", {"kind": USED, "memories": used, "prompt_id": reply.prompt_id})
    except OSError as error:
        return ["the use of a memory was not noted: %s" % cause(error)]
    return []


def _propose(reply: CompletedReply, context: Context) -> list[str]:
    """Have a prompt searched for what may be worth keeping, in a process of its own, if it could hold any; return what went wrong.

    Rules and redaction would take longer than the end of a turn may.
    """
    from ..capture.hints import may_hold_statement

    if not reply.prompt and not context.settings.flag("scoring.enabled"):
        from ..replies.transcript_replies import read_last_reply

        reply.prompt = read_last_reply(reply.transcript).prompt
    if not may_hold_statement(reply.prompt):
        return []
    from .proposals import start_proposals

    started = start_proposals(EVENT, reply.transcript, context)
    return [] if started else ["no process could be started to look for what may be worth keeping"]


def _start_grading(scored: ScoredReply, context: Context, taint: Taint) -> bool:
    """Start `memory grade` where a judge may be asked; return False only if the process could not be started.

    The reply goes to its standard input, so that no text lies in a file.
    """
    from ..replies.grade_request import encode_request, may_request_grade
    from .background import MAX_INPUT, judge_variables, start

    if not may_request_grade(context, judges_off=taint.judges_off):
        return True
    data = encode_request(scored, context.session, MAX_INPUT)
    return start(["grade", "--root", context.places.project_root], data, judge_variables(context.settings))
