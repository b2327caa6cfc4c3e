"""Kinds of messages."""

from __future__ import annotations

import pytest

from memory_plugin.replies.data import load_table
from memory_plugin.replies.phrases import parse
from memory_plugin.replies.query_type import AMBIGUOUS, QUERY_TYPES, load_query_types

TABLE = load_table("query_types")
KINDS = load_query_types()


def test_the_kinds_are_those_that_thresholds_and_corrections_know() -> None:
    assert (*(kind["id"] for kind in TABLE["types"]), AMBIGUOUS) == QUERY_TYPES
    assert set(load_table("gate")["thresholds"]) == set(QUERY_TYPES)
    assert {row.get("query_type", AMBIGUOUS) for row in load_table("drift")["corrections"]} <= set(
        QUERY_TYPES
    )


def test_patterns_are_well_formed() -> None:
    classes = {name: frozenset(words.split()) for name, words in TABLE["classes"].items()}
    for kind in [*TABLE["types"], TABLE["drafting"]]:
        for _, pattern in kind["patterns"]:
            parse(pattern, classes)


@pytest.mark.parametrize(
    ("kind", "text"), [(kind["id"], text) for kind in TABLE["types"] for text in kind["hit"]]
)
def test_hits(kind: str, text: str) -> None:
    assert KINDS.classify(text)[0] == kind


@pytest.mark.parametrize(
    ("kind", "text"), [(kind["id"], text) for kind in TABLE["types"] for text in kind["miss"]]
)
def test_misses(kind: str, text: str) -> None:
    assert KINDS.classify(text)[0] != kind


@pytest.mark.parametrize("text", ["", "1.1.5", "\u6c42\u89e3", "\x00", "```\n"])
def test_what_says_nothing_is_ambiguous(text: str) -> None:
    assert KINDS.classify(text)[0] in (AMBIGUOUS, "code")


def test_drafts_are_seen() -> None:
    assert all(KINDS.classify(text)[1] for text in TABLE["drafting"]["hit"])
    assert not any(KINDS.classify(text)[1] for text in TABLE["drafting"]["miss"])
