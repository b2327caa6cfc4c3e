"""SessionEnd: a note and a process of its own, since the host gives all hooks together a second and a half."""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.files import cause, make_folder, replace_file
from ..kernel.native import digest, dumps
from ..kernel.settings.load import load
from .event_fields import identity, path
from .events import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from .environment import Taint

__all__ = ["ENDED", "handle"]

EVENT = "SessionEnd"
ENDED = ("grading", "ended")  # the folder of notes, in the state folder


def handle(
    payload: dict[str, object],
    places: Places,
    taint: Taint,
    deadline: Deadline,  # noqa: ARG001  (every handler is given the same)
) -> None:
    """Have the session graded in the background, where the user asked for that; the host is told nothing."""
    transcript = path(payload.get("transcript_path"))
    if places.state_dir is None or not transcript or taint.judges_off:
        return
    settings = load(places.config_dir, places.project_root)
    if not (settings.flag("sessions.automatic.enabled") and settings.judge_asked_for("sessions")):
        return
    session = identity(payload.get("session_id"))
    try:
        _leave_note(places, session, transcript)
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


def _leave_note(places: Places, session: str, transcript: str) -> None:
    """Should the process die, the next one finds the note. Raises OSError."""
    folder = places.state(*ENDED)
    make_folder(folder)
    name = digest((session + transcript).encode("utf-8", "replace"), 8) + ".json"
    content = {
        "session": session,
        "transcript": transcript,
        "project": places.project_root,
        "ended": now_iso(),
    }
    replace_file(os.path.join(folder, name), dumps(content).encode("ascii"), durable=False)
