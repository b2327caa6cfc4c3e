"""SessionStart and SessionEnd, and the removal of session state that is no longer needed."""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.context import Context
from ..kernel.files import cause
from ..kernel.settings.load import load
from .events import PROBLEM, follow_hygiene, identity, note, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from .environment import Taint

__all__ = ["handle_end", "handle_start", "prune_state"]

_START, _END = "SessionStart", "SessionEnd"
_EMPTYING = ("compact", "clear")
_LANGFUSE = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_KEPT_DAYS = 30
_FOLDERS = (
    "sessions",
    "grants",
    "clients",
    os.path.join("grading", "pulled"),
    os.path.join("grading", "ended"),
)


def handle_start(
    payload: dict[str, object],
    places: Places,
    taint: Taint,  # noqa: ARG001  (every handler gets the same arguments)
    deadline: Deadline,
) -> dict[str, object] | None:
    """Refresh the index in the background and forget what an emptied context was told; return what awaits the user, or None."""
    from ..recall.pending import due_notice
    from ..replies.reply_state import tuning_reminder
    from .background import start_refresh

    if places.state_dir is None:
        return None
    session = identity(payload.get("session_id"))
    if payload.get("source") in _EMPTYING and session:
        _forget(places, session)
    settings = load(places.config_dir, places.project_root)
    follow_hygiene(settings)
    notice = due_notice(Context(places, settings, deadline, session))
    start_refresh(places)
    messages = [notice, tuning_reminder(places)]
    return {"systemMessage": "\n".join(filter(None, messages))} if any(messages) else None


def _forget(places: Places, session: str) -> None:
    """Forget what the context of a session was told, because it was compacted or cleared."""
    from ..interview.reminder import Reminder
    from ..recall.history import forget_session

    try:
        forget_session(places, session)
        Reminder(places, session).again()
    except OSError as error:
        note(places, session, _START, PROBLEM, "the session's memory was not reset: %s" % cause(error))


def handle_end(
    payload: dict[str, object],
    places: Places,
    taint: Taint,
    deadline: Deadline,  # noqa: ARG001  (every handler gets the same arguments)
) -> None:
    """Have the session graded by a background process, if the user wants that; the host gives all its hooks together 1.5 seconds."""
    transcript = path(payload.get("transcript_path"))
    if places.state_dir is None or not transcript or taint.judges_off:
        return
    settings = load(places.config_dir, places.project_root)
    if not (settings.flag("sessions.automatic.enabled") and settings.judge_asked_for("sessions")):
        return
    from ..sessions.ended_notes import leave_note
    from .background import judge_variables, start

    session = identity(payload.get("session_id"))
    try:
        leave_note(places, session, transcript)
    except OSError as error:
        note(places, session, _END, PROBLEM, "the session is not graded: %s" % cause(error))
        return
    arguments = ["session", "ended", "--root", places.project_root]
    if not start(arguments, b"", (*judge_variables(settings), *_LANGFUSE)):
        note(places, session, _END, PROBLEM, "no process could be started to grade the session")


def prune_state(places: Places) -> int:
    """Delete session state untouched for 30 days; return the number of deleted files."""
    deleted = 0
    oldest = now() - _KEPT_DAYS * 86400
    for name in _FOLDERS:
        try:
            entries = list(os.scandir(places.state(name)))
        except OSError:
            continue
        for entry in entries:
            try:
                if (
                    entry.is_file(follow_symlinks=False)
                    and entry.stat(follow_symlinks=False).st_mtime < oldest
                ):
                    os.unlink(entry.path)
                    deleted += 1
            except OSError:
                continue
    return deleted
