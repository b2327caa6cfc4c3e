"""Private passages are removed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.text import cut_after, cut_before, without_private
from tests.rows import every

CASES = [
    ("a<private>b</private>c", "ac"),  # one part
    ("a<PRIVATE>b</Private>c", "ac"),  # case
    ("a<private>b</private>c<private>d</private>e", "ace"),  # two parts
    ("a<private>b<private>c</private>d</private>e", "ae"),  # nested
    ("a<private>b", "a"),  # never closed
    ("a<private", "a"),  # tag never closed
    ("a<private>b</private", "a"),  # closing tag never closed
    ("a< private why='x' >b</ private >c", "ac"),  # spaces and attributes
    ("a<private\n>b</private\t>c", "ac"),  # line break in the tag
    ("a<private/>b</private>c", "ac"),  # empty form opens too
    ("a</private>b", "ab"),  # closing tag alone
    ("a<privateer>b", "a<privateer>b"),  # another tag
    ("a < b and private > c", "a < b and private > c"),  # comparison
    ("a<private>b<i>c</i></private>d", "ad"),  # other tags inside
    ("\u0130\u0130<private>b</private>c", "\u0130\u0130c"),  # characters that grow in lower case
    ("", ""),  # nothing
]


def test_without_private() -> None:
    assert [(text, left) for text, left in CASES if without_private(text) != left] == []


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
