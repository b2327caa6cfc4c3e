"""What SessionEnd starts: the sessions that ended are graded, one process at a time, so many a day."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..kernel.clock import now_iso
from ..kernel.files import Unreadable, cause, read_regular
from ..kernel.judge.outcome import Failed
from ..kernel.locks import Busy, FileLock
from ..kernel.native import loads
from ..sessions.langfuse.sending import send
from ..sessions.pipeline import grade_session
from ..sessions.records import SCORE, ledger
from ..sessions.signals import collect
from .events import note
from .session_end_event import ENDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..sessions.pipeline import Scorer

__all__ = ["grade_ended"]

_MAX_NOTE = 16_384
_SEND_SECONDS = 120.0
_EVENT = "SessionEnd"


def grade_ended(scorer: Scorer) -> int:
    """Grade what notes tell of; how many were graded. Another process that does so already is left to it.

    A note is deleted before its session is graded: one that makes us fail is not tried for ever.
    """
    folder = scorer.places.state(*ENDED)
    done = 0
    try:
        with FileLock(os.path.join(os.path.dirname(folder), "ended.lock"), 0.0):
            for path, told in _notes(folder, scorer.places.project_root):
                os.unlink(path)
                done += _grade(told, scorer)
    except (Busy, FileNotFoundError):
        return 0
    if done and scorer.settings.flag("sessions.langfuse.automatic"):
        try:
            send(scorer.places, scorer.settings, scorer.off, _SEND_SECONDS, lambda _: None)
        except (Failed, OSError) as error:
            _note(
                scorer.places,
                "",
                "scores wait to be sent: %s"
                % (error.name if isinstance(error, Failed) else type(error).__name__),
            )
    return done


def _notes(folder: str, project: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The notes of this project with their paths, the oldest first."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        try:
            told = loads(read_regular(path, _MAX_NOTE)[0].decode("ascii"))
        except (FileNotFoundError, Unreadable, ValueError):
            continue
        if (
            isinstance(told, dict)
            and isinstance(told.get("transcript"), str)
            and told.get("project") == project
        ):
            yield path, told


def _grade(told: dict[str, Any], scorer: Scorer) -> bool:
    """Whether the session was graded: the user's own caps may say no, or it is too short."""
    settings, session = scorer.settings, str(told.get("session"))
    if not settings.flag("sessions.automatic.enabled") or _today(scorer.places, settings) >= settings.integer(
        "sessions.automatic.per_day"
    ):
        return False
    try:
        if collect(told["transcript"]).totals.turns < settings.integer("sessions.automatic.least_turns"):
            return False
        graded = grade_session(told["transcript"], scorer, automatic=True)
    except OSError as error:
        _note(scorer.places, session, "the session is not graded: %s" % cause(error))
        return False
    if graded.row is None or graded.trouble:
        _note(
            scorer.places, session, "the session is not graded: %s" % (graded.failures or [graded.trouble])[0]
        )
    return graded.row is not None


def _note(places: Places, session: str, what: str) -> None:
    note(places, session, _EVENT, "trouble", what)


def _today(places: Places, settings: Settings) -> int:
    """How many sessions were graded automatically today, in UTC."""
    day = now_iso()[:10]
    rows = (
        row
        for row in ledger(places, settings).rows()
        if row.get("kind") == SCORE and str(row.get("time")).startswith(day)
    )
    return sum(
        1
        for row in rows
        for scorer in [row.get("scorer")]
        if isinstance(scorer, dict) and scorer.get("automatic") is True
    )
