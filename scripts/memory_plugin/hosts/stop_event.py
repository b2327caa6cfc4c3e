"""Stop: the reply that has just ended is scored; what a judge should see goes to a process of its own."""

from __future__ import annotations

from ..kernel.settings.load import load
from ..replies.pipeline import Reply, score_reply
from .event_fields import identity, path
from .events import note
from .hygiene_setting import follow_hygiene

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from .environment import Taint

__all__ = ["handle"]

EVENT = "Stop"


def handle(
    payload: dict[str, object],
    places: Places,
    taint: Taint,
    deadline: Deadline,  # noqa: ARG001  (every handler is given the same)
) -> None:
    """Score the reply. The host is told nothing: whatever a Stop hook says may make the turn go on."""
    if places.state_dir is None:
        return
    settings = load(places.config_dir, places.project_root)
    if not settings.flag("scoring.enabled"):
        return
    follow_hygiene(settings)
    text = payload.get("last_assistant_message")
    reply = Reply(
        text if isinstance(text, str) else "",
        identity(payload.get("session_id")),
        identity(payload.get("prompt_id")),
        path(payload.get("transcript_path")),
    )
    score, record, troubles = score_reply(reply, places, settings)
    if (score.decision.escalate or record["audit"]) and settings.text("scoring.mode") == "hybrid":
        from .grading_start import may_ask, start_grading

        if may_ask(places, settings, taint, reply.session) and not start_grading(
            reply, score, record, places, settings
        ):
            troubles.append("no process could be started to ask the judge")
    for trouble in troubles:
        note(places, reply.session, EVENT, "trouble", trouble)
