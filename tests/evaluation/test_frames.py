"""Frames: the meaning of each sign, and rejected frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.frames import FrameIndex, compile_frame
from memory_plugin.evaluation.lexicon import build_lexicon

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
LEXICON = build_lexicon(WORDS, {"leave": "left"}, {})
LENGTHS = LEXICON.phrase_lengths(WORDS)


def matches(frame: str, text: str) -> list[str]:
    """Return a frame's matches in a text."""
    spans = compile_frame(frame, MACROS, LENGTHS).find(LEXICON.tag(text))
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
        compile_frame(frame, MACROS, LENGTHS)


def test_a_macro_within_itself_is_rejected() -> None:
    with pytest.raises(ValueError, match="nested"):
        compile_frame("@a", {"a": ["@a"]}, LENGTHS)


def test_only_frames_whose_words_occur_are_tried() -> None:
    frames = [compile_frame(source, MACROS, LENGTHS) for source in ("STOP DRUG", "end .. it", "stop? ..")]
    index = FrameIndex(frames)
    assert list(index) == frames
    assert index.candidates(LEXICON.tag("end it")) == frames[1:]
    assert index.candidates(LEXICON.tag("hello")) == frames[2:]


@given(st.lists(st.sampled_from(["stop", "lithium", "not", "you", ",", "water pill", "should"]), max_size=40))
def test_a_span_lies_in_its_sentence(words: list[str]) -> None:
    text = " ".join(words)
    for frame in ("STOP .. DRUG", "@advise STOP ... DRUG", "DRUG & STOP"):
        assert all(part and part in text for part in matches(frame, text))
