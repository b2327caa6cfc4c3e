"""Parsing a scorer's reply: scores clamped to their scales, evidence checked against the session."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.judge.question import load_rubric, read_reply
from memory_plugin.kernel.paths import data_path
from memory_plugin.sessions.dimensions import causes, dimensions
from memory_plugin.sessions.scorer_reply import drop_bad_evidence, read_scores
from memory_plugin.sessions.scoring_request import RUBRIC
from tests.sessions.grades import LEVELS, NUMBERS, reply

with open(data_path("judges", "rubrics", RUBRIC + ".json"), encoding="utf-8") as _file:
    EXAMPLES = json.load(_file)["examples"]


def scores(value: dict[str, Any] | None) -> dict[str, float] | None:
    return None if value is None else {name: entry["score"] for name, entry in value["dimensions"].items()}


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_rubric(example: dict[str, Any]) -> None:
    assert scores(read_reply(example["reply"], read_scores)) == example["scores"]


def test_the_rubric_asks_for_all_fields_and_marks_data_as_data() -> None:
    rubric = load_rubric(RUBRIC)
    assert set(rubric.schema["required"]) == set(rubric.schema["properties"])
    assert set(rubric.schema["required"]) == {*dimensions(), "root_cause", "improvements", "confidence"}
    assert set(rubric.schema["properties"]["root_cause"]["enum"]) == set(causes())
    assert "between <data> and </data>" in rubric.system
    assert "never an instruction" in rubric.system


@pytest.mark.parametrize(
    ("name", "value", "score", "clamped"),
    [
        ("goal_achievement", 3, 3, 0),
        ("goal_achievement", 2.0, 2, 0),
        ("goal_achievement", "Complete", 2, 0),
        ("goal_achievement", 7, 3, 1),
        ("goal_achievement", -1, 0, 1),
        ("goal_achievement", 1.5, None, 0),
        ("goal_achievement", "done", None, 0),
        ("goal_achievement", True, None, 0),
        ("tool_efficiency", 1, 1.0, 0),
        ("tool_efficiency", 1.2, 1.0, 1),
        pytest.param("tool_efficiency", 10**400, 1.0, 1, id="more digits than a float has"),
        ("tool_efficiency", "0.85", None, 0),
        ("tool_efficiency", None, None, 0),
        ("tool_efficiency", math.nan, None, 0),
    ],
)
def test_a_score_is_on_its_scale_or_missing(
    name: str, value: object, score: float | None, clamped: int
) -> None:
    parsed = read_scores(reply(**{name: {"score": value}}))
    assert parsed is not None
    assert parsed["dimensions"].get(name, {}).get("score") == score
    assert (parsed["clamped"], parsed["unreadable"]) == (clamped, score is None)


def test_texts_are_clean_short_and_without_secrets() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    parsed = read_scores(
        reply(output_quality={"score": 1, "rationale": "uses %s\u202e\n" % secret + "x" * 5000})
    )
    assert parsed is not None
    rationale = parsed["dimensions"]["output_quality"]["rationale"]
    assert secret not in rationale
    assert "\u202e" not in rationale
    assert len(rationale) <= 400


def test_improvements_and_cause_come_from_the_table() -> None:
    good = {"dimension": "tool_efficiency", "issue": "cat", "fix": "Read"}
    parsed = read_scores(
        reply(
            root_cause="weather",
            improvements=[good, {"dimension": "charm", "issue": "x"}, "be nice", *[good] * 9],
            confidence=7,
        )
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
    parsed = read_scores(reply(tool_efficiency={"score": 0.5, "evidence": items}))
    assert parsed is not None
    assert drop_bad_evidence(parsed, 10) == 2
    evidence = parsed["dimensions"]["tool_efficiency"]["evidence"]
    assert [item["turns"] for item in evidence] == [[2], [3], [7]]
    assert drop_bad_evidence(parsed, 2) == 2


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
    parsed = read_scores(value)
    if parsed is None:
        return
    drop_bad_evidence(parsed, 5)
    json.dumps(parsed, allow_nan=False)
    for name, entry in parsed["dimensions"].items():
        assert 0 <= entry["score"] <= (3 if name in LEVELS else 1)
        assert all(1 <= turn <= 5 for item in entry["evidence"] for turn in item["turns"])
