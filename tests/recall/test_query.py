"""The words of a prompt, and its intents in seven languages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import data_path
from memory_plugin.recall.query import (
    MAX_CHARACTERS,
    QUESTION,
    analyze,
    index_by_first_word,
    intents_in,
    padded_words,
)

with open(data_path("recall", "intents.json"), encoding="utf-8") as file:
    ENTRIES: dict[str, Any] = json.load(file)["entries"]
INTENTS = {
    name: [passage for passages in entry["value"].values() for passage in passages]
    for name, entry in ENTRIES.items()
}
PREPARED = index_by_first_word(INTENTS)
LANGUAGES = {"en", "de", "fr", "es", "pt", "zh", "ja"}


def test_the_previous_turn_adds_only_words_that_the_prompt_lacks() -> None:
    query = analyze("fix that test", "the billing test fails")
    assert query.words == ["fix", "that", "test"]
    assert query.previous_words == ["the", "billing", "fails"]


def test_a_long_prompt_is_its_head_and_tail() -> None:
    query = analyze("head " + "noise " * MAX_CHARACTERS + "tail")
    assert query.words[0] == "head"
    assert query.words[-1] == "tail"
    assert len(query.words) <= MAX_CHARACTERS // len("noise ") + 2


@given(st.text(alphabet=st.characters(codec=None)), st.text())
def test_any_text_makes_a_query(text: str, extra: str) -> None:
    query = analyze(text, extra)
    assert not set(query.words) & set(query.previous_words)


def test_hits() -> None:
    cases = [(name, text) for name, entry in ENTRIES.items() for text in entry["hit"]]
    assert [(name, text) for name, text in cases if name not in intents_in(text, PREPARED)] == []


def test_misses() -> None:
    cases = [(name, text) for name, entry in ENTRIES.items() for text in entry["miss"]]
    assert [(name, text) for name, text in cases if name in intents_in(text, PREPARED)] == []


@pytest.mark.parametrize("name", ENTRIES)
def test_every_language_has_passages_in_the_form_they_are_looked_up_in(name: str) -> None:
    assert set(ENTRIES[name]["value"]) == LANGUAGES
    assert len(ENTRIES[name]["reason"]) > 20
    for passage in INTENTS[name]:
        assert all(padded_words(part) == " %s " % part.strip() for part in passage.lstrip("^").split("*")), (
            passage
        )


def test_a_passage_matches_whole_words() -> None:
    assert intents_in("in our house", index_by_first_word({"we": ["our"]})) == {"we"}
    assert intents_in("four hours", index_by_first_word({"we": ["our"]})) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("which database do we use", True, id="a name between"),
        pytest.param("which do we use", True, id="nothing between"),
        pytest.param("which one. " + "x" * 50 + " do we", False, id="too far"),
        pytest.param("which " + "y" * 50 + " and which one do we use", True, id="a second beginning"),
        pytest.param("do we know which", False, id="the other way round"),
    ],
)
def test_a_gap(text: str, *, expected: bool) -> None:
    assert bool(intents_in(text, index_by_first_word({"asks": ["which * do we"]}))) is expected


def test_a_start() -> None:
    assert intents_in("Where is it", index_by_first_word({QUESTION: ["^where"]})) == {QUESTION}
    assert intents_in("look where it is", index_by_first_word({QUESTION: ["^where"]})) == set()
    assert intents_in("look where it is?", index_by_first_word({QUESTION: ["^where"]})) == {QUESTION}
