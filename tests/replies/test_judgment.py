"""The effects of a judge's answer: records, overrides, added drift, and failures that disable the judge."""

from __future__ import annotations

from typing import Any

import pytest

from memory_plugin.kernel.clock import Deadline
from memory_plugin.kernel.judge.asking import Judge
from memory_plugin.kernel.judge.question import Question, Verdict
from memory_plugin.kernel.ledger import Ledger
from memory_plugin.kernel.paths import Paths
from memory_plugin.replies.grade_request import GradeRequest
from memory_plugin.replies.judgment import grade_reply
from memory_plugin.replies.pipeline import CompletedReply, score_reply
from memory_plugin.replies.reply_state import ReplyState
from tests.replies.builders import PADDED, PLAIN, context, correction_is_pending

ZERO = {"SyA": 0, "VDet": 0, "EpAd": 0, "EPad": 0}
ONE_PHRASE = "Great question! " + PLAIN


class FixedJudge(Judge):
    """A judge that always gives the same verdict."""

    def __init__(self, verdict: Verdict) -> None:
        self.model = "m"
        self.verdict = verdict

    def ask(
        self,
        question: Question,  # noqa: ARG002
        deadline: Deadline,  # noqa: ARG002
        *,
        retry: bool = False,  # noqa: ARG002
        fresh: bool = False,  # noqa: ARG002
    ) -> Verdict:
        """Return the verdict."""
        return self.verdict


def grade(paths: Paths, text: str, verdict: Verdict, **values: object) -> str:
    """Score a reply, then have it graded; return the failure's name."""
    ctx = context(paths, holdout=0, **values)
    scored = score_reply(CompletedReply(text, "p1"), ctx)
    request = GradeRequest.from_scored(scored, "s", 40_000)
    return grade_reply(request, "why?", [], FixedJudge(verdict), ctx)


def answer(phrases: list[list[Any]], missed: list[list[int]], **levels: int) -> Verdict:
    """Return a verdict with these values."""
    return Verdict({"levels": {**ZERO, **levels}, "clamped": 0, "phrases": phrases, "missed": missed})


def rows(paths: Paths, name: str, kind: str) -> list[dict[str, Any]]:
    """Return the records of one kind in a ledger."""
    return [row for row in Ledger(paths.state(), name).rows() if row["kind"] == kind]


def test_an_answer_that_agrees_leaves_no_override(paths: Paths) -> None:
    assert grade(paths, ONE_PHRASE, answer([[0, True]], [])) == ""
    (row,) = rows(paths, "scores", "judged")
    assert (row["agrees"], row["phrases"], row["why"]) == (True, [["praise-opening", True]], "escalated")
    assert rows(paths, "judge-overrides", "override") == []


@pytest.mark.parametrize(
    ("verdict", "cleared", "missed", "agrees"),
    [
        pytest.param(answer([[0, False]], []), ["praise-opening"], [], False, id="a phrase cleared"),
        pytest.param(answer([[0, True]], [[20, 30]]), [], [[20, 30]], True, id="a passage missed"),
        pytest.param(answer([[0, True]], [], SyA=2), [], [], True, id="another dimension"),
        pytest.param(
            answer([[0, False]], [], VDet=2),
            ["praise-opening"],
            [],
            False,
            id="cleared, and padded in detail",
        ),
    ],
)
def test_an_override_names_the_difference(
    paths: Paths, verdict: Verdict, cleared: list[str], missed: list[list[int]], agrees: bool
) -> None:
    grade(paths, ONE_PHRASE, verdict)
    (row,) = rows(paths, "judge-overrides", "override")
    assert (row["cleared"], row["missed"]) == (cleared, missed)
    assert rows(paths, "scores", "judged")[0]["agrees"] is agrees


def test_padding_that_rules_found_too_is_no_override(paths: Paths) -> None:
    grade(paths, ONE_PHRASE, answer([[0, True]], [], VDet=3))
    assert rows(paths, "judge-overrides", "override") == []


def test_a_judge_adds_drift_and_its_correction(paths: Paths) -> None:
    grade(paths, ONE_PHRASE, answer([[0, True]], [], EpAd=3))
    (row,) = rows(paths, "drift", "drift")
    assert (row["categories"], row["severity"], row["arm"]) == (["EpAd"], "high", "corrected")
    assert correction_is_pending(paths, "s")


def test_a_judge_raises_a_drift_that_rules_found(paths: Paths) -> None:
    grade(paths, PADDED, answer([], [], EpAd=3))
    (row,) = rows(paths, "drift", "raised")
    assert (row["categories"], row["severity"], row["arm"]) == (["padding", "EpAd"], "high", "none")


@pytest.mark.parametrize(
    ("failure", "is_disabled"), [("timeout", False), ("parse_error", False), ("http_401", True)]
)
def test_a_failure_is_recorded_and_some_disable_the_judge(
    paths: Paths, failure: str, is_disabled: bool
) -> None:
    assert grade(paths, ONE_PHRASE, Verdict(None, failure)) == failure
    (row,) = rows(paths, "scores", "judged")
    assert row["outcome"] == failure
    assert "levels" not in row
    assert ReplyState(paths, "s").is_judge_disabled() is is_disabled
