"""Folding: readers' equal spellings become one, and every character still knows its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.replies.folding import MARK, fold


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        pytest.param("You\u2019RE", "you're", id="curly apostrophe"),
        pytest.param("e\u0301te\u0301 \u00e9t\u00e9", "ete ete", id="decomposed and composed"),
        pytest.param("Cer\u200btain\u00adly", "certainly", id="zero width and soft hyphen"),
        pytest.param("\uff27\uff52\uff45\uff41\uff54\uff01", "great!", id="full width"),
        pytest.param("\U0001d406\U0001d42b\U0001d41e\U0001d41a\U0001d42d", "great", id="mathematical bold"),
        pytest.param("\u274c no", MARK + " no", id="a red cross"),
        pytest.param("a\u2014b\u2013c", "a\u2014b\u2014c", id="dashes"),
        pytest.param("\u2705 ok \U0001f680", "  ok  ", id="symbols"),
        pytest.param("\u597d\u3002", "\u597d.", id="Chinese stays, its full stop is one"),
        pytest.param("a\r\nb", "a \nb", id="line ends"),
        pytest.param("\u0130x", "ix", id="a capital that grows in lower case"),
        pytest.param("\ud800x", " x", id="a lone surrogate"),
        pytest.param("a\x00\x01\x02b", "a   b", id="our own marks in a text"),
    ],
)
def test_one_spelling(text: str, folded: str) -> None:
    assert fold(text).text == folded


@given(st.text())
def test_every_stretch_leads_back_to_one_of_the_original(text: str) -> None:
    found = fold(text)
    assert len(found.text) <= len(text)
    last = -1
    for at in range(len(found.text)):
        start, end = found.span(at, at + 1)
        assert last < start < end <= len(text)
        assert end - start == 1
        last = start


@given(st.text(alphabet="ab \u200b\u0301\u00adC", max_size=60))
def test_what_is_kept_is_what_stands_there(text: str) -> None:
    found = fold(text)
    assert [text[found.origin(at)].lower() for at in range(len(found.text))] == list(found.text)
