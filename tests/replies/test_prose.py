"""Prose: words with their places, and what each of them begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.replies.prose import BREAK, INSIDE, LINE, REPLY, SENTENCE, read_prose


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("one two", [REPLY, INSIDE]),
        ("one. two", [REPLY, SENTENCE]),
        ("one, two", [REPLY, INSIDE]),
        ("one.\ntwo", [REPLY, LINE]),
        ("one\ntwo", [REPLY, INSIDE]),
        ("one\n\ntwo", [REPLY, LINE]),
        ("one\n- two", [REPLY, LINE]),
        ("one\n# two", [REPLY, LINE]),
        ("**one!** two", [REPLY, SENTENCE]),
        ("- one\n- two", [LINE, LINE]),
        (" * **one** two", [LINE, INSIDE]),
        ("one:\ntwo", [REPLY, LINE]),
    ],
)
def test_levels(text: str, levels: list[int]) -> None:
    prose = read_prose(text)
    assert [prose.level(number) for number in range(len(prose))] == levels


def test_what_is_masked_is_one_word_that_breaks() -> None:
    assert read_prose("a `b c` d").words == ["a", BREAK, "d"]


@pytest.mark.parametrize(
    ("text", "sign"),
    [("one! x", "!"), ("**one**, x", ","), ("one", ""), ("one\nx", "\n"), ("one (x)", "("), ("one `x`", " ")],
)
def test_the_sign_behind(text: str, sign: str) -> None:
    assert read_prose(text).behind(0) == sign


@given(st.text(max_size=300))
def test_places_are_in_order_and_hold_the_words(text: str) -> None:
    prose = read_prose(text)
    assert len(prose.words) == len(prose.starts) == len(prose)
    last = 0
    for number, (word, start) in enumerate(zip(prose.words, prose.starts)):
        end = prose.end(number)
        assert INSIDE <= prose.level(number) <= REPLY
        assert last <= start < end <= len(prose.masked)
        assert prose.masked[start:end] == word
        last = end
        prose.folded.span(start, end)
