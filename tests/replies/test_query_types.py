"""Kinds of messages: their examples, and the same kinds in thresholds and corrections."""

from __future__ import annotations

import pytest

from memory_plugin.kernel.data import load_data
from memory_plugin.kernel.settings.load import defaults
from memory_plugin.replies.phrases import parse_pattern
from memory_plugin.replies.query_types import AMBIGUOUS, QUERY_TYPES, load_query_classifier

TABLE = load_data("replies", "query_types")
CLASSIFIER = load_query_classifier()


def test_thresholds_and_corrections_use_the_same_kinds() -> None:
    assert (*(kind["id"] for kind in TABLE["types"]), AMBIGUOUS) == QUERY_TYPES
    kinds = {
        name.rpartition(".")[2] for name in defaults() if name.startswith("scoring.escalation.thresholds.")
    }
    assert kinds == set(QUERY_TYPES)
    assert {row.get("query_type", AMBIGUOUS) for row in load_data("replies", "drift")["corrections"]} <= set(
        QUERY_TYPES
    )


def test_patterns_are_well_formed() -> None:
    classes = {name: frozenset(words.split()) for name, words in TABLE["classes"].items()}
    for kind in [*TABLE["types"], TABLE["drafting"]]:
        for _, pattern in kind["patterns"]:
            parse_pattern(pattern, classes)


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
