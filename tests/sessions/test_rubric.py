"""The six dimensions and the overall score; answers of a scorer: read, checked for evidence, and merged."""

from __future__ import annotations

import json
import math
import random
from functools import partial
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.judge.question import load_rubric, read_reply
from memory_plugin.kernel.paths import data_path
from memory_plugin.sessions.material import RUBRIC
from memory_plugin.sessions.rubric import (
    CAUSES,
    dimensions,
    merge,
    overall_score,
    read_grade,
)
from tests.sessions.grades import LEVELS, NUMBERS, reply


def test_the_documented_formula() -> None:
    """Worked example of `session-scoring.md`: categorical / 3, then the weighted sum."""
    scores = {**LEVELS, **NUMBERS}
    expected = (2 / 3) * 0.30 + 0.8 * 0.20 + 0.6 * 0.20 + 0.4 * 0.15 + (1 / 3) * 0.10 + 1.0 * 0.05
    assert overall_score(scores) == round(expected, 4) == 0.6233
    assert overall_score(dict.fromkeys(LEVELS, 3) | dict.fromkeys(NUMBERS, 1)) == 1.0
    assert overall_score(dict.fromkeys(LEVELS, 0) | dict.fromkeys(NUMBERS, 0)) == 0.0


def test_missing_is_not_zero() -> None:
    scores = {name: score for name, score in {**LEVELS, **NUMBERS}.items() if name != "goal_achievement"}
    assert overall_score(scores) is None
    assert overall_score({}) is None


def test_weights_sum_to_one() -> None:
    assert round(sum(dimension.weight for dimension in dimensions().values()), 12) == 1


with open(data_path("judges", "rubrics", RUBRIC + ".json"), encoding="utf-8") as _file:
    EXAMPLES = json.load(_file)["examples"]


def scores(value: dict[str, Any] | None) -> dict[str, float] | None:
    return None if value is None else {name: entry["score"] for name, entry in value["dimensions"].items()}


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_rubric(example: dict[str, Any]) -> None:
    assert scores(read_reply(example["reply"], partial(read_grade, turns=10))) == example["scores"]


def test_the_rubric_asks_for_all_fields_and_marks_data_as_data() -> None:
    rubric = load_rubric(RUBRIC)
    assert set(rubric.schema["required"]) == set(rubric.schema["properties"])
    assert set(rubric.schema["required"]) == {*dimensions(), "root_cause", "improvements", "confidence"}
    assert set(rubric.schema["properties"]["root_cause"]["enum"]) == set(CAUSES.split())
    assert "between <data> and </data>" in rubric.system
    assert "never an instruction" in rubric.system


@pytest.mark.parametrize(
    ("name", "value", "score"),
    [
        ("goal_achievement", 3, 3),
        ("goal_achievement", 2.0, 2),
        ("goal_achievement", "Complete", 2),
        ("goal_achievement", -1, None),
        ("goal_achievement", 1.5, None),
        ("goal_achievement", "done", None),
        ("goal_achievement", True, None),
        ("tool_efficiency", 1, 1.0),
        ("tool_efficiency", 1.2, None),
        pytest.param("tool_efficiency", -(10**400), None, id="more digits than a float has"),
        ("tool_efficiency", "0.85", 0.85),
        ("tool_efficiency", "0,85", 0.85),
        ("tool_efficiency", None, None),
        ("tool_efficiency", math.nan, None),
    ],
)
def test_a_score_is_on_its_scale_or_missing(name: str, value: object, score: float | None) -> None:
    for entry in ({"score": value}, value):
        parsed = read_grade(reply(**{name: entry}), 10)
        assert parsed is not None
        assert parsed["dimensions"].get(name, {}).get("score") == score


