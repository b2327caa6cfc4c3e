"""Private passages are removed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.text import cut_after, cut_before, without_private
from tests.rows import every

CASES = [
    pytest.param("a<private>b</private>c", "ac", id="one part"),
    pytest.param("a<PRIVATE>b</Private>c", "ac", id="case"),
    pytest.param("a<private>b</private>c<private>d</private>e", "ace", id="two parts"),
    pytest.param("a<private>b<private>c</private>d</private>e", "ae", id="nested"),
    pytest.param("a<private>b", "a", id="never closed"),
    pytest.param("a<private", "a", id="tag never closed"),
    pytest.param("a<private>b</private", "a", id="closing tag never closed"),
    pytest.param("a< private why='x' >b</ private >c", "ac", id="spaces and attributes"),
    pytest.param("a<private\n>b</private\t>c", "ac", id="line break in the tag"),
    pytest.param("a<private/>b</private>c", "ac", id="empty form opens too"),
    pytest.param("a</private>b", "ab", id="closing tag alone"),
    pytest.param("a<privateer>b", "a<privateer>b", id="another tag"),
    pytest.param("a < b and private > c", "a < b and private > c", id="comparison"),
    pytest.param("a<private>b<i>c</i></private>d", "ad", id="other tags inside"),
    pytest.param(
        "\u0130\u0130<private>b</private>c", "\u0130\u0130c", id="characters that grow in lower case"
    ),
    pytest.param("", "", id="nothing"),
]


@pytest.mark.parametrize(("text", "left"), CASES)
def test_without_private(text: str, left: str) -> None:
    assert without_private(text) == left


@given(st.lists(st.sampled_from(["<private>", "</private>", "< PRIVATE x>", "hidden", "<b>", " "])))
def test_nothing_inside_is_left_and_twice_changes_nothing(parts: list[str]) -> None:
    depth, kept = 0, ""
    for part in parts:
        name = part.lower().replace(" ", "")
        if name.startswith("<private"):
            depth += 1
        elif name.startswith("</private"):
            depth = max(0, depth - 1)
        elif depth == 0:
            kept += part
    left = without_private("".join(parts))
    assert left == kept
    assert without_private(left) == left


@pytest.mark.parametrize(
    "piece", every(6, ["<private", "<private>", "</private>", "<", "< ", "</ ", "<private></private>"])
)
def test_time_grows_with_the_text(piece: str) -> None:
    start = time.process_time()
    without_private(piece * 100_000)
    assert time.process_time() - start < 3


PEM_BEGIN, PEM_END = "-----BEGIN RSA PRIV" + "ATE KEY-----\n", "-----END RSA PRIV" + "ATE KEY-----"
KEY = PEM_BEGIN + "Zz09qRst\n" * 20 + PEM_END


@pytest.mark.parametrize(
    ("text", "at", "beginning", "end"),
    [
        pytest.param("one two three", 5, "one ", " three", id="a word"),
        pytest.param("one two", 50, "one two", "", id="a short text"),
        pytest.param("\u597d" * 9, 4, "\u597d" * 4, "\u597d" * 5, id="no blanks"),
        pytest.param("a " + KEY + " b", 60, "a ", " RSA PRIV" + "ATE KEY----- b", id="a key"),
        pytest.param(
            "a " + KEY + " b", 8, "a ", " RSA PRIV" + "ATE KEY----- b", id="the first line of a key"
        ),
        pytest.param("a " + PEM_BEGIN + "Zz09qRst\n" * 20, 60, "a ", "", id="a key without an end"),
        pytest.param(KEY + " a b", len(KEY) + 1, KEY + " ", " b", id="after a key"),
        pytest.param(
            "a Private-Lines: 2\nZz09 Zz09\nZz09 Zz09\nPrivate-MAC: 1f", 22, "a ", " 1f", id="a PuTTY key"
        ),
        pytest.param("-----BEGIN CERTIFICATE-----\nZz09 Zz09", 33, None, "", id="no private key"),
    ],
)
def test_a_text_is_cut_in_no_word_and_no_key(text: str, at: int, beginning: str | None, end: str) -> None:
    assert text[: cut_before(text, at)] == (
        text[: text.rindex(" ", 0, at) + 1] if beginning is None else beginning
    )
    if beginning is not None:
        assert text[cut_after(text, at) :] == end
