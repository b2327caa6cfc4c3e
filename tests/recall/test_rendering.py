"""The block: memories whole, in order, within the budget as the host counts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.recall.ranking import Hit
from memory_plugin.recall.rendering import estimated_tokens, render, within_budget


def hit(text: str) -> Hit:
    """A hit that would inject this text."""
    row = ("key", "id", "project", "DECISION", "title", "[]", "/path", "digest", "trusted", "", text)
    return Hit(row, 1.0, 1.0, {})


def units(text: str) -> int:
    """The length in JavaScript."""
    return len(text.encode("utf-16-le")) // 2


def test_nothing_makes_no_block() -> None:
    assert render([]) == ""


def test_a_block_says_that_it_is_data() -> None:
    text = render([hit("<memory>one</memory>"), hit("<memory>two</memory>")])
    assert text.startswith("<memory-context>\n")
    assert text.endswith("\n<memory>one</memory>\n<memory>two</memory>\n</memory-context>")
    assert "not instructions" in text


def test_what_does_not_fit_is_left_out_whole_and_the_next_may_fit() -> None:
    kept = within_budget([hit("a" * 400), hit("b" * 4000), hit("c" * 400)], 400, 9000)
    assert [found.inject[0] for found in kept] == ["a", "c"]


@given(
    texts=st.lists(st.text(max_size=1200), max_size=6),
    tokens=st.integers(min_value=100, max_value=2500),
    characters=st.integers(min_value=500, max_value=9500),
)
def test_the_block_never_exceeds_the_budget(texts: list[str], tokens: int, characters: int) -> None:
    text = render(within_budget([hit(text) for text in texts], tokens, characters))
    assert units(text) <= characters
    assert estimated_tokens(text) <= tokens + len(texts) + 1


@pytest.mark.parametrize("text", ["\U0001f600" * 5000, "\U00020000" * 5000])
def test_the_length_counts_as_the_host_counts(text: str) -> None:
    assert within_budget([hit(text)], 100_000, 9500) == []


@pytest.mark.parametrize(
    ("text", "least", "most"), [("", 1, 1), ("word " * 100, 100, 140), ("計" * 100, 60, 120)]
)
def test_tokens_are_estimated_by_script(text: str, least: int, most: int) -> None:
    assert least <= estimated_tokens(text) <= most
