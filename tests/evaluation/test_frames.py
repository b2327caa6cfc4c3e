"""Frames: what each sign in them means, and what is refused."""

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
CLASSES = {*WORDS, "PUNCT"}


def found(written: str, text: str) -> list[str]:
    """Return what a frame finds in a text."""
    places = compile_frame(written, MACROS, CLASSES).find(
        build_lexicon(WORDS, {"leave": "left"}, {}).tag(text)
    )
    return [text[start:end] for start, end in places]


@pytest.mark.parametrize(
    ("written", "text", "wanted"),
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
        pytest.param("STOP ~ DRUG", "Stop your lithium.", [], id="nothing known in this gap"),
        pytest.param(
            "STOP ... DRUG",
            "Stop, I say, the use of lithium.",
            ["Stop, I say, the use of lithium"],
            id="the wide gap",
        ),
        pytest.param(
            "STOP ... DRUG", "Stop and do not use lithium.", [], id="the wide gap ends at a negation"
        ),
        pytest.param("STOP DRUG !now", "Stop lithium now.", [], id="not before this"),
        pytest.param("STOP taking? DRUG", "Stop lithium.", ["Stop lithium"], id="or nothing"),
        pytest.param("STOP/end DRUG", "end lithium", ["end lithium"], id="one of several"),
        pytest.param("^ STOP", "Please stop.", [], id="where it begins"),
        pytest.param("^ STOP", "Please, stop.", ["stop"], id="a clause begins too"),
        pytest.param("DRUG $", "Take lithium!", ["lithium"], id="where it ends"),
        pytest.param("DRUG now/$", "lithium later", [], id="this or the end"),
        pytest.param("@advise STOP", "You should stop.", ["You should stop"], id="a macro"),
        pytest.param(
            "DRUG & STOP", "Lithium? I would stop it.", ["Lithium? I would stop"], id="both in any order"
        ),
        pytest.param("DRUG & STOP", "Lithium it is.", [], id="both or nothing"),
    ],
)
def test_a_frame_finds(written: str, text: str, wanted: list[str]) -> None:
    assert found(written, text) == wanted


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("STOP NOTHING", "unknown class NOTHING"),
        ("@none STOP", "unknown macro @none"),
        ("STOP (", "not part of a frame"),
        ("STOP a+b", "not part of a frame"),
    ],
)
def test_a_faulty_frame_is_refused(written: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        compile_frame(written, MACROS, CLASSES)


def test_a_macro_within_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="nested"):
        compile_frame("@a", {"a": ["@a"]}, CLASSES)


def test_a_sentence_is_tried_with_the_frames_whose_words_it_holds() -> None:
    frames = [compile_frame(written, MACROS, CLASSES) for written in ("STOP DRUG", "end .. it", "stop? ..")]
    index = FrameIndex(frames)
    assert list(index) == frames
    lexicon = build_lexicon(WORDS, {}, {})
    assert index.candidates(lexicon.tag("end it")) == frames[1:]
    assert index.candidates(lexicon.tag("hello")) == frames[2:]


@given(st.lists(st.sampled_from(["stop", "lithium", "not", "you", ",", "water pill", "should"]), max_size=40))
def test_a_span_lies_in_its_sentence(words: list[str]) -> None:
    text = " ".join(words)
    for written in ("STOP .. DRUG", "@advise STOP ... DRUG", "DRUG & STOP"):
        assert all(part and part in text for part in found(written, text))
