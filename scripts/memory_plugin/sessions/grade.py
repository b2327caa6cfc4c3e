"""Grade sessions: one, from the transcript to the ledger; many, one by one; or in the background after they ended.

A session's signals are counted, the judge is asked about each part, its answers are checked and merged, and the row is written. Without a
judge, the signals are the result and there is no row.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..kernel.context import Context, Deadline, now_iso
from ..kernel.files import error_text
from ..kernel.judge.asking import Judge
from ..kernel.judge.question import JudgeError, Verdict
from ..kernel.paths import Paths
from ..kernel.records import Records
from ..kernel.settings import Settings
from .langfuse import send_scores
from .langfuse_client import connect
from .material import PreparedSession, prepare, questions
from .rows import SESSIONS, append_row, grade_row, session_id, ungraded

_CALL_SECONDS = 180.0  # for one part
_LEAST_TURNS = 5  # of a session that is graded automatically
_PARALLEL = 4  # questions at once
# Failures that the next part of a session, and the next session, would meet as well.
_LASTING = frozenset(
    ["over_budget", "disabled", "no_key", "circuit_open", "http_401", "http_403", "no_state", "bad_url"]
)
_EMPTY = "empty"  # a transcript without a turn, which is no failure


class SessionScorer(NamedTuple):
    """The context for grading: paths, settings, and `off`, the reason why no judge may be asked, or empty.

    `request` names a grading whose price the user agreed to, to which the cap per request applies; it is empty for any other.
    """

    paths: Paths
    settings: Settings
    off: str = ""
    request: str = ""

    def judge(self, session: str) -> Judge:
        """Return the judge of sessions; the cap per session applies to the graded session."""
        context = Context(self.paths, self.settings, Deadline(0), session)
        return Judge("sessions", context, off=self.off, request=self.request)


class GradeResult(NamedTuple):
    """A session with its row, or None, and its parts' failures; `detail` explains them. The row is not in the ledger yet."""

    prepared: PreparedSession
    row: dict[str, Any] | None
    failures: list[str]
    detail: str = ""

    def store(self, paths: Paths) -> None:
        """Write the row, if there is one; it replaces the session's earlier one. Raises LedgerError."""
        if self.row is not None:
            append_row(paths, self.row)


def grade_session(session: PreparedSession, scorer: SessionScorer, *, automatic: bool = False) -> GradeResult:
    """Grade a session; `automatic` marks a grade that the user did not ask for."""
    if not session.signals.totals.turns:
        return GradeResult(session, None, [_EMPTY], "the transcript has no turns")
    judge = scorer.judge(session_id(session))
    verdicts = _ask(judge, session)
    failures = [verdict.failure for verdict in verdicts if verdict.failure]
    if len(failures) == len(verdicts):
        return GradeResult(session, None, failures, verdicts[0].detail)
    costs = [verdict.cost for verdict in verdicts]
    by = {
        "by": "api",
        "backend": judge.backend,
        "model": judge.model,
        "automatic": automatic,
        "cost_usd": None if None in costs else round(sum(cost or 0 for cost in costs), 6),
        "failures": failures,
    }
    row = grade_row(session, [verdict.values for verdict in verdicts], by, scorer.paths)
    return GradeResult(session, row, failures)


def _ask(judge: Judge, prepared: PreparedSession) -> list[Verdict]:
    """Return one verdict per part. After a failure in _LASTING, the remaining parts get the same verdict."""
    all_questions = questions(prepared)
    verdicts: list[Verdict] = []
    for at in range(0, len(all_questions), _PARALLEL):
        fatal = next((verdict for verdict in verdicts if verdict.failure in _LASTING), None)
        if fatal:
            return verdicts + [fatal] * (len(all_questions) - at)
        verdicts += judge.ask_all(all_questions[at : at + _PARALLEL], Deadline(_CALL_SECONDS))
    return verdicts


class Graded(NamedTuple):
    """The rows that were written, the sessions that were not graded with the reasons, and how many had a grade before."""

    graded: list[dict[str, Any]]
    failed: dict[str, str]
    already: int


def grade_one_by_one(paths: Sequence[str], scorer: SessionScorer, progress: Callable[[str], None]) -> Graded:
    """Grade the sessions without a current grade.

    Each grade is written immediately, so a second run continues where the first was stopped. A failure that would also affect the next
    session ends the run.
    """
    todo = ungraded(paths, scorer.paths)
    run = Graded([], {}, len(paths) - len(todo))
    reason = ""
    for at, path in enumerate(todo):
        name = os.path.basename(path)
        if reason in _LASTING:
            run.failed[name] = reason
            continue
        progress("%d of %d sessions, %d not graded: %s" % (at, len(todo), len(run.failed), name))
        try:
            graded = grade_session(prepare(path), scorer)
            graded.store(scorer.paths)
        except OSError as error:
            run.failed[name] = error_text(error)
            continue
        if graded.row is not None:
            run.graded.append(graded.row)
        elif graded.failures[0] != _EMPTY:
            reason = run.failed[name] = graded.failures[0]
    return run


def grade_ended(transcript: str, scorer: SessionScorer) -> str:
    """Grade a session that ended, unless today's grades are used up or it is too short; return a problem, or ""."""
    today = Records(scorer.paths.state(), SESSIONS, now_iso()[:10])  # in UTC
    number = sum(row.get("scorer", {}).get("automatic") is True for row in today)
    if number >= scorer.settings.integer("sessions.automatic.per_day"):
        return ""
    prepared = prepare(transcript)
    if prepared.signals.totals.turns < _LEAST_TURNS:
        return ""
    graded = grade_session(prepared, scorer, automatic=True)
    if graded.row is None:
        return "the session is not graded: %s" % graded.failures[0]
    graded.store(scorer.paths)
    problem = send_new_scores(scorer, lambda _: None)
    return "the scores are not sent yet: %s" % problem if problem else ""


def send_new_scores(scorer: SessionScorer, progress: Callable[[str], None]) -> str:
    """Send new scores to Langfuse if the user's settings say so; return why they were not sent, or ""."""
    if not scorer.settings.flag("sessions.langfuse.automatic"):
        return ""
    try:
        send_scores(scorer.paths, connect(scorer.paths, scorer.settings, scorer.off), progress)
    except JudgeError as error:
        return error.name
    except OSError as error:
        return error_text(error)
    return ""
