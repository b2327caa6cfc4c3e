"""The lexicon: words, their forms and their classes. Frames: the meaning of each sign, and rejected frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.frames import Lexicon, compile_frame

WORDS = {
    "STOP": ["stop~v", "leave~v out"],
    "DRUG": ["lithium", "water pill~n"],
    "YOU": ["you"],
    "NOT": ["not"],
    "KNOWN": ["the", "your"],
    "BREAK": ["not", "of", "who"],
    "FILL": ["some of"],
}
MACROS = {"advise": ["^", "YOU should/can"]}
LEXICON = Lexicon(WORDS, {"leave": "left"}, {})


def matches(frame: str, text: str) -> list[str]:
    """Return a frame's matches in a text."""
    spans = compile_frame(frame, MACROS, LEXICON).find(LEXICON.tag(text))
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("frame", "text", "expected"),
    [
        pytest.param("STOP DRUG", "Stop lithium.", ["Stop lithium"], id="two classes"),
        pytest.param("STOP DRUG", "He stopped lithium.", [], id="the form counts"),
        pytest.param("STOP* DRUG", "He stopped lithium.", ["stopped lithium"], id="any form"),
        pytest.param("STOP DRUG", "Leave out water pills.", ["Leave out water pills"], id="phrases"),
        pytest.param("STOP .. DRUG", "Stop all your old lithium.", ["Stop all your old lithium"], id="a gap"),
        pytest.param("STOP .. DRUG", "Stop the man who sells lithium.", [], id="a gap ends at a break"),
        pytest.param("STOP .. DRUG", "Stop, lithium.", [], id="a gap ends at a comma"),
        pytest.param(
            "STOP .. DRUG",
            "Stop some of lithium.",
            ["Stop some of lithium"],
            id="a gap takes a filling phrase",
        ),
        pytest.param("STOP .. DRUG", "Stop a b c d e lithium.", [], id="a gap is short"),
        pytest.param("STOP ~ DRUG", "Stop your lithium.", [], id="no known word in this gap"),
        pytest.param(
            "STOP ... DRUG",
            "Stop, I say, the use of lithium.",
            ["Stop, I say, the use of lithium"],
            id="the wide gap",
        ),
        pytest.param(
            "STOP ... DRUG", "Stop and do not use lithium.", [], id="the wide gap ends at a negation"
        ),
        pytest.param("STOP DRUG !now", "Stop lithium now.", [], id="must not follow"),
        pytest.param("STOP taking? DRUG", "Stop lithium.", ["Stop lithium"], id="an optional word"),
        pytest.param("STOP/end DRUG", "end lithium", ["end lithium"], id="one of several"),
        pytest.param("^ STOP", "Please stop.", [], id="the beginning of the sentence"),
        pytest.param("^ STOP", "Please, stop.", ["stop"], id="the beginning of a clause"),
        pytest.param("DRUG $", "Take lithium!", ["lithium"], id="the end of the sentence"),
        pytest.param("DRUG now/$", "lithium later", [], id="a word or the end"),
        pytest.param("@advise STOP", "You should stop.", ["You should stop"], id="a macro"),
        pytest.param(
            "DRUG & STOP", "Lithium? I would stop it.", ["Lithium? I would stop"], id="both in any order"
        ),
        pytest.param("DRUG & STOP", "Lithium it is.", [], id="both or nothing"),
    ],
)
def test_a_frame_matches(frame: str, text: str, expected: list[str]) -> None:
    assert matches(frame, text) == expected


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ("STOP NOTHING", "unknown class NOTHING"),
        ("@none STOP", "unknown macro @none"),
        ("STOP (", "not part of a frame"),
        ("STOP a+b", "not part of a frame"),
    ],
)
def test_an_invalid_frame_is_rejected(frame: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_frame(frame, MACROS, LEXICON)


def test_a_macro_within_itself_is_rejected() -> None:
    with pytest.raises(ValueError, match="nested"):
        compile_frame("@a", {"a": ["@a"]}, LEXICON)


@given(st.lists(st.sampled_from(["stop", "lithium", "not", "you", ",", "water pill", "should"]), max_size=40))
def test_a_span_lies_in_its_sentence(words: list[str]) -> None:
    text = " ".join(words)
    for frame in ("STOP .. DRUG", "@advise STOP ... DRUG", "DRUG & STOP"):
        assert all(part and part in text for part in matches(frame, text))


FORMS = {
    "STOP": ["stop~v", "hold~v off on", "carry~v", "die~v", "skip~v", "{QUIT}"],
    "QUIT": ["cease~v"],
    "GIVE": ["give~v"],
    "KIN": ["baby~n", "box~n"],
    "DRUG": ["*oxetine", "!toxetine", "water pill~n"],
}


INFLECTED = Lexicon(FORMS, {"give": "gave given"}, {"dont": "do not", "'re": "are"})


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
def test_a_word_has_the_classes_of_its_forms(text: str, classes: set[str]) -> None:
    assert {name for name in INFLECTED.tag(text).classes if name.isupper() or "-" in name} == classes


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
def test_a_contraction_is_expanded(text: str, words: str) -> None:
    assert [part.split("|")[1] for part in INFLECTED.tag(text).text.split()] == words.split()


def test_a_phrase_has_its_length() -> None:
    assert INFLECTED.tag("a water pill").text == "|a| |water|DRUG:2| |pill| "


def test_spans_are_offsets_in_the_sentence() -> None:
    text = "Please don't stop."
    assert [text[start:end] for start, end in INFLECTED.tag(text).spans] == [
        "Please",
        "don't",
        "don't",
        "stop",
        ".",
    ]


@pytest.mark.parametrize(("entry", "error"), [("{A}", "A includes itself"), ("{B}", "unknown class B")])
def test_an_invalid_lexicon_is_rejected(entry: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Lexicon({"A": [entry]}, {}, {})


@given(st.text(max_size=300))
def test_any_text_can_be_tagged(text: str) -> None:
    tagged = Lexicon(FORMS, {}, {"dont": "do not"}).tag(text)
    assert tagged.text.count(" ") == len(tagged.spans)
    assert all(0 <= start < end <= len(text.lower()) for start, end in tagged.spans)
