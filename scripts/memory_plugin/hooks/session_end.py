"""SessionEnd: leave a note and start a process, since the host gives all hooks together 1.5 seconds."""

from __future__ import annotations

from ..kernel.files import cause
from ..kernel.settings.load import load
from ..sessions.ended_notes import leave_note
from .event_fields import identity, path
from .event_log import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from .environment import Taint

__all__ = ["handle"]

EVENT = "SessionEnd"


def handle(
    payload: dict[str, object],
    places: Places,
    taint: Taint,
    deadline: Deadline,  # noqa: ARG001  (every handler is given the same)
) -> None:
    """Have the session graded in the background, where the user asked for that. Nothing is returned to the host."""
    transcript = path(payload.get("transcript_path"))
    if places.state_dir is None or not transcript or taint.judges_off:
        return
    settings = load(places.config_dir, places.project_root)
    if not (settings.flag("sessions.automatic.enabled") and settings.judge_asked_for("sessions")):
        return
    session = identity(payload.get("session_id"))
    try:
        leave_note(places, session, transcript)
    except OSError as error:
        note(
            places,
            session,
            EVENT,
            "trouble",
            "the session is not graded: %s" % cause(error),
        )
        return
    from .detached import start
    from .judge_variables import judge_variables

    langfuse = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LANGFUSE_HOST", "LANGFUSE_BASE_URL")
    if not start(
        ["session", "ended", "--root", places.project_root], b"", (*judge_variables(settings), *langfuse)
    ):
        note(places, session, EVENT, "trouble", "no process could be started to grade the session")