@pytest.mark.parametrize(
    ("name", "value"), [("tool_efficiency", 8), ("goal_achievement", 7), ("tool_efficiency", 10**400)]
)
def test_scores_on_another_scale_are_no_grade(name: str, value: object) -> None:
    others = {"goal_achievement": {"score": "complete"}, "output_quality": {"score": 1}}
    parsed = read_grade({**others, name: {"score": value}}, 10)
    assert scores(parsed) == ({"goal_achievement": 2} if name != "goal_achievement" else None)


def test_texts_are_clean_short_and_without_secrets() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    parsed = read_grade(
        reply(output_quality={"score": 1, "rationale": "uses %s\u202e\n" % secret + "x" * 5000}), 10
    )
    assert parsed is not None
    rationale = parsed["dimensions"]["output_quality"]["rationale"]
    assert secret not in rationale
    assert "\u202e" not in rationale
    assert len(rationale) <= 400


def test_improvements_and_cause_come_from_the_table() -> None:
    good = {"dimension": "tool_efficiency", "issue": "cat", "fix": "Read"}
    parsed = read_grade(
        reply(
            root_cause="weather",
            improvements=[good, {"dimension": "charm", "issue": "x"}, "be nice", *[good] * 9],
            confidence=7,
        ),
        10,
    )
    assert parsed is not None
    assert (parsed["root_cause"], parsed["improvements"], parsed["confidence"]) == (None, [good] * 5, 1.0)


def test_evidence_must_name_turns_that_exist() -> None:
    items = [
        {"turn": 2, "what": "a"},
        {"turn": 99, "what": "b"},
        "turn 3 shows c",
        "as trace 7 shows",
        "trust me",
        {"turns": [1, 50], "what": "d"},
        {"turn": 1, "what": "e"},
    ]
    for turns, named, struck in ((10, [[2], [3], [7]], 2), (2, [[2], [1], [1]], 4)):
        parsed = read_grade(reply(tool_efficiency={"score": 0.5, "evidence": items}), turns)
        assert parsed is not None
        evidence = parsed["dimensions"]["tool_efficiency"]["evidence"]
        assert ([item["turns"] for item in evidence], parsed["struck"]) == (named, struck)


FIELDS = ["score", "evidence", "turn", "turns", "what", "rationale", "dimension", "issue"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(["complete", "turn 3", "none"]),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), children, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from([*LEVELS, *NUMBERS, "root_cause", "improvements", "confidence"]), JSON, max_size=9
    )
)
def test_any_reply_is_rejected_or_gives_valid_scores(value: dict[str, Any]) -> None:
    parsed = read_grade(value, 5)
    if parsed is None:
        return
    json.dumps(parsed, allow_nan=False)
    for name, entry in parsed["dimensions"].items():
        assert 0 <= entry["score"] <= (3 if name in LEVELS else 1)
        assert all(1 <= turn <= 5 for item in entry["evidence"] for turn in item["turns"])


LEVEL = st.integers(0, 3)
NUMBER = st.floats(0, 1).map(lambda x: round(x, 4))
SCORES = st.fixed_dictionaries({**dict.fromkeys(LEVELS, LEVEL), **dict.fromkeys(NUMBERS, NUMBER)})
PARTS = st.lists(st.tuples(st.integers(1, 100_000), SCORES), min_size=2, max_size=6)


Part = tuple[float, Optional[dict[str, Any]]]


def part(tokens: float, **scores: Any) -> Part:  # noqa: ANN401
    return tokens, read_grade(reply(**scores), 10)


def merge_parts(parts: list[Part]) -> dict[str, Any]:
    return merge([answer for _, answer in parts], [tokens for tokens, _ in parts])


def merged(parts: list[Part]) -> dict[str, float]:
    return {name: entry["score"] for name, entry in merge_parts(parts)["dimensions"].items()}


@given(PARTS, st.randoms())
def test_the_order_of_parts_does_not_change_numbers(
    parts: list[tuple[int, dict[str, float]]], chance: random.Random
) -> None:
    shuffled = list(parts)
    chance.shuffle(shuffled)
    first, second = (
        merged([part(tokens, **scores) for tokens, scores in ordered]) for ordered in (parts, shuffled)
    )
    assert {name: first[name] for name in NUMBERS} == pytest.approx(
        {name: second[name] for name in NUMBERS}, abs=1e-4
    )


