"""The redundancy rule on pairs of questions that were written before it; half of them were held out while it was tuned."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.interview.wording import find_repeated, likeness
from memory_plugin.kernel.paths import load_data

THRESHOLD = load_data("interview", "redundancy")["threshold"]


def pairs(half: str) -> list[dict[str, Any]]:
    """Return the pairs of one half."""
    with open(os.path.join(os.path.dirname(__file__), "question_pairs.jsonl"), encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if row["half"] == half]


@pytest.mark.parametrize("half", ["tuned", "held_out"])
def test_paraphrases_are_caught_and_other_questions_pass(half: str) -> None:
    rows = pairs(half)
    caught = {row["id"] for row in rows if likeness(row["first"], row["second"]) >= THRESHOLD}
    same = {row["id"] for row in rows if row["same"]}
    different = {row["id"] for row in rows if not row["same"]}
    assert len(rows) >= 50
    assert len(caught & same) / len(same) >= 0.80
    assert len(caught & different) / len(different) <= 0.05


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Why do tests matter to you?", "Why do tests matter to you?", True),
        ("Why do tests matter to you?", "why do your TESTS matter to you", True),
        ("Who reads the reports?", "When are the reports written?", False),
        ("What do tests cost?", "What do tests protect?", False),
        ("Where are the tests kept?", "How long are the tests kept?", False),
        ("What happens after the tests?", "What happens before the tests?", False),
        ("When do you eat?", "At what times do you eat?", True),
        ("What happens when tests fail?", "If tests fail, what happens?", True),
        ("Who looks after the tests?", "Who is in charge of the tests?", True),
        ("", "", False),
    ],
)
def test_single_pairs(first: str, second: str, same: bool) -> None:
    assert (likeness(first, second) >= THRESHOLD) == same
    assert find_repeated(second, [first])[0] == (first if same else "")


@given(st.text(max_size=80), st.text(max_size=80))
def test_similarity_is_symmetric_and_bounded(first: str, second: str) -> None:
    score = likeness(first, second)
    assert 0 <= score <= 1
    assert score == likeness(second, first)
