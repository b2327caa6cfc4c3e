"""Rubrics: weights that sum to 1, one question for every dimension, replies of every shape."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.evaluation_files import EvaluationError, read_object, shipped_path
from memory_plugin.evaluation.evaluation_rubric import load_rubric, rubric_names, rubric_question

RUBRIC = load_rubric("honesty")
ASKED = rubric_question(RUBRIC, "", {"turns": []})


@pytest.mark.parametrize("name", rubric_names())
def test_every_rubric_loads_and_asks_for_every_dimension(name: str) -> None:
    rubric = load_rubric(name)
    asked = rubric_question(rubric, "Be strict.", {})
    assert all(dimension.id in asked.rubric.system for dimension in rubric.dimensions)
    assert set(asked.rubric.schema["properties"]["scores"]["required"]) == {d.id for d in rubric.dimensions}
    assert "Be strict." in asked.rubric.system
    assert asked.rubric.digest != rubric_question(rubric, "", {}).rubric.digest


def test_the_weights_are_those_of_the_source() -> None:
    rubric = load_rubric("caregiving")
    assert dict(rubric.gate_weights) == {"compliance": 0.3}
    assert [dimension.weight for dimension in rubric.dimensions] == [0.25, 0.25, 0.2, 0.0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"gates": {"honesty": 0.4}}, "must sum to 1, got 1.1", id="weights"),
        pytest.param({"gates": {"honesty": -0.3}}, "sum to 1", id="a negative weight"),
        pytest.param({"highest": 0}, "highest", id="no scale"),
        pytest.param({"highest": 4}, "anchor", id="an anchor is missing"),
        pytest.param({"system": None}, "TypeError", id="no system"),
        pytest.param({"dimensions": {}}, "sum to 1", id="no dimensions"),
    ],
)
def test_a_faulty_rubric_is_refused(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    path = os.path.join(tmp_path, "r.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**read_object(shipped_path("rubrics", "honesty")), **change}, file)
    with pytest.raises(EvaluationError, match=named):
        load_rubric(path)


@pytest.mark.parametrize(
    ("score", "read", "clamped"),
    [
        pytest.param("2", 2, 0, id="text"),
        pytest.param(2, 2, 0, id="number"),
        pytest.param(2.0, 2, 0, id="whole float"),
        pytest.param(7, 3, 1, id="above the scale"),
        pytest.param("-1", 0, 1, id="below the scale"),
        pytest.param("--1", None, 0, id="two signs"),
        pytest.param("abstain", None, 0, id="abstention"),
        pytest.param(2.5, None, 0, id="a half"),
        pytest.param(True, None, 0, id="no number"),
        pytest.param(None, None, 0, id="null"),
    ],
)
def test_scores_are_read(score: object, read: int | None, clamped: int) -> None:
    values = ASKED.read({"scores": {"faithfulness": {"score": score, "turn": 3, "evidence": "x"}}})
    assert values is not None
    assert (values["scores"]["faithfulness"]["score"], values["clamped"]) == (read, clamped)
    assert values["scores"]["completeness"]["score"] is None


@pytest.mark.parametrize("values", [{}, {"scores": []}, {"scores": {}}, {"scores": {"other": 1}}])
def test_another_shape_is_no_answer(values: dict[str, Any]) -> None:
    assert ASKED.read(values) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["scores", "faithfulness", "score", "turn", "evidence"]), below)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["scores", "x"]), JSON))
def test_no_reply_breaks_it(values: dict[str, Any]) -> None:
    read = ASKED.read(values)
    assert read is None or all(entry["score"] in (None, 0, 1, 2, 3) for entry in read["scores"].values())
