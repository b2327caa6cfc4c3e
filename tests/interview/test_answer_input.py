"""Input with an answer: lines and JSON say the same, and any other input is refused or dropped in parts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.interview.answer_input import decode_answer, decode_memories, parse_answer
from memory_plugin.interview.answer_signals import (
    check_signals,
)
from memory_plugin.interview.exceptions import InvalidAnswer
from memory_plugin.kernel.data import load_data
from tests.interview.respondents import ANY_JSON, setup_for


@given(ANY_JSON, ANY_JSON, ANY_JSON, ANY_JSON)
def test_any_input_is_taken_or_refused(concepts: Any, relations: Any, signals: Any, covered: Any) -> None:  # noqa: ANN401
    data = {
        "answer": "x",
        "concepts": concepts,
        "relations": relations,
        "signals": signals,
        "covered": covered,
    }
    found, dropped = parse_answer(data, setup_for(), lambda text, limit: text[:limit])
    assert found["answer"] == "x"
    assert all(isinstance(note, str) for note in dropped)
    check_signals(found["signals"], load_data("interview", "signals"))


@given(st.text(max_size=200))
def test_any_text_is_an_answer_or_refused(text: str) -> None:
    for start in ("", "{", "answer: ", "concept: "):
        try:
            data = decode_answer(start + text)
            parse_answer(data, setup_for(), lambda said, limit: said[:limit])
        except InvalidAnswer:
            continue


def test_lines_say_what_json_says() -> None:
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
