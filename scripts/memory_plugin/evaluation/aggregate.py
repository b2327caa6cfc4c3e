"""Aggregate a jury's votes: scores by dimension, the verdict, variance over runs, and agreement between raters."""

from __future__ import annotations

from itertools import combinations
from statistics import mean, median, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.stats import cohen_kappa, weighted_kappa
from .evaluation_gates import PASS, is_hard_fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .evaluation_gates import GateResult
    from .evaluation_rubric import EvaluationRubric
    from .jury import Vote


class DimensionScore(NamedTuple):
    """One dimension: each juror's score (None if it abstained or failed), and their aggregate.

    The aggregate is None below the quorum, because unscored is not zero. `range` is the largest score less the smallest.
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


class OverallResult(NamedTuple):
    """The verdict (pass, fail or unjudged) and the score from 0 to 1, None without judges; `share` is the weight that was scored."""

    verdict: str
    score: float | None
    share: float
    reason: str


def score_dimensions(rubric: EvaluationRubric, votes: Sequence[Vote], quorum: int) -> list[DimensionScore]:
    """Aggregate the votes for each dimension."""
    return [
        _score_dimension(dimension.id, dimension.weight, votes, quorum) for dimension in rubric.dimensions
    ]


def _score_dimension(dimension: str, weight: float, votes: Sequence[Vote], quorum: int) -> DimensionScore:
    scores: list[int | None] = []
    abstained = 0
    for vote in votes:
        values = vote.verdict.values
        score = None if values is None else values["scores"][dimension]["score"]
        abstained += values is not None and score is None
        scores.append(score)
    valid = [score for score in scores if score is not None]
    if len(valid) < quorum or not valid:
        return DimensionScore(dimension, weight, tuple(scores), len(valid), abstained, None, None, None, None)
    return DimensionScore(
        dimension, weight, tuple(scores), len(valid), abstained,
        float(median(valid)), round(mean(valid), 4), round(pstdev(valid), 4), max(valid) - min(valid),
    )  # fmt: skip


def overall_result(
    results: Sequence[GateResult],
    rubric: EvaluationRubric | None,
    rows: Sequence[DimensionScore],
    *,
    judged: bool,
) -> OverallResult:
    """Return verdict and score.

    A hard fail scores 0, whatever judges say. Otherwise the score is the weighted mean of gates (1 if passed, else 0) and dimensions
    (median over the scale), renormalized over what was scored. Without judges, the gates decide alone and there is no score.
    """
    if is_hard_fail(results):
        failed = sorted({result.gate for result in results if result.hard and result.status != PASS})
        return OverallResult("fail", 0.0, 0.0, "failed gates: " + ", ".join(failed))
    if rubric is None or not judged:
        return OverallResult("pass", None, 0.0, "all gates passed; no judges were asked")
    if all(row.median is None for row in rows):
        return OverallResult("unjudged", None, 0.0, "all gates passed; no dimension has a quorum of judges")
    parts = [(row.weight, row.median / rubric.highest) for row in rows if row.median is not None]
    passed = {result.gate: result.status == PASS for result in results}
    parts += [(weight, float(passed[gate])) for gate, weight in rubric.gate_weights.items() if gate in passed]
    share = sum(weight for weight, _ in parts)
    if share <= 0:
        return OverallResult("unjudged", None, 0.0, "nothing that was scored has a weight")
    score = sum(weight * value for weight, value in parts) / share
    verdict = "pass" if score >= rubric.pass_at else "fail"
    reason = "%.2f, and %.2f passes" % (score, rubric.pass_at)
    return OverallResult(verdict, round(score, 4), round(share, 4), reason)


def variance(scores: Sequence[float]) -> dict[str, Any]:
    """Return mean, standard deviation, extremes and coefficient of variation of several runs' scores."""
    if not scores:
        return {"runs": 0}
    average, deviation = mean(scores), pstdev(scores)
    return {
        "runs": len(scores),
        "mean": round(average, 4),
        "sd": round(deviation, 4),
        "min": min(scores),
        "max": max(scores),
        "cv": round(deviation / average, 4) if average else None,
    }


def jury_kappa(scores: Sequence[Sequence[int | None]]) -> float | None:
    """Return the mean weighted kappa of all pairs of jurors; `scores` has one row per scored dimension."""
    jurors = max((len(row) for row in scores), default=0)
    kappas = []
    for a, b in combinations(range(jurors), 2):
        pairs = [(row[a], row[b]) for row in scores if len(row) > b]
        kappa = weighted_kappa([(x, y) for x, y in pairs if x is not None and y is not None])
        if kappa is not None:
            kappas.append(round(kappa, 4))
    return round(sum(kappas) / len(kappas), 4) if kappas else None


def compare_labels(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return kappa, the share of equal labels, and recall and precision by class; pairs are (human label, our label)."""
    table = {}
    for label in sorted({label for pair in pairs for label in pair}):
        agreed = sum(a == b == label for a, b in pairs)
        human, ours = sum(a == label for a, _ in pairs), sum(b == label for _, b in pairs)
        table[label] = {
            "human": human,
            "ours": ours,
            "recall": round(agreed / human, 4) if human else None,
            "precision": round(agreed / ours, 4) if ours else None,
        }
    kappa = cohen_kappa(pairs)
    return {
        "n": len(pairs),
        "equal": sum(a == b for a, b in pairs) / len(pairs) if pairs else None,
        "kappa": None if kappa is None else round(kappa, 4),
        "classes": table,
    }
