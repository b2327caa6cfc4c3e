"""Patterns and their matches, kinds of messages, and filler phrases with the user's pack."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import load_data
from memory_plugin.kernel.settings import Settings, shipped
from memory_plugin.replies.gate import AMBIGUOUS
from memory_plugin.replies.prose import (
    INSIDE,
    LINE,
    POSITIONS,
    SENTENCE,
    Classes,
    PhraseIndex,
    Prose,
    parse_pattern,
    rule_problem,
    word_classes,
)
from memory_plugin.replies.score import QueryClassifier
from memory_plugin.replies.signals import USER_PACK, FillerRules, load_filler_rules, measure_reply
from tests.replies.builders import RULES, measure

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


def longest(pattern: str, text: str, classes: Classes = CLASSES) -> int:
    """Return the number of the word after a pattern's longest match at the first word; -1 for none."""
    index = PhraseIndex([(pattern, INSIDE, "")], classes)
    return max((end for _, ends in index.matches(Prose(text), 0, INSIDE) for end in ends), default=-1)


def test_a_match_ends_after() -> None:
    assert [(pattern, text, end) for pattern, text, end in MATCHED if longest(pattern, text) != end] == []


def test_no_match() -> None:
    assert [(pattern, text) for pattern, text in UNMATCHED if longest(pattern, text) != -1] == []


@pytest.mark.parametrize("pattern", ["", "a? b", "*2 b", "@nothing", "a *9", "a *x", "a||b", "a|"])
def test_a_malformed_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"slot|class|gap|alternative"):
        parse_pattern(pattern, CLASSES)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.lists(st.sampled_from("abc"), max_size=8))
def test_plain_patterns_match_like_lists(pattern: list[str], words: list[str]) -> None:
    end = longest(" ".join(pattern), " ".join(words), {}) if words else -1
    assert (end == len(pattern)) == (words[: len(pattern)] == pattern)


def test_patterns_are_found_by_their_first_word_and_what_stands_before_it() -> None:
    entries = [("a b", INSIDE, 1), ("@praise *1 c", SENTENCE, 2), ("b|a", LINE, 3)]
    index = PhraseIndex(entries, CLASSES)
    assert {word: [owner for *_, owner in found] for word, found in index.by_word.items()} == {
        "a": [1, 3], "b": [3], "great": [2], "good": [2],
    }  # fmt: skip
    prose = Prose("a b")
    assert list(index.matches(prose, 0, SENTENCE)) == [(1, {2})]
    assert list(index.matches(prose, 0, LINE)) == [(1, {2}), (3, {1})]


def test_the_longest_match_that_a_sign_follows_counts() -> None:
    text = "a b, c d e."
    own = {"id": "x", "category": "own", "position": "anywhere", "patterns": ["a *4"]}
    found = {}
    for signs in ("", ".", ",", "!"):
        rules = FillerRules({"rules": [{**own, "behind": signs}]})
        matches = measure_reply(text, rules).matches
        found[signs] = [text[one.start : one.end] for one in matches if one.rule.id == "x"]
    assert found == {"": ["a b, c d e"], ".": ["a b, c d e"], ",": ["a b"], "!": []}


TABLE = load_data("replies", "query_types")
CLASSIFIER = QueryClassifier()


def test_thresholds_and_corrections_use_the_same_kinds() -> None:
    kinds = {*(kind["id"] for kind in TABLE["types"]), AMBIGUOUS}
    assert Settings(shipped("defaults.json")).block("scoring.escalation.thresholds").keys() == {
        *kinds,
        "preamble",
    }
    assert {row.get("query_type", AMBIGUOUS) for row in load_data("replies", "drift")["corrections"]} <= kinds


def test_patterns_are_well_formed() -> None:
    for kind in [*TABLE["types"], TABLE["drafting"]]:
        for _, pattern in kind["patterns"]:
            parse_pattern(pattern, word_classes(TABLE))


def test_hits() -> None:
    cases = [(kind["id"], text) for kind in TABLE["types"] for text in kind["hit"]]
    assert [(kind, text) for kind, text in cases if CLASSIFIER.classify(text)[0] != kind] == []


