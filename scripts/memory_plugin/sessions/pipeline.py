"""Grade one session, from the transcript to the ledger: count signals, ask the judge about each part, check and merge, write the row.

Without a judge, the signals are the result and there is no row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.clock import Deadline
from ..kernel.context import Context
from ..kernel.judge.asking import judge_for
from .merging import merge_answers
from .score_rows import RowNotWritten, append_row, grade_row, latest_rows, session_id
from .scoring_request import PreparedSession, prepare, questions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.judge.asking import Judge
    from ..kernel.judge.question import Verdict
    from ..kernel.paths import Paths
    from ..kernel.settings.load import Settings

_CALL_SECONDS = 180.0  # for one part
_PARALLEL = 4  # questions at once
# Failures that the next part would meet as well.
_ENDS_SESSION = frozenset(["over_budget", "disabled", "no_key", "circuit_open", "http_401", "http_403"])


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
        return judge_for("sessions", context, off=self.off, request=self.request)

    def price(self, prepared: PreparedSession) -> float:
        """Return the highest price of grading a session, in US dollars."""
        return self.judge(session_id(prepared)).highest_price(questions(prepared))


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


def grade_session(path: str, scorer: SessionScorer, *, automatic: bool = False) -> GradeResult:
    """Grade a session: read, ask, check, merge, write. Raises FileNotFoundError and Unreadable.

    Without a judge there is no row, only the signals. `automatic` marks a grade that the user did not ask for.
    """
    return grade_prepared(prepare(path, scorer.settings), scorer, automatic=automatic)


def grade_prepared(
    prepared: PreparedSession, scorer: SessionScorer, *, automatic: bool = False
) -> GradeResult:
    """Grade a session whose transcript was read already."""
    judge = scorer.judge(session_id(prepared))
    if not prepared.signals.totals.turns:
        return GradeResult(prepared, None, ["empty"], "")
    verdicts = _ask(judge, prepared, _CALL_SECONDS)
    failures = [verdict.failure for verdict in verdicts if verdict.failure]
    grade = merge_answers(prepared, [verdict.values for verdict in verdicts])
    if grade is None:
        return GradeResult(prepared, None, failures, verdicts[0].detail)
    by = {
        "by": "api",
        "backend": judge.backend,
        "model": judge.model,
        "automatic": automatic,
        "cost_usd": total_cost(verdicts),
        "failures": failures,
    }
    return store_grade(prepared, grade, by, scorer, failures)


def store_answer(
    prepared: PreparedSession, answer: dict[str, Any], by: dict[str, Any], scorer: SessionScorer
) -> GradeResult:
    """Check and store a sub-agent's answer about a whole session."""
    grade = merge_answers(prepared, [answer])
    assert grade is not None  # a parsed answer has scores
    return store_grade(prepared, grade, by, scorer, [])


def store_grade(
    prepared: PreparedSession,
    grade: dict[str, Any],
    by: dict[str, Any],
    scorer: SessionScorer,
    failures: list[str],
) -> GradeResult:
    """Write a grade, which replaces the session's earlier one."""
    paths, settings = scorer.paths, scorer.settings
    before = latest_rows(paths, settings).get(session_id(prepared))
    row = grade_row(prepared, grade, by, settings, paths, before)
    try:
        append_row(paths, settings, row)
    except RowNotWritten as error:
        return GradeResult(prepared, row, failures, str(error))
    return GradeResult(prepared, row, failures, "")


def _ask(judge: Judge, prepared: PreparedSession, seconds: float) -> list[Verdict]:
    """Return one verdict per part. After a failure in _ENDS_SESSION, the remaining parts get the same verdict."""
    all_questions = questions(prepared)
    verdicts: list[Verdict] = []
    for at in range(0, len(all_questions), _PARALLEL):
        fatal = next((verdict for verdict in verdicts if verdict.failure in _ENDS_SESSION), None)
        if fatal:
            return verdicts + [fatal] * (len(all_questions) - at)
        verdicts += judge.ask_all(all_questions[at : at + _PARALLEL], Deadline(seconds), retry=True)
    return verdicts


def total_cost(verdicts: Sequence[Verdict]) -> float | None:
    """Return the sum of the verdicts' costs in US dollars; None if one is unknown."""
    costs = [verdict.cost for verdict in verdicts]
    return None if None in costs else round(sum(cost for cost in costs if cost is not None), 6)
