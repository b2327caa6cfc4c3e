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
LEXICON = Lexicon(WORDS, {"leave": "leaves left leaving", "stop": "stops stopped stopping"}, {})


def matches(frame: str, text: str) -> list[str]:
    """Return a frame's matches in a text."""
    spans = compile_frame(frame, MACROS, LEXICON).find(LEXICON.tag(text))
    return [text[start:end] for start, end in spans]


def test_a_frame_matches() -> None:
    cases = [
        ("STOP DRUG", "Stop lithium.", ["Stop lithium"]),  # two classes
        ("STOP DRUG", "He stopped lithium.", []),  # the form counts
        ("STOP* DRUG", "He stopped lithium.", ["stopped lithium"]),  # any form
        ("STOP DRUG", "Leave out water pills.", ["Leave out water pills"]),  # phrases
        ("STOP .. DRUG", "Stop all your old lithium.", ["Stop all your old lithium"]),  # a gap
        ("STOP .. DRUG", "Stop the man who sells lithium.", []),  # a gap ends at a break
        ("STOP .. DRUG", "Stop, lithium.", []),  # a gap ends at a comma
        ("STOP .. DRUG", "Stop some of lithium.", ["Stop some of lithium"]),  # a gap takes a filling phrase
        ("STOP .. DRUG", "Stop a b c d e lithium.", []),  # a gap is short
        ("STOP ~ DRUG", "Stop your lithium.", []),  # no known word in this gap
        (
            "STOP ... DRUG",
            "Stop, I say, the use of lithium.",
            ["Stop, I say, the use of lithium"],
        ),  # the wide gap
        ("STOP ... DRUG", "Stop and do not use lithium.", []),  # the wide gap ends at a negation
        ("STOP DRUG !now", "Stop lithium now.", []),  # must not follow
        ("STOP taking? DRUG", "Stop lithium.", ["Stop lithium"]),  # an optional word
        ("STOP/end DRUG", "end lithium", ["end lithium"]),  # one of several
        ("^ STOP", "Please stop.", []),  # the beginning of the sentence
        ("^ STOP", "Please, stop.", ["stop"]),  # the beginning of a clause
        ("DRUG $", "Take lithium!", ["lithium"]),  # the end of the sentence
        ("DRUG now/$", "lithium later", []),  # a word or the end
        ("@advise STOP", "You should stop.", ["You should stop"]),  # a macro
        ("DRUG & STOP", "Lithium? I would stop it.", ["Lithium? I would stop"]),  # both in any order
        ("DRUG & STOP", "Lithium it is.", []),  # both or nothing
    ]
    assert [
        (frame, text, expected) for frame, text, expected in cases if matches(frame, text) != expected
    ] == []


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
    with pytest.raises(RecursionError):
        compile_frame("@a", {"a": ["@a"]}, LEXICON)


@given(st.lists(st.sampled_from(["stop", "lithium", "not", "you", ",", "water pill", "should"]), max_size=40))
def test_a_span_lies_in_its_sentence(words: list[str]) -> None:
    text = " ".join(words)
    for frame in ("STOP .. DRUG", "@advise STOP ... DRUG", "DRUG & STOP"):
        assert all(part and part in text for part in matches(frame, text))


FORMS = {
    "STOP": ["hold~v off on", "halt~v", "{QUIT}"],
    "QUIT": ["end~v"],
    "GIVE": ["give~v"],
    "KIN": ["son~n"],
    "DRUG": ["*oxetine", "!toxetine", "water pill~n"],
}


INFLECTED = Lexicon(
    FORMS, {"give": "gives gave given giving", "hold": "holds held holding"}, {"dont": "do not", "'re": "are"}
)


def test_a_word_has_the_classes_of_its_forms() -> None:
    cases = [
        ("halts", {"STOP-S"}),  # with an s
        ("halted", {"STOP-ED"}),  # with ed
        ("halting", {"STOP-ING"}),  # with ing
        ("ended", {"STOP-ED", "QUIT-ED"}),  # a class within a class
        ("gave", {"GIVE-ED"}),  # listed forms: a past
        ("given", {"GIVE-ED"}),  # another past
        ("giving", {"GIVE-ING"}),  # the last one
        ("gived", set()),  # instead of the others
        ("sons", {"KIN"}),  # a plural
        ("holding off on", {"STOP-ING"}),  # a phrase whose verb is inflected
        ("Fluoxetine", {"DRUG"}),  # an ending
        ("toxetine", set()),  # an exception to an ending
        ("water-pills", {"DRUG"}),  # a hyphen is a space
        ("25", {"NUMBER", "MANY"}),  # a number
        ("2.5", {"NUMBER"}),  # a fraction
    ]
    assert [
        (text, classes)
        for text, classes in cases
        if {name for name in INFLECTED.tag(text).classes if name.isupper() or "-" in name} != classes
    ] == []


def test_a_contraction_is_expanded() -> None:
    cases = [
        ("dont", "do not"),
        ("don't", "do not"),
        ("you're", "you are"),
        ("mother's", "mother 's"),
        ("5mg", "5 mg"),
        ("n't", "n't"),
    ]
    assert [
        (text, words)
        for text, words in cases
        if [part.split("|")[1] for part in INFLECTED.tag(text).text.split()] != words.split()
    ] == []


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
    tagged = INFLECTED.tag(text)
    assert tagged.text.count(" ") == len(tagged.spans)
    assert all(0 <= start < end <= len(text.lower()) for start, end in tagged.spans)
