"""Grade many sessions: one by one, or in the background after they ended."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.clock import now_iso
from ..kernel.files import error_text, os_error_text
from ..kernel.judge.errors import JudgeError
from ..kernel.locks import Busy, FileLock
from ..kernel.records import Records
from .ended_notes import ended_folder, pending_notes
from .langfuse.push import send_scores
from .pipeline import grade_session
from .score_rows import SCORE, ungraded
from .session_signals import collect_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .pipeline import SessionScorer

# Failures that the next session would meet as well.
_ENDS_RUN = frozenset(["over_budget", "disabled", "no_key", "http_401", "http_403", "no_state", "bad_url"])
_EMPTY = "empty"  # a transcript without a turn, which is no failure
_SEND_SECONDS = 120.0


class GradingRun(NamedTuple):
    """The rows written, the transcripts that were not graded with their reasons, and how many were graded before."""

    rows: list[dict[str, Any]]
    failed: dict[str, str]
    graded_before: int


def grade_one_by_one(
    paths: Sequence[str], scorer: SessionScorer, progress: Callable[[str], None], *, again: bool
) -> GradingRun:
    """Grade the sessions without a current grade, or all of them with `again`.

    Each grade is written immediately, so a second run continues where the first was stopped. A failure that would also affect the next
    session ends the run.
    """
    todo = list(paths) if again else ungraded(paths, scorer.paths, scorer.settings)
    failed: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    for at, path in enumerate(todo):
        progress(
            "%d of %d sessions, %d not graded: %s" % (at, len(todo), len(failed), os.path.basename(path))
        )
        try:
            graded = grade_session(path, scorer)
        except OSError as error:
            failed[path] = error_text(error)
            continue
        if graded.is_stored:
            rows.append(graded.row or {})
            continue
        failed[path] = graded.reason
        if graded.reason in _ENDS_RUN:
            failed.update((remaining, graded.reason) for remaining in todo[at + 1 :])
            break
    return GradingRun(rows, _by_name(failed), len(paths) - len(todo))


def _by_name(failed: dict[str, str]) -> dict[str, str]:
    return {os.path.basename(path): why for path, why in failed.items() if why != _EMPTY}


def grade_ended(scorer: SessionScorer, report: Callable[[str, str], None]) -> int:
    """Grade the sessions that ended; return how many were graded, or 0 if another process is already doing so.

    A note is deleted before its session is graded, so a session that causes a crash is not tried again. `report` is called with the session
    and the problem.
    """
    paths, settings = scorer.paths, scorer.settings
    graded = 0
    try:
        with FileLock(os.path.join(os.path.dirname(ended_folder(paths)), "ended.lock"), 0.0):
            for path, note in pending_notes(paths):
                os.unlink(path)
                graded += _grade_note(note, scorer, report)
    except (Busy, FileNotFoundError):
        return 0
    if graded and settings.flag("sessions.langfuse.automatic"):
        try:
            send_scores(paths, settings, scorer.off, _SEND_SECONDS, lambda _: None)
        except (JudgeError, OSError) as error:
            reason = error.name if isinstance(error, JudgeError) else type(error).__name__
            report("", "the scores are not sent yet: %s" % reason)
    return graded


def _grade_note(note: dict[str, Any], scorer: SessionScorer, report: Callable[[str, str], None]) -> bool:
    """Grade a session unless the user's caps forbid it or it is too short; return whether it was graded."""
    settings, session = scorer.settings, str(note.get("session"))
    if settings.text("sessions.judge.when") != "ended":
        return False
    if _graded_today(scorer) >= settings.integer("sessions.automatic.per_day"):
        return False
    try:
        turns = collect_signals(note["transcript"]).totals.turns
        if turns < settings.integer("sessions.automatic.least_turns"):
            return False
        graded = grade_session(note["transcript"], scorer, automatic=True)
    except OSError as error:
        report(session, "the session is not graded: %s" % os_error_text(error))
        return False
    if not graded.is_stored:
        report(session, "the session is not graded: %s" % graded.reason)
    return graded.row is not None


def _graded_today(scorer: SessionScorer) -> int:
    """Return how many sessions were graded automatically today, in UTC."""
    rows = Records(scorer.paths.state(), "sessions", now_iso()[:10])
    return sum(row.get("kind") == SCORE and row.get("scorer", {}).get("automatic") is True for row in rows)
