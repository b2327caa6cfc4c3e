"""Rubrics: weights that sum to 1, a question about every dimension, and parsing of the answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation import EvaluationError, file_path, read_object, shipped_names
from memory_plugin.evaluation.jury import (
    Juror,
    Vote,
    load_rubric,
    rubric_question,
    unanswered_crisis,
)
from memory_plugin.kernel.judge.question import Verdict

RUBRIC = load_rubric("honesty")
QUESTION = rubric_question(RUBRIC, "", {"turns": []})


@pytest.mark.parametrize("name", shipped_names("rubrics"))
def test_every_rubric_loads_and_asks_for_every_dimension(name: str) -> None:
    rubric = load_rubric(name)
    question = rubric_question(rubric, "Be strict.", {})
    assert all(dimension.id in question.rubric.system for dimension in rubric.dimensions)
    assert set(question.rubric.schema["properties"]["scores"]["required"]) == {
        dimension.id for dimension in rubric.dimensions
    }
    assert "Be strict." in question.rubric.system
    assert question.rubric.digest != rubric_question(rubric, "", {}).rubric.digest


def test_the_weights_of_the_caregiving_rubric() -> None:
    rubric = load_rubric("caregiving")
    assert dict(rubric.gates) == {"compliance": 0.3}
    assert [dimension.weight for dimension in rubric.dimensions] == [0.25, 0.25, 0.2, 0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"gates": {"honesty": 0.4}}, "must sum to 1, got 1.1", id="weights"),
        pytest.param({"gates": {"honesty": -0.3}}, "gates.honesty: expected", id="a negative weight"),
        pytest.param({"highest": 0}, "highest", id="no scale"),
        pytest.param({"highest": 4}, "anchor", id="an anchor is missing"),
        pytest.param({"system": None}, "system: expected a list of texts", id="no system"),
        pytest.param({"dimensions": {}}, "sum to 1", id="no dimensions"),
    ],
)
def test_an_invalid_rubric_is_rejected(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = os.path.join(tmp_path, "r.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**read_object(file_path("rubrics", "honesty")), **change}, file)
    with pytest.raises(EvaluationError, match=message):
        load_rubric(path)


@pytest.mark.parametrize(
    ("score", "parsed", "off_scale"),
    [
        pytest.param("2", 2, 0, id="text"),
        pytest.param(2, 2, 0, id="number"),
        pytest.param(2.0, 2, 0, id="whole float"),
        pytest.param("2,0", 2, 0, id="decimal comma"),
        pytest.param(7, None, 1, id="above the scale"),
        pytest.param("-1", None, 1, id="below the scale"),
        pytest.param("--1", None, 0, id="two signs"),
        pytest.param("abstain", None, 0, id="abstention"),
        pytest.param(2.5, None, 0, id="a half"),
        pytest.param(True, None, 0, id="a boolean"),
        pytest.param(None, None, 0, id="null"),
    ],
)
def test_scores_are_parsed(score: object, parsed: int | None, off_scale: int) -> None:
    values = QUESTION.read({"scores": {"faithfulness": {"score": score, "turn": 3, "evidence": "x"}}})
    assert values is not None
    assert (values["scores"]["faithfulness"]["score"], values["off_scale"]) == (parsed, off_scale)
    assert values["scores"]["completeness"]["score"] is None


@pytest.mark.parametrize(
    ("answer", "read"), [("unanswered", "unanswered"), ({"score": " None "}, "none"), ("maybe", None), (None, None)], ids=str
)  # fmt: skip
def test_the_answer_about_a_crisis_is_read(answer: object, read: str | None) -> None:
    values = QUESTION.read({"scores": {"faithfulness": 2}, "crisis": answer})
    assert values is not None
    assert (values["crisis"] or {}).get("score") == read


def crisis_votes(*answers: str | None) -> list[Vote]:
    """Return votes with these answers to the question about a crisis; None for a juror that failed."""
    votes = []
    for answer in answers:
        values = {"crisis": {"score": answer, "turn": 4, "evidence": "x"}, "scores": {"faithfulness": 3}}
        verdict = Verdict(None, "timeout") if answer is None else Verdict(QUESTION.read(values))
        votes.append(Vote(Juror(None, "scripted:x", "", ""), verdict))  # type: ignore[arg-type]
    return votes


def test_the_crisis_is_asked_first() -> None:
    assert list(QUESTION.rubric.schema["properties"]) == ["crisis", "scores"]
    assert QUESTION.rubric.system.index("crisis") < QUESTION.rubric.system.index("faithfulness")


def test_a_majority_decides_on_a_crisis() -> None:
    cases: list[tuple[list[str | None], str | None]] = [
        (["unanswered", "unanswered", "none"], "turn 4"),  # a majority
        (["unanswered", "none"], None),  # a tie
        (["answered", "answered", "unanswered"], None),  # answered
        (["unanswered", None, None], "turn 4"),  # of those that answered
        (["maybe", None], None),  # no valid answer
    ]
    assert [
        (answers, where) for answers, where in cases if unanswered_crisis(crisis_votes(*answers)) != where
    ] == []


@pytest.mark.parametrize("values", [{}, {"scores": []}, {"scores": {}}, {"scores": {"other": 1}}])
def test_another_shape_is_rejected(values: dict[str, Any]) -> None:
    assert QUESTION.read(values) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.sampled_from(["scores", "faithfulness", "score", "turn", "evidence"]), children)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["scores", "crisis", "x"]), JSON))
def test_any_reply_can_be_parsed(values: dict[str, Any]) -> None:
    parsed = QUESTION.read(values)
    assert parsed is None or all(entry["score"] in (None, 0, 1, 2, 3) for entry in parsed["scores"].values())
