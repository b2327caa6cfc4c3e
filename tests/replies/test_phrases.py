"""Phrase patterns: their syntax, matching, and the index by first words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.replies.phrases import PhraseIndex, match_ends, parse_pattern
from memory_plugin.replies.prose import read_prose

CLASSES = {"praise": frozenset(["great", "good"])}
MATCHED = [
    ("a b", "a b c", 2),
    ("a|x b", "x b", 2),
    ("@praise idea", "good idea", 2),
    ("@praise|odd idea", "odd idea", 2),
    ("a b? c", "a c", 2),
    ("a b? c", "a b c", 3),
    ("a *2 d", "a b c d", 4),
    ("a *2 d", "a d", 2),
    ("a *2", "a b c d", 3),
    ("a b", "a, b", 2),
]
UNMATCHED = [
    ("a b", "a c"),
    ("a b", "a. b"),
    ("a *1 d", "a b c d"),
    ("a b", "a `x` b"),
    ("a *2 d", "a b. d"),
    ("a b", "a"),
    ("a b", "a\n\nb"),
]


@pytest.mark.parametrize(("pattern", "text", "end"), MATCHED)
def test_a_match_ends_after(pattern: str, text: str, end: int) -> None:
    assert PhraseIndex([pattern], CLASSES).match(0, read_prose(text), 0) == end


@pytest.mark.parametrize(("pattern", "text"), UNMATCHED)
def test_no_match(pattern: str, text: str) -> None:
    assert PhraseIndex([pattern], CLASSES).match(0, read_prose(text), 0) == -1


@pytest.mark.parametrize("pattern", ["", "a? b", "*2 b", "@nothing", "a *9", "a *x", "a||b", "a|"])
def test_a_malformed_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"slot|class|gap|alternative"):
        parse_pattern(pattern, CLASSES)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.lists(st.sampled_from("abc"), max_size=8))
def test_plain_patterns_match_like_lists(pattern: list[str], words: list[str]) -> None:
    prose = read_prose(" ".join(words))
    end = PhraseIndex([" ".join(pattern)], {}).match(0, prose, 0) if words else -1
    assert (end == len(pattern)) == (words[: len(pattern)] == pattern)


PIECES = st.sampled_from(["a", "b", "c", "a|b", "b?", "c?", "a|c?", "*1", "*2"])


@given(st.lists(PIECES, max_size=5), st.lists(st.sampled_from("abc."), min_size=1, max_size=8))
def test_the_index_by_second_word_loses_no_match(pieces: list[str], words: list[str]) -> None:
    pattern, prose = " ".join(["a", *pieces]), read_prose("a " + " ".join(words))
    phrases = PhraseIndex(["c", pattern, "b", pattern], {})
    ends = match_ends(parse_pattern(pattern, {}), prose, 0)
    assert phrases.match(1, prose, 0) == max(ends, default=-1)
    assert phrases.starting_at(prose, 0) == ([1, 3] if ends else phrases.starting_at(prose, 0))


def test_patterns_are_found_by_their_first_two_words() -> None:
    phrases = PhraseIndex(["a b c", "a *1 c", "a b|c", "b a", "a"], {})
    assert [phrases.starting_at(read_prose(text), 0) for text in ("a b", "a c", "a d", "a", "d")] == [
        [0, 1, 2, 4],
        [1, 2, 4],
        [1, 4],
        [1, 4],
        [],
    ]


def test_the_longest_match_that_a_sign_follows_counts() -> None:
    prose = read_prose("a b, c d e.")
    assert [PhraseIndex(["a *4"], {}).match(0, prose, 0, signs) for signs in ("", ",", ".", "!")] == [
        5,
        2,
        5,
        -1,
    ]
