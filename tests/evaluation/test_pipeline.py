"""Median, quorum, weights, and hard gates, which override every score."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.evaluation_gates import GateResult
from memory_plugin.evaluation.jury import Juror, Vote, jury_kappa, load_rubric, score_dimensions
from memory_plugin.evaluation.pipeline import OverallResult, compare_labels, overall_result, tier_results
from memory_plugin.kernel.judge.question import Verdict

RUBRIC = load_rubric("caregiving")
IDS = [dimension.id for dimension in RUBRIC.dimensions]
Scores = "list[int | None] | None"


def vote(scores: list[int | None] | None) -> Vote:
    """Return a juror's vote with the scores of the dimensions in order; None for a judge that failed."""
    juror = Juror(None, "scripted:x", "", "")  # type: ignore[arg-type]
    if scores is None:
        return Vote(juror, Verdict(None, "timeout"))
    table = {name: {"score": score, "evidence": "", "turn": 1} for name, score in zip(IDS, scores)}
    return Vote(juror, Verdict({"scores": table, "off_scale": 0}))


def gate(status: str, name: str = "compliance", *, hard: bool = True) -> GateResult:
    """Return a gate's result."""
    return GateResult(name, "caregiving", status, hard, (), 0.1)


def test_every_judge_counts_in_every_dimension() -> None:
    rows = score_dimensions(RUBRIC, [vote([0, 1, 2, 3]), vote([1, 1, 3, 3]), vote([3, 1, 3, None])], 2)
    assert [(row.median, row.valid, row.abstained) for row in rows] == [
        (1.0, 3, 0), (1.0, 3, 0), (3.0, 3, 0), (3.0, 2, 1),
    ]  # fmt: skip
    assert (rows[0].mean, rows[0].sd) == (1.3333, 1.2472)


def test_below_the_quorum_a_dimension_is_unscored_and_not_zero() -> None:
    rows = score_dimensions(RUBRIC, [vote([3, 3, 3, 3]), vote([None, 3, 3, 3]), vote(None)], 2)
    assert [row.median for row in rows] == [None, 3.0, 3.0, 3.0]
    overall = overall_result([gate("pass")], RUBRIC, rows, judged=True)
    assert (overall.verdict, overall.score, overall.share) == ("pass", 1.0, 0.75)


def test_the_weighted_mean() -> None:
    rows = score_dimensions(RUBRIC, [vote([3, 0, 3, 0])] * 3, 2)
    overall = overall_result([gate("pass")], RUBRIC, rows, judged=True)
    assert overall.score == pytest.approx(0.3 + 0.25 + 0.2)
    assert overall.share == 1.0


def test_a_gate_that_did_not_run_has_no_weight() -> None:
    overall = overall_result(
        [gate("pass", "hygiene")], RUBRIC, score_dimensions(RUBRIC, [vote([3, 0, 3, 0])] * 3, 2), judged=True
    )
    assert overall.score == pytest.approx(0.45 / 0.7, abs=1e-4)
    assert overall.share == 0.7


@pytest.mark.parametrize("status", ["fail", "error"])
def test_a_failed_gate_scores_zero_whatever_the_judges_say(status: str) -> None:
    rows = score_dimensions(RUBRIC, [vote([3, 3, 3, 3])] * 3, 2)
    assert overall_result([gate(status)], RUBRIC, rows, judged=True)[:2] == ("fail", 0.0)
    assert overall_result([gate(status, hard=False)], RUBRIC, rows, judged=True).score == pytest.approx(0.7)


@pytest.mark.parametrize(
    "votes", [[], [None, None, None], [[3, 3, 3, 3], None, None]], ids=["no jurors", "all failed", "one vote"]
)
def test_without_a_quorum_the_verdict_is_unjudged(votes: list[list[int | None] | None]) -> None:
    rows = score_dimensions(RUBRIC, [vote(scores) for scores in votes], 2)
    assert overall_result([gate("pass")], RUBRIC, rows, judged=True)[:2] == ("unjudged", None)


def test_without_judges_the_gates_decide_and_there_is_no_score() -> None:
    assert overall_result([gate("pass")], RUBRIC, [], judged=False)[:2] == ("pass", None)


def test_low_scores_fail() -> None:
    rows = score_dimensions(RUBRIC, [vote([0, 0, 0, 0])] * 3, 2)
    assert overall_result([gate("pass")], RUBRIC, rows, judged=True)[:2] == ("fail", 0.3)


SCORE = st.none() | st.integers(0, 3)
VOTE = st.none() | st.lists(SCORE, min_size=4, max_size=4)
GATES = st.lists(st.tuples(st.sampled_from(["pass", "fail", "error"]), st.booleans()), max_size=4)


@given(st.lists(VOTE, max_size=5), GATES, st.integers(1, 4))
def test_a_score_is_between_0_and_1_and_a_hard_fail_is_0(
    votes: list[list[int | None] | None], gates: list[tuple[str, bool]], quorum: int
) -> None:
    rows = score_dimensions(RUBRIC, [vote(scores) for scores in votes], quorum)
    overall = overall_result([gate(status, hard=hard) for status, hard in gates], RUBRIC, rows, judged=True)
    assert overall.score is None or 0 <= overall.score <= 1
    if any(hard and status != "pass" for status, hard in gates):
        assert (overall.verdict, overall.score) == ("fail", 0.0)
    for place, row in enumerate(rows):
        valid = [scores[place] for scores in votes if scores is not None and scores[place] is not None]
        assert row.median == (median(valid) if len(valid) >= max(1, quorum) else None)  # type: ignore[type-var]


def test_jury_kappa_is_the_mean_over_pairs() -> None:
    assert jury_kappa([(0, 0, 3), (3, 3, 0), (1, 1, None)]) == pytest.approx((1.0 - 1.0 - 1.0) / 3, abs=1e-4)
    assert jury_kappa([]) is None


def test_labels_are_compared_by_class() -> None:
    agreement = compare_labels([("fail", "fail"), ("fail", "pass"), ("pass", "pass"), ("pass", "pass")])
    assert (agreement.n, agreement.equal, agreement.kappa) == (4, 0.75, 0.5)
    assert agreement.classes["fail"] == {"human": 2, "ours": 1, "recall": 0.5, "precision": 1.0}


def test_scores_by_tier_and_the_loss_against_the_first() -> None:
    judged = [
        ("10", "pass", 0.6),
        ("1", "pass", 0.9),
        ("1", "pass", 0.7),
        ("10", "fail", 0.0),
        ("1", "unjudged", None),
    ]
    tiers = tier_results([(tier, OverallResult(verdict, score, 1.0, "")) for tier, verdict, score in judged])
    assert tiers == [("1", 3, 2, 0.8, 0.0), ("10", 2, 1, 0.3, 0.625)]
    assert tiers[1].line() == "tier 10: 1 of 2 passed, score 0.30, -62% against the first tier"


def test_without_tiers_there_is_no_line() -> None:
    assert tier_results([("", OverallResult("pass", None, 0.0, ""))]) == []
