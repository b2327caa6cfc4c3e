"""From ballots to one number: median by dimension, weighted mean, and a failed gate above all."""

from __future__ import annotations

from statistics import mean, median, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

from .gates import PASS, hard_fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .gates import GateResult
    from .jury import Ballot
    from .rubric import EvaluationRubric

__all__ = ["Overall", "Row", "overall", "spread", "tabulated"]


class Row(NamedTuple):
    """One dimension: each judge's score (None: it abstained or failed), and what they come to.

    `median` is None below the quorum: unscored is not zero.  `range` is the largest score less the smallest.
    """

    dimension: str
    weight: float
    scores: tuple[int | None, ...]
    valid: int
    abstained: int
    median: float | None
    mean: float | None
    sd: float | None
    range: int | None


class Overall(NamedTuple):
    """The end: `score` from 0 to 1, None when nothing subjective could be scored; `share` is the weight that was scored."""

    verdict: str
    score: float | None
    share: float
    reason: str


def tabulated(rubric: EvaluationRubric, ballots: Sequence[Ballot], quorum: int) -> list[Row]:
    """The table of dimensions."""
    return [_row(dimension.id, dimension.weight, ballots, quorum) for dimension in rubric.dimensions]


def _row(dimension: str, weight: float, ballots: Sequence[Ballot], quorum: int) -> Row:
    scores: list[int | None] = []
    abstained = 0
    for ballot in ballots:
        values = ballot.verdict.values
        score = None if values is None else values["scores"][dimension]["score"]
        abstained += values is not None and score is None
        scores.append(score)
    valid = [score for score in scores if score is not None]
    if len(valid) < quorum or not valid:
        return Row(dimension, weight, tuple(scores), len(valid), abstained, None, None, None, None)
    return Row(
        dimension, weight, tuple(scores), len(valid), abstained,
        float(median(valid)), round(mean(valid), 4), round(pstdev(valid), 4), max(valid) - min(valid),
    )  # fmt: skip


def overall(
    results: Sequence[GateResult], rubric: EvaluationRubric | None, rows: Sequence[Row], *, judged: bool
) -> Overall:
    """Verdict and score.

    A hard fail is 0, whatever judges say.  Else the weighted mean over what was scored: gates that passed count 1,
    dimensions their median over the scale; weights that are missing are renormalised.  Without judges the gates
    decide alone, and there is no score.
    """
    if hard_fail(results):
        failed = sorted({result.gate for result in results if result.hard and result.status != PASS})
        return Overall("fail", 0.0, 0.0, "failed gates: " + ", ".join(failed))
    if rubric is None or not judged:
        return Overall("pass", None, 0.0, "all gates passed; no judges were asked")
    if all(row.median is None for row in rows):
        return Overall("unjudged", None, 0.0, "all gates passed; no dimension has a quorum of judges")
    parts = [(row.weight, row.median / rubric.highest) for row in rows if row.median is not None]
    ran = {result.gate: result.status == PASS for result in results}
    parts += [(weight, float(ran[gate])) for gate, weight in rubric.gate_weights.items() if gate in ran]
    share = sum(weight for weight, _ in parts)
    if share <= 0:
        return Overall("unjudged", None, 0.0, "nothing that was scored has a weight")
    score = sum(weight * value for weight, value in parts) / share
    verdict = "pass" if score >= rubric.pass_at else "fail"
    return Overall(
        verdict, round(score, 4), round(share, 4), "%.2f, and %.2f passes" % (score, rubric.pass_at)
    )


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation, extremes and coefficient of variation of several runs' scores."""
    if not values:
        return {"runs": 0}
    middle, deviation = mean(values), pstdev(values)
    return {
        "runs": len(values),
        "mean": round(middle, 4),
        "sd": round(deviation, 4),
        "min": min(values),
        "max": max(values),
        "cv": round(deviation / middle, 4) if middle else None,
    }
