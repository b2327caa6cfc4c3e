"""Phrase patterns: their syntax, matching, and the index by first words; the kinds of messages that they tell apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.data import load_data
from memory_plugin.kernel.settings.values import Settings, defaults
from memory_plugin.replies.phrases import (
    AMBIGUOUS,
    QUERY_TYPES,
    PhraseIndex,
    QueryClassifier,
    match_ends,
    parse_pattern,
    word_classes,
)
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


TABLE = load_data("replies", "query_types")
CLASSIFIER = QueryClassifier()


def test_thresholds_and_corrections_use_the_same_kinds() -> None:
    assert (*(kind["id"] for kind in TABLE["types"]), AMBIGUOUS) == QUERY_TYPES
    thresholds = Settings(defaults()).block("scoring.escalation.thresholds")
    assert thresholds.keys() == {*QUERY_TYPES, "preamble"}
    assert {row.get("query_type", AMBIGUOUS) for row in load_data("replies", "drift")["corrections"]} <= set(
        QUERY_TYPES
    )


def test_patterns_are_well_formed() -> None:
    for kind in [*TABLE["types"], TABLE["drafting"]]:
        for _, pattern in kind["patterns"]:
            parse_pattern(pattern, word_classes(TABLE))


@pytest.mark.parametrize(
    ("kind", "text"), [(kind["id"], text) for kind in TABLE["types"] for text in kind["hit"]]
)
def test_hits(kind: str, text: str) -> None:
    assert CLASSIFIER.classify(text)[0] == kind


@pytest.mark.parametrize(
    ("kind", "text"), [(kind["id"], text) for kind in TABLE["types"] for text in kind["miss"]]
)
def test_misses(kind: str, text: str) -> None:
    assert CLASSIFIER.classify(text)[0] != kind


@pytest.mark.parametrize("text", ["", "1.1.5", "\u6c42\u89e3", "\x00", "```\n"])
def test_a_message_without_words_is_ambiguous(text: str) -> None:
    assert CLASSIFIER.classify(text)[0] in (AMBIGUOUS, "code")


def test_requests_for_drafts() -> None:
    assert all(CLASSIFIER.classify(text)[1] for text in TABLE["drafting"]["hit"])
    assert not any(CLASSIFIER.classify(text)[1] for text in TABLE["drafting"]["miss"])
