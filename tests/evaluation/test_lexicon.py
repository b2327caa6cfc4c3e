"""The lexicon: words, their forms and their classes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.lexicon import Lexicon, build_lexicon

WORDS = {
    "STOP": ["stop~v", "hold~v off on", "carry~v", "die~v", "skip~v", "{QUIT}"],
    "QUIT": ["cease~v"],
    "GIVE": ["give~v"],
    "KIN": ["baby~n", "box~n"],
    "DRUG": ["*oxetine", "!toxetine", "water pill~n"],
}


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    """Return a small lexicon."""
    return build_lexicon(WORDS, {"give": "gave given"}, {"dont": "do not", "'re": "are"})


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        pytest.param("stopped", {"STOP-ED"}, id="a doubled consonant"),
        pytest.param("skipping", {"STOP-ING"}, id="a doubled consonant in -ing"),
        pytest.param("carries", {"STOP-S"}, id="y to ies"),
        pytest.param("carried", {"STOP-ED"}, id="y to ied"),
        pytest.param("dying", {"STOP-ING"}, id="ie to ying"),
        pytest.param("ceased", {"STOP-ED", "QUIT-ED"}, id="a class within a class"),
        pytest.param("given", {"GIVE-ED"}, id="irregular"),
        pytest.param("giving", {"GIVE-ING"}, id="e goes before -ing"),
        pytest.param("babies", {"KIN"}, id="a plural in -ies"),
        pytest.param("boxes", {"KIN"}, id="a plural in -es"),
        pytest.param("holding off on", {"STOP-ING"}, id="a phrase whose verb is inflected"),
        pytest.param("Fluoxetine", {"DRUG"}, id="an ending"),
        pytest.param("toxetine", set(), id="an exception to an ending"),
        pytest.param("water-pills", {"DRUG"}, id="a hyphen is a space"),
        pytest.param("25", {"NUMBER", "MANY"}, id="a number"),
        pytest.param("2.5", {"NUMBER"}, id="a fraction"),
    ],
)
def test_a_word_has_the_classes_of_its_forms(lexicon: Lexicon, text: str, classes: set[str]) -> None:
    assert {name for name in lexicon.tag(text).classes if name.isupper() or "-" in name} == classes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dont", "do not"),
        ("don't", "do not"),
        ("you're", "you are"),
        ("mother's", "mother 's"),
        ("5mg", "5 mg"),
        ("n't", "n't"),
    ],
)
def test_a_contraction_is_expanded(lexicon: Lexicon, text: str, words: str) -> None:
    assert [part.split("|")[1] for part in lexicon.tag(text).text.split()] == words.split()


def test_a_phrase_has_its_length(lexicon: Lexicon) -> None:
    assert lexicon.tag("a water pill").text == "|a| |water|DRUG:2| |pill| "


def test_spans_are_offsets_in_the_sentence(lexicon: Lexicon) -> None:
    text = "Please don't stop."
    assert [text[start:end] for start, end in lexicon.tag(text).spans] == [
        "Please",
        "don't",
        "don't",
        "stop",
        ".",
    ]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param({"A": ["{A}"]}, ValueError, id="a class within itself"),
        pytest.param({"A": ["{B}"]}, KeyError, id="an unknown class"),
        pytest.param({"A": ["a b c d e f g h i"]}, ValueError, id="a phrase too long"),
    ],
)
def test_an_invalid_lexicon_is_rejected(words: dict[str, list[str]], error: type[Exception]) -> None:
    with pytest.raises(error):
        build_lexicon(words, {}, {})


@given(st.text(max_size=300))
def test_any_text_can_be_tagged(text: str) -> None:
    tagged = build_lexicon(WORDS, {}, {"dont": "do not"}).tag(text)
    assert tagged.text.count(" ") == len(tagged.spans)
    assert all(0 <= start < end <= len(text.lower()) for start, end in tagged.spans)
