"""Grading one session, from the transcript to the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.clock import Deadline
from ..kernel.judge.judge import Judge
from .asking import Prepared, grade, prepare, questions
from .records import append, latest, row_of, session_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.judge.question import Verdict
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings

__all__ = ["Graded", "Scorer", "grade_session", "keep_grade", "store_reply"]

_AT_ONCE = 4


class Scorer(NamedTuple):
    """What grading needs: where, by which settings, and why no judge may be asked, or an empty text."""

    places: Places
    settings: Settings
    off: str = ""

    def judge(self, session: str) -> Judge:
        """The judge of sessions; the cap of a session is that of the session that is graded."""
        model = self.settings.text("sessions.judge.model")
        return Judge("sessions", model, self.places, self.settings, session, off=self.off, helper=True)


class Graded(NamedTuple):
    """What came of it: the session as read, its row or None, why a part was not graded, and what went wrong with the ledger."""

    prepared: Prepared
    row: dict[str, Any] | None
    failures: list[str]
    trouble: str


def grade_session(path: str, scorer: Scorer, *, automatic: bool = False) -> Graded:
    """Read, ask, check, combine, write down.

    Without a judge there is no row, and the signals are the answer.  `automatic` marks a grade that nobody asked for.
    Raises FileNotFoundError and Unreadable.
    """
    prepared = prepare(path, scorer.settings)
    judge = scorer.judge(session_id(prepared))
    if not prepared.signals.totals.turns:
        return Graded(prepared, None, ["empty"], "")
    verdicts = _ask(judge, prepared, scorer.settings.number("sessions.judge.timeout_per_call"))
    failures = [verdict.failure for verdict in verdicts if verdict.failure]
    found = grade(prepared, [verdict.values for verdict in verdicts])
    if found is None:
        return Graded(prepared, None, failures, verdicts[0].detail)
    by = {
        "by": "api",
        "backend": judge.backend,
        "model": judge.model,
        "automatic": automatic,
        "cost_usd": _cost(verdicts),
        "failures": failures,
    }
    return keep_grade(prepared, found, by, scorer, failures)


def store_reply(prepared: Prepared, answer: dict[str, Any], by: dict[str, Any], scorer: Scorer) -> Graded:
    """Check and write down what somebody else than our own judge answered about a whole session: a sub-agent."""
    found = grade(prepared, [answer])
    assert found is not None
    return keep_grade(prepared, found, by, scorer, [])


def keep_grade(
    prepared: Prepared, found: dict[str, Any], by: dict[str, Any], scorer: Scorer, failures: list[str]
) -> Graded:
    """Write a grade down, in place of the session's earlier one."""
    places, settings = scorer.places, scorer.settings
    before = latest(places, settings).get(session_id(prepared))
    row = row_of(prepared, found, by, settings, places, before)
    return Graded(prepared, row, failures, append(places, settings, row))


def _ask(judge: Judge, prepared: Prepared, seconds: float) -> list[Verdict]:
    """One verdict a part, some side by side; after a failure that the next part would meet as well, no more are asked."""
    asked = questions(prepared)
    verdicts: list[Verdict] = []
    for at in range(0, len(asked), _AT_ONCE):
        several = asked[at : at + _AT_ONCE]
        lasting = [
            v
            for v in verdicts
            if v.failure in ("over_budget", "disabled", "no_key", "circuit_open", "http_401", "http_403")
        ]
        verdicts += (
            lasting[:1] * len(several) if lasting else judge.ask_all(several, Deadline(seconds), again=True)
        )
    return verdicts


def _cost(verdicts: Sequence[Verdict]) -> float | None:
    costs = [verdict.cost for verdict in verdicts]
    return None if None in costs else round(sum(cost for cost in costs if cost is not None), 6)
