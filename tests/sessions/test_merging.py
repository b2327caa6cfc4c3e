"""Merging the parts of a long session: by tokens, by the last part, and with an earlier collapse counted."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.sessions.merging import GradedPart, merge
from memory_plugin.sessions.scorer_reply import read_scores
from tests.sessions.grades import LEVELS, NUMBERS, reply

LEVEL = st.integers(0, 3)
NUMBER = st.floats(0, 1).map(lambda x: round(x, 4))
SCORES = st.fixed_dictionaries({**dict.fromkeys(LEVELS, LEVEL), **dict.fromkeys(NUMBERS, NUMBER)})
PARTS = st.lists(st.tuples(st.integers(1, 100_000), SCORES), min_size=2, max_size=6)


def part(tokens: float, **scores: Any) -> GradedPart:  # noqa: ANN401
    return GradedPart(tokens, read_scores(reply(**scores)))


def merged(parts: list[GradedPart]) -> dict[str, float]:
    return {name: entry["score"] for name, entry in merge(parts)["dimensions"].items()}


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


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([3, 3], 3),
        ([2, 3], 3),
        ([1, 3], 2),
        ([0, 3], 2),
        ([0, 2], 1),
        ([0, 1], 1),
        ([3, 0], 0),
        ([0, 0, 3], 2),
        ([2, 1], 1),
    ],
)
def test_a_collapse_in_an_earlier_part_still_counts(levels: list[int], expected: int) -> None:
    assert merged([part(10, error_handling=level) for level in levels])["error_handling"] == expected


def test_a_missing_part_leaves_some_dimensions_unscored() -> None:
    """The goal comes from the last part alone; weighted dimensions need all parts."""
    found = merge([GradedPart(10, None), part(10)])
    assert sorted(found["dimensions"]) == ["error_handling", "goal_achievement"]
    assert found["confidence"] is None
    assert merge([part(10), GradedPart(10, None)])["dimensions"] == {}
    assert sorted(merged([part(10), part(10, tool_efficiency=None)])) == sorted(
        {*LEVELS, *NUMBERS} - {"tool_efficiency"}
    )


def test_rule_and_parts_are_recorded_and_evidence_comes_from_all() -> None:
    parts = [part(30, tool_efficiency={"score": 0.2, "rationale": "early", "evidence": [{"turn": 1, "what": "a"}, {"turn": 2}]}),
             part(10, tool_efficiency={"score": 1.0, "rationale": "late", "evidence": [{"turn": 9, "what": "c"}]})]  # fmt: skip
    entry = merge(parts)["dimensions"]["tool_efficiency"]
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
    assert merge([part(1, root_cause=cause) for cause in causes])["root_cause"] == expected
