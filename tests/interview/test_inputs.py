"""Input with an answer: lines mean the same as JSON, and other input is refused, or its invalid parts are dropped."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.interview.inputs import (
    InvalidAnswer,
    check_signals,
    decode_answer,
    decode_memories,
    parse_answer,
)
from tests.interview.respondents import ANY_JSON, setup_for

SETUP = setup_for()


@given(ANY_JSON, ANY_JSON, ANY_JSON, ANY_JSON)
def test_any_input_is_accepted_or_refused(concepts: Any, relations: Any, signals: Any, covered: Any) -> None:  # noqa: ANN401
    data = {
        "answer": "x",
        "concepts": concepts,
        "relations": relations,
        "signals": signals,
        "covered": covered,
    }
    answer, dropped = parse_answer(data, SETUP)
    assert answer["answer"] == "x"
    assert all(isinstance(note, str) for note in dropped)
    assert check_signals(answer["signals"]) == (answer["signals"], [])


@given(st.text(max_size=200))
def test_any_text_is_an_answer_or_refused(text: str) -> None:
    for start in ("", "{", "answer: ", "concept: "):
        try:
            parse_answer(decode_answer(start + text), SETUP)
        except InvalidAnswer:
            continue


def test_lines_mean_the_same_as_json() -> None:
    text = (
        "question: How fast?\nanswer: a minute\n  at most\nconcept: constraint | one minute | 1 | 0.9 | a minute\n"
        "relation: one minute | no wait\nsignal: knowledge_ceiling | terminal=false\ncovered: data, users\nwish: deeper"
    )
    assert decode_answer(text) == {
        "question": "How fast?",
        "answer": "a minute\nat most",
        "concepts": [
            {"type": "constraint", "text": "one minute", "stance": 1, "confidence": 0.9, "quote": "a minute"}
        ],
        "relations": [{"source": "one minute", "target": "no wait"}],
        "signals": {"knowledge_ceiling": {"terminal": False}},
        "covered": ["data", "users"],
        "wish": "deeper",
    }
    assert decode_memories("memory: n1\ntitle: T\nasked_as: a; b") == [
        {"concept": "n1", "title": "T", "asked_as": ["a", "b"]}
    ]
    with pytest.raises(InvalidAnswer, match="expected `memory: CONCEPT`"):
        decode_memories("title: T")


def test_too_many_parts_are_dropped() -> None:
    element = SETUP["elements"][0]["id"]
    answer, dropped = parse_answer({"answer": "x", "covered": [element] * 150}, SETUP)
    assert (len(answer["covered"]), dropped) == (100, ["covered: only the first 100 of 150 are used"])


@pytest.mark.parametrize(
    ("data", "valid", "invalid"),
    [
        (None, [], []),
        ([], [], ["signals"]),
        (
            {"uncertainty": {"type": "apathy"}, "reasoning": {"quality": "magic"}},
            ["uncertainty"],
            ["reasoning"],
        ),
        ({"emotional": {"intensity": "neutral", "trajectory": 3}}, [], ["emotional"]),
        ({"knowledge_ceiling": {"terminal": "yes"}}, [], ["knowledge_ceiling"]),
        ({"concept_depth": {"suggestion": "stay", "abstraction": 2}}, [], ["concept_depth"]),
        ({"magic": {}}, [], ["magic"]),
        ({"contradiction": {"present": True, "beside": 1}}, ["contradiction"], []),
    ],
)
def test_each_signal_is_validated_separately(data: Any, valid: list[str], invalid: list[str]) -> None:  # noqa: ANN401
    signals, dropped = check_signals(data)
    assert (list(signals), dropped) == (valid, invalid)
