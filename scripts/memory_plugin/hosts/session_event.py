"""SessionStart: heals the index in the background, forgets what a compacted context was told, and says once what waits."""

from __future__ import annotations

from ..recall.session import forget_session
from .detached import start_healing
from .events import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from .environment import Taint

__all__ = ["handle"]

EVENT = "SessionStart"
_EMPTYING = ("compact", "clear")


def handle(payload: dict[str, object], places: Places, taint: Taint, deadline: Deadline) -> dict[str, object] | None:
    """What the host is to be told at the start of a session; None for nothing."""
    if places.state_dir is None:
        return None
    session = payload.get("session_id")
    if payload.get("source") in _EMPTYING and isinstance(session, str):
        try:
            forget_session(places, session)
        except OSError as error:
            note(places, session, EVENT, "trouble", "the session's memory was not reset: %s" % (error.strerror or type(error).__name__))
    start_healing(places)
    message = _waiting(places, deadline)
    return {"systemMessage": message} if message else None


def _waiting(places: Places, deadline: Deadline) -> str:
    """One line on the memories that wait for the user, once for each set of them."""
    from ..recall.waiting import due_notice

    return due_notice(places, deadline)