def test_misses() -> None:
    cases = [(kind["id"], text) for kind in TABLE["types"] for text in kind["miss"]]
    assert [(kind, text) for kind, text in cases if CLASSIFIER.classify(text)[0] == kind] == []


def test_a_message_without_words_is_ambiguous() -> None:
    assert [
        text
        for text in ["", "1.1.5", "\u6c42\u89e3", "\x00", "```\n"]
        if CLASSIFIER.classify(text)[0] not in (AMBIGUOUS, "code")
    ] == []


def test_requests_for_drafts() -> None:
    assert all(CLASSIFIER.classify(text)[1] for text in TABLE["drafting"]["hit"])
    assert not any(CLASSIFIER.classify(text)[1] for text in TABLE["drafting"]["miss"])


FILLER = load_data("replies", "filler")
FILLER_CLASSES = word_classes(FILLER)
CATEGORIES = {"opener", "affect", "validation", "rapport", "offer", "lead_in"}
HITS = [(rule["id"], text) for rule in FILLER["rules"] for text in rule["hit"] if not rule.get("exempt")]
MISSES = [text for rule in FILLER["rules"] for text in rule["hit" if rule.get("exempt") else "miss"]]


def test_ids_are_unique() -> None:
    ids = [rule["id"] for rule in FILLER["rules"]]
    assert len(ids) == len(set(ids))


def test_rules_are_complete() -> None:
    for rule in FILLER["rules"]:
        assert rule["category"] in CATEGORIES, rule["id"]
        assert rule["position"] in POSITIONS, rule["id"]
        assert rule["reason"].endswith("."), rule["id"]
        assert rule["hit"], rule["id"]
        assert len(set(rule["patterns"])) == len(rule["patterns"]), rule["id"]
        for pattern in rule["patterns"]:
            parse_pattern(pattern, FILLER_CLASSES)


def test_filler_hits() -> None:
    assert [
        (rule, text) for rule, text in HITS if rule not in [match.rule.id for match in measure(text).matches]
    ] == []


def test_filler_misses() -> None:
    assert [text for text in MISSES if [match.rule.id for match in measure(text).matches] != []] == []


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {"id": "x", "category": "own", "position": "nowhere", "patterns": ["a b"]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": []},
        {"id": "x", "category": "own", "position": "sentence", "patterns": ["@nothing"]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": ["a? b"]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": ["*9 b"]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": [3]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": ["a||b"]},
    ],
    ids=json.dumps,
)
def test_an_invalid_user_rule_is_reported_and_ignored(entry: object, tmp_path: Any) -> None:  # noqa: ANN401
    assert rule_problem(entry, FILLER_CLASSES)
    (tmp_path / USER_PACK).write_text(json.dumps({"rules": [entry]}), encoding="utf-8")
    rules = load_filler_rules(str(tmp_path))
    assert str(rules.error).startswith("a rule of your own pack is left out: ")
    assert rules.phrases.by_word == RULES.phrases.by_word


def test_a_pack_adds_and_exempts(tmp_path: Any) -> None:  # noqa: ANN401
    own = {"id": "own-x", "category": "own", "position": "sentence", "patterns": ["circling back"]}
    (tmp_path / USER_PACK).write_text(
        json.dumps({"exempt": {"thanks": "mine"}, "rules": [own]}), encoding="utf-8"
    )
    rules = load_filler_rules(str(tmp_path))
    matches = measure_reply("Circling back. Thank you for asking.", rules).matches
    assert (rules.error, [match.rule.id for match in matches]) == (None, ["own-x"])


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"rules": 3, "exempt": []}']
)
def test_a_damaged_pack_leaves_the_rules_as_shipped(content: bytes, tmp_path: Any) -> None:  # noqa: ANN401
    (tmp_path / USER_PACK).write_bytes(content)
    rules = load_filler_rules(str(tmp_path))
    assert rules.phrases.by_word == RULES.phrases.by_word


def test_a_pack_that_is_a_link_is_not_read(tmp_path: Any) -> None:  # noqa: ANN401
    (tmp_path / "elsewhere").write_text('{"exempt": {"thanks": ""}}', encoding="utf-8")
    os.symlink(str(tmp_path / "elsewhere"), str(tmp_path / USER_PACK))
    rules = load_filler_rules(str(tmp_path))
    assert "symbolic link" in str(rules.error)
