"""Stop: score the reply that has just ended, and start a background process if a judge should grade it."""

from __future__ import annotations

from ..kernel.context import Context
from ..kernel.settings.load import load
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


def handle(
    payload: dict[str, object],
    places: Places,
    taint: Taint,
    deadline: Deadline,
) -> None:
    """Score the reply. Nothing is returned to the host, because any output of a Stop hook may make the turn go on."""
    if places.state_dir is None:
        return
    settings = load(places.config_dir, places.project_root)
    if not settings.flag("scoring.enabled"):
        return
    follow_hygiene(settings)
    context = Context(places, settings, deadline, identity(payload.get("session_id")))
    text = payload.get("last_assistant_message")
    reply = CompletedReply(
        text if isinstance(text, str) else "",
        identity(payload.get("prompt_id")),
        path(payload.get("transcript_path")),
    )
    scored = score_reply(reply, context)
    problems = [str(error) for error in scored.errors]
    if (
        scored.wants_judge
        and settings.text("scoring.mode") == "hybrid"
        and not _start_grading(scored, context, taint)
    ):
        problems.append("no process could be started to ask the judge")
    for problem in problems:
        note(places, context.session, EVENT, PROBLEM, problem)


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
