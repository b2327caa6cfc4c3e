"""Grade sessions: one, from the transcript to the ledger; many, one by one; or in the background after they ended.

A session's signals are counted, the judge is asked about each part, its answers are checked and merged, and the row is written. Without a
judge, the signals are the result and there is no row.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..kernel.context import Context, Deadline, LedgerError, now_iso
from ..kernel.files import Busy, FileLock, error_text, os_error_text
from ..kernel.judge.asking import Judge
from ..kernel.judge.question import JudgeError, Values, Verdict
from ..kernel.paths import Paths
from ..kernel.records import Records
from ..kernel.settings import Settings
from .langfuse import send_scores
from .langfuse_client import connect
from .material import PreparedSession, prepare, questions
from .rows import SCORE, SESSIONS, append_row, grade_row, latest_rows, session_id, ungraded
from .rubric import merge
from .session_files import ended_folder, pending_notes

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
    """A session with its row or None, its parts' failures, and `detail`, the reason why there is no row or it was not written."""

    prepared: PreparedSession
    row: dict[str, Any] | None
    failures: list[str]
    detail: str

    @property
    def is_stored(self) -> bool:
        """Return whether the grade is in the ledger."""
        return self.row is not None and not self.detail

    @property
    def reason(self) -> str:
        """Return why the grade is not stored: the first failure, or the detail."""
        return self.failures[0] if self.failures else self.detail


def grade_session(path: str, scorer: SessionScorer) -> GradeResult:
    """Grade a session. Raises FileNotFoundError and Unreadable."""
    return grade_prepared(prepare(path), scorer)


def grade_prepared(
    prepared: PreparedSession, scorer: SessionScorer, *, automatic: bool = False
) -> GradeResult:
    """Grade a session whose transcript was read already. `automatic` marks a grade that the user did not ask for."""
    if not prepared.signals.totals.turns:
        return GradeResult(prepared, None, [_EMPTY], "")
    judge = scorer.judge(session_id(prepared))
    verdicts = _ask(judge, prepared)
    failures = [verdict.failure for verdict in verdicts if verdict.failure]
    if len(failures) == len(verdicts):
        return GradeResult(prepared, None, failures, verdicts[0].detail)
    costs = [verdict.cost for verdict in verdicts]
    by = {
        "by": "api",
        "backend": judge.backend,
        "model": judge.model,
        "automatic": automatic,
        "cost_usd": None if None in costs else round(sum(cost or 0 for cost in costs), 6),
        "failures": failures,
    }
    return store_answers(prepared, [verdict.values for verdict in verdicts], by, scorer)


def _ask(judge: Judge, prepared: PreparedSession) -> list[Verdict]:
    """Return one verdict per part. After a failure in _LASTING, the remaining parts get the same verdict."""
    all_questions = questions(prepared)
    verdicts: list[Verdict] = []
    for at in range(0, len(all_questions), _PARALLEL):
        fatal = next((verdict for verdict in verdicts if verdict.failure in _LASTING), None)
        if fatal:
            return verdicts + [fatal] * (len(all_questions) - at)
        verdicts += judge.ask_all(all_questions[at : at + _PARALLEL], Deadline(_CALL_SECONDS), retry=True)
    return verdicts


def store_answers(
    prepared: PreparedSession,
    answers: Sequence[Values | None],
    by: dict[str, Any],
    scorer: SessionScorer,
) -> GradeResult:
    """Merge the answers about all parts and write the grade, which replaces the session's earlier one.

    At least one part has an answer. The confidence is lowered by the share of turns that were not shown.
    """
    turns = prepared.signals.totals.turns
    grade = merge(answers, [part.tokens for part in prepared.parts])
    if grade["confidence"] is not None and turns:
        grade["confidence"] = round(grade["confidence"] * (1 - prepared.left_out / turns), 4)
    before = latest_rows(scorer.paths).get(session_id(prepared), {})
    row = grade_row(prepared, grade, by, scorer.paths, before.get("stamp", ""))
    try:
        append_row(scorer.paths, row)
    except LedgerError as error:
        return GradeResult(prepared, row, by["failures"], str(error))
    return GradeResult(prepared, row, by["failures"], "")


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
            graded = grade_session(path, scorer)
        except OSError as error:
            run.failed[name] = error_text(error)
            continue
        reason = "" if graded.is_stored else graded.reason
        if not reason:
            run.graded.append(graded.row or {})
        elif reason != _EMPTY:
            run.failed[name] = reason
    return run


def grade_ended(scorer: SessionScorer, report: Callable[[str, str], None]) -> int:
    """Grade the sessions that ended; return how many were graded, or 0 if another process is already doing so.

    A note is deleted before its session is graded, so a session that causes a crash is not tried again. `report` is called with the session
    and the problem.
    """
    graded = 0
    try:
        with FileLock(os.path.join(os.path.dirname(ended_folder(scorer.paths)), "ended.lock"), 0.0):
            for path, session, transcript in pending_notes(scorer.paths):
                os.unlink(path)
                graded += _grade_note(session, transcript, scorer, report)
    except (Busy, FileNotFoundError):
        return 0
    problem = send_new_scores(scorer, lambda _: None) if graded else ""
    if problem:
        report("", "the scores are not sent yet: %s" % problem)
    return graded


def _grade_note(
    session: str, transcript: str, scorer: SessionScorer, report: Callable[[str, str], None]
) -> bool:
    """Grade a session unless the user's caps forbid it or it is too short; return whether it was graded."""
    settings = scorer.settings
    if settings.text("sessions.judge.when") != "ended":
        return False
    rows = Records(scorer.paths.state(), SESSIONS, now_iso()[:10])  # of today, in UTC
    today = [
        row for row in rows if row.get("kind") == SCORE and row.get("scorer", {}).get("automatic") is True
    ]
    if len(today) >= settings.integer("sessions.automatic.per_day"):
        return False
    try:
        prepared = prepare(transcript)
    except OSError as error:
        report(session, "the session is not graded: %s" % os_error_text(error))
        return False
    if prepared.signals.totals.turns < _LEAST_TURNS:
        return False
    graded = grade_prepared(prepared, scorer, automatic=True)
    if not graded.is_stored:
        report(session, "the session is not graded: %s" % graded.reason)
    return graded.row is not None


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
