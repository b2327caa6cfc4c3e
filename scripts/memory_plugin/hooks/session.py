"""SessionStart: heals the index in the background, forgets what a compacted context was told, and says once what waits."""

from __future__ import annotations

from ..interview.reminder import Reminder
from ..kernel.files import cause
from ..kernel.settings.load import load
from ..recall.session import forget_session
from ..recall.waiting import due_notice
from ..replies.reply_state import tuning_reminder
from .background import start_healing
from .event_fields import identity
from .event_log import note
from .hygiene_setting import follow_hygiene

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from .environment import Taint

__all__ = ["handle"]

EVENT = "SessionStart"
_EMPTYING = ("compact", "clear")


def handle(
    payload: dict[str, object],
    places: Places,
    taint: Taint,  # noqa: ARG001  (every handler is given the same)
    deadline: Deadline,
) -> dict[str, object] | None:
    """What the host is to be told at the start of a session; None for nothing."""
    if places.state_dir is None:
        return None
    session = identity(payload.get("session_id"))
    if payload.get("source") in _EMPTYING and session:
        try:
            forget_session(places, session)
            Reminder(places, session).again()
        except OSError as error:
            note(
                places,
                session,
                EVENT,
                "trouble",
                "the session's memory was not reset: %s" % cause(error),
            )
    settings = load(places.config_dir, places.project_root)
    follow_hygiene(settings)
    message = due_notice(places, settings, deadline)
    start_healing(places)
    messages = [message, tuning_reminder(places)]
    return {"systemMessage": "\n".join(filter(None, messages))} if any(messages) else None
