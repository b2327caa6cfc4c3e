"""Signals: each checked by itself, the rules' own examples, the wish to stop; and input that may be anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from memory_plugin.interview.errors import BadInput, ConfigError
from memory_plugin.interview.intake import intake, parsed
from memory_plugin.interview.judged import _read
from memory_plugin.interview.lines import read_memories
from memory_plugin.interview.pack import SHIPPED, check_pack
from memory_plugin.interview.signals import checked, is_terminal, sentiment, signals_by_rule, wants_to_stop
from memory_plugin.interview.tables import load_table
from memory_plugin.interview.wording import holds, spoken
from memory_plugin.kernel.judge.reply import read_reply
from memory_plugin.kernel.judge.rubric import load_rubric
from memory_plugin.kernel.paths import data_path
from tests.interview.respondents import setup_for

TABLE = load_table("signals")
GROUPS = load_table("patterns")["groups"]
PATTERNS = setup_for()["patterns"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("name", GROUPS)
def test_the_patterns_own_examples(name: str) -> None:
    assert [text for text in GROUPS[name]["hit"] if not holds(spoken(text), PATTERNS[name])] == []
    missed = wants_to_stop if name == "stop" else lambda text, table: holds(spoken(text), table[name])
    assert [text for text in GROUPS[name]["miss"] if missed(text, PATTERNS)] == []


@pytest.mark.parametrize(
    ("given_signals", "kept", "dropped"),
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
def test_each_signal_is_checked_by_itself(given_signals: Any, kept: list[str], dropped: list[str]) -> None:  # noqa: ANN401
    found, wrong = checked(given_signals, TABLE)
    assert (list(found), wrong) == (kept, dropped)


@pytest.mark.parametrize(
    ("answer", "terminal", "mood"),
    [
        ("I don't know.", True, 0.0),
        ("I don't know, maybe the cache.", False, 0.0),
        ("It is very good", False, 1.0),
        ("It is good", False, 0.5),
        ("It is tedious", False, -0.5),
        ("It is terrible and painful", False, -1.0),
        ("", False, 0.0),
    ],
)
def test_rules_read_an_answer(answer: str, terminal: bool, mood: float) -> None:
    found = signals_by_rule(answer, PATTERNS)
    assert (is_terminal(found), sentiment(found, TABLE)) == (terminal, mood)
    assert checked(found, TABLE) == (found, [])


@pytest.mark.parametrize(
    ("answer", "stops"),
    [
        ("Nothing else.", True),
        ("ok, let's stop here, thanks", True),
        ("Stop the build when tests fail", False),
        ("No", False),
    ],
)
def test_a_wish_to_stop_is_the_whole_answer(answer: str, stops: bool) -> None:
    assert wants_to_stop(answer, PATTERNS) is stops


def test_the_judges_rubric_asks_for_the_same_signals() -> None:
    schema = load_rubric("interview/signals").schema["properties"]
    assert {name: set(part["anyOf"][0]["properties"]) for name, part in schema.items()} == {
        name: set(rule["fields"]) for name, rule in TABLE["signals"].items()
    }
    with open(data_path("judges", "rubrics", "interview", "signals.json"), encoding="utf-8") as file:
        examples = json.load(file)["examples"]
    for example in examples:
        values = read_reply(example["reply"], lambda value: _read(value, TABLE))
        assert (None if values is None else list(values["signals"])) == example["signals"]


@given(VALUES, VALUES, VALUES, VALUES)
def test_any_input_is_taken_or_refused(concepts: Any, relations: Any, signals: Any, covered: Any) -> None:  # noqa: ANN401
    data = {
        "answer": "x",
        "concepts": concepts,
        "relations": relations,
        "signals": signals,
        "covered": covered,
    }
    found, dropped = intake(data, setup_for(), lambda text, limit: text[:limit])
    assert found["answer"] == "x"
    assert all(isinstance(note, str) for note in dropped)
    checked(found["signals"], TABLE)


@given(st.text(max_size=200))
def test_any_text_is_an_answer_or_refused(text: str) -> None:
    for start in ("", "{", "answer: ", "concept: "):
        try:
            data = parsed(start + text)
            intake(data, setup_for(), lambda said, limit: said[:limit])
        except BadInput:
            continue


def test_lines_say_what_json_says() -> None:
    text = (
        "question: How fast?\nanswer: a minute\n  at most\nconcept: constraint | one minute | 1 | 0.9 | a minute\n"
        "relation: one minute | no wait\nsignal: knowledge_ceiling | terminal=false\ncovered: data, users\nwish: deeper"
    )
    assert parsed(text) == {
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
    assert read_memories("memory: n1\ntitle: T\nasked_as: a; b") == [
        {"concept": "n1", "title": "T", "asked_as": ["a", "b"]}
    ]
    with pytest.raises(BadInput, match="expected `memory: CONCEPT`"):
        read_memories("title: T")


def pack(name: str = SHIPPED[0]) -> dict[str, Any]:
    """A shipped pack."""
    with open(data_path("interview", "packs", name + ".json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def schema() -> Draft202012Validator:
    """The published schema of packs."""
    with open(data_path("interview", "pack.schema.json"), encoding="utf-8") as file:
        return Draft202012Validator(json.load(file))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_packs_fit_the_schema(name: str) -> None:
    assert list(schema().iter_errors(pack(name))) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ladder": ["magic"]}, "ladder: expected some of"),
        ({"terminal": []}, "terminal: expected some of"),
        ({"types": []}, "ladder: expected some of"),
        ({"magic": 1}, "expected only"),
        ({"id": "Not This"}, "id: expected lower-case"),
        ({"elements": [{"id": "a", "label": "", "aliases": []}]}, "elements.0.label: expected a text"),
        ({"elements": [{"id": "a", "label": "a", "aliases": []}] * 2}, "elements: expected each id once"),
        ({"types": [{"id": "a", "name": "A", "memory": "magic"}]}, "types.0.memory: expected one of"),
        ({"strategies": {"deepen": 1}}, "strategies.deepen: expected true or false"),
        (
            {"elements": [{"id": "a", "label": "a", "ask": "Ask for {it}.", "aliases": []}]},
            "elements.0.ask: expected no braces but {topic}",
        ),
        ({"elements": 3}, "elements: expected a list of at most 200"),
    ],
)
def test_a_wrong_pack_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_pack({**pack(), **change}, "my.json")
    assert str(error.value).startswith("my.json: ")
    assert words in str(error.value)


@given(VALUES)
def test_any_value_is_a_pack_or_refused(value: Any) -> None:  # noqa: ANN401
    for candidate in (
        value,
        {**pack(), "elements": value},
        {**pack(), "types": value},
        {**pack(), "multipliers": value},
    ):
        try:
            check_pack(candidate, "my.json")
        except ConfigError as error:
            assert "expected" in str(error)  # noqa: PT017