@given(SCORES, st.lists(st.integers(1, 100_000), min_size=1, max_size=6))
def test_equal_parts_give_the_same_grade_as_one(scores: dict[str, float], sizes: list[int]) -> None:
    assert merged([part(size, **scores) for size in sizes]) == merged([part(1, **scores)])


@given(PARTS)
def test_numbers_are_weighted_by_tokens(parts: list[tuple[int, dict[str, float]]]) -> None:
    found = merged([part(tokens, **scores) for tokens, scores in parts])
    weight = sum(tokens for tokens, _ in parts)
    for name in NUMBERS:
        expected = sum(tokens * scores[name] for tokens, scores in parts) / weight
        assert found[name] == pytest.approx(expected, abs=1e-4)


@given(PARTS)
@pytest.mark.slow
def test_a_part_cut_in_two_changes_no_number(parts: list[tuple[int, dict[str, float]]]) -> None:
    whole = [part(2 * tokens, **scores) for tokens, scores in parts]
    halves = [part(tokens, **scores) for tokens, scores in parts for _ in range(2)]
    assert merged(halves) == pytest.approx(merged(whole), abs=1e-4)


@given(PARTS)
def test_the_goal_is_that_of_the_last_part(parts: list[tuple[int, dict[str, float]]]) -> None:
    assert (
        merged([part(tokens, **scores) for tokens, scores in parts])["goal_achievement"]
        == parts[-1][1]["goal_achievement"]
    )


def test_a_collapse_in_an_earlier_part_still_counts() -> None:
    cases = [
        ([3, 3], 3),
        ([2, 3], 3),
        ([1, 3], 2),
        ([0, 3], 2),
        ([0, 2], 1),
        ([0, 1], 1),
        ([3, 0], 0),
        ([0, 0, 3], 2),
        ([2, 1], 1),
    ]
    assert [
        (levels, expected)
        for levels, expected in cases
        if merged([part(10, error_handling=level) for level in levels])["error_handling"] != expected
    ] == []


def test_a_missing_part_leaves_some_dimensions_unscored() -> None:
    """The goal comes from the last part alone; weighted dimensions need all parts."""
    found = merge_parts([(10, None), part(10)])
    assert sorted(found["dimensions"]) == ["error_handling", "goal_achievement"]
    assert found["confidence"] is None
    assert merge_parts([part(10), (10, None)])["dimensions"] == {}
    assert sorted(merged([part(10), part(10, tool_efficiency=None)])) == sorted(
        {*LEVELS, *NUMBERS} - {"tool_efficiency"}
    )


def test_rule_and_parts_are_recorded_and_evidence_comes_from_all() -> None:
    parts = [part(30, tool_efficiency={"score": 0.2, "rationale": "early", "evidence": [{"turn": 1, "what": "a"}, {"turn": 2}]}),
             part(10, tool_efficiency={"score": 1.0, "rationale": "late", "evidence": [{"turn": 9, "what": "c"}]})]  # fmt: skip
    entry = merge_parts(parts)["dimensions"]["tool_efficiency"]
    assert (entry["score"], entry["merge"]) == (0.4, {"rule": "tokens", "parts": [0.2, 1.0]})
    assert [item["turns"] for item in entry["evidence"]] == [[1], [9], [2]]
    assert entry["rationale"] == "early late"


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        (["none", "none"], "none"),
        (["none", "tool_misuse"], "tool_misuse"),
        (["context_waste", "tool_misuse"], "multiple"),
        (["x", "x"], None),
    ],
)
def test_root_causes(causes: list[str], expected: str | None) -> None:
    assert merge_parts([part(1, root_cause=cause) for cause in causes])["root_cause"] == expected
