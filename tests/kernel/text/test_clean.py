"""Untrusted text is sanitized for a prompt."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.text.clean import block, escape, plain

HOSTILE = st.text(
    alphabet="a \n\t\r\u2028\u200b\u200d\u202e\ufe0f\u0301\u0591\u05b0\U000e0041\U0001f468\ud800\x1b\u00e9e\u0344"
)

PLAIN = [
    pytest.param("two\nlines\r\nand\u2028more", "two lines and more", id="line breaks"),
    pytest.param("  much \t space\u00a0\u3000here ", "much space here", id="spaces"),
    pytest.param("zero\u200bwidth\ufeff\u2060", "zerowidth", id="zero width"),
    pytest.param("left\u202eright\u2066x\u200f", "leftrightx", id="directions"),
    pytest.param("tag\U000e0041\U000e0042s", "tags", id="tag characters"),
    pytest.param("bell\x07 esc\x1b[31m nul\0 c1\x9b", "bell esc[31m nul c1", id="controls"),
    pytest.param("lone \ud800 half", "lone \ufffd half", id="lone surrogate"),
    pytest.param("e\u0301", "\u00e9", id="composed"),
    pytest.param("a" + "\u0301" * 50, "\u00e1" + "\u0301" * 3, id="too many marks"),
    pytest.param("a\ufe0f\ufe0fb", "ab", id="selectors after letters"),
    pytest.param("\u2764\ufe0f\ufe0f\ufe0f", "\u2764\ufe0f", id="one selector after a symbol"),
    pytest.param("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469", id="joined emoji stay"),
    pytest.param(
        "\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648", id="Persian joiner stays"
    ),
    pytest.param("pass\u200dword", "password", id="joiner in a Latin word"),
    pytest.param("so\u00adft", "soft", id="soft hyphen"),
    pytest.param("\u3164\u115f", "", id="fillers"),
]


@pytest.mark.parametrize(("text", "clean"), PLAIN)
def test_plain(text: str, clean: str) -> None:
    assert plain(text, 100) == clean


CUT = [
    pytest.param("abcdef", 6, "abcdef", id="fits"),
    pytest.param("abcdef", 5, "abcd\u2026", id="cut"),
    pytest.param("abc def", 5, "abc\u2026", id="no space before the ellipsis"),
    pytest.param("aq\u0301bcd", 3, "a\u2026", id="a letter keeps its mark"),
    pytest.param("\U0001f468\u200d\U0001f469x", 3, "\u2026", id="joined emoji are one"),
    pytest.param("abc", 1, "\u2026", id="room for the ellipsis only"),
]


@pytest.mark.parametrize(("text", "limit", "cut"), CUT)
def test_what_is_cut(text: str, limit: int, cut: str) -> None:
    assert plain(text, limit) == cut


def test_block_keeps_lines_and_indentation() -> None:
    assert block("if x:\r\n\treturn 1  \n    y\n", 100) == "if x:\n\treturn 1\n    y"


def test_block_keeps_one_blank_line() -> None:
    assert block("\n\na\n\n \n\nb\n\n", 100) == "a\n\nb"


def test_block_is_cut_as_a_whole() -> None:
    assert block("one\ntwo\nthree", 8) == "one\ntwo\u2026"


@given(HOSTILE, st.integers(1, 40))
def test_plain_is_one_bounded_line_and_stable(text: str, limit: int) -> None:
    clean = plain(text, limit)
    assert len(clean) <= limit
    assert clean == " ".join(clean.split())
    assert plain(clean, limit) == clean


@given(st.text(), st.integers(1, 200))
def test_nothing_invisible_is_left(text: str, limit: int) -> None:
    for clean in (plain(text, limit), block(text, limit)):
        assert not any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t" for c in clean)
        assert clean.encode("utf-8").decode("utf-8") == clean


@pytest.mark.parametrize(
    "piece", ["\u0301\u0316", "\u0591\u05b0", "\u0651\u064b", "\u0e38\u0e48", "\u200d", "\u2028"]
)
def test_runs_of_marks_take_no_quadratic_time(piece: str) -> None:
    start = time.process_time()
    plain(piece * 200_000, 100)
    assert time.process_time() - start < 3


ESCAPED = [
    pytest.param('<a b="c">', "&lt;a b=&quot;c&quot;&gt;", id="tag and attribute"),
    pytest.param("it's & more", "it&#39;s &amp; more", id="apostrophe and ampersand"),
    pytest.param("&lt;", "&amp;lt;", id="an entity is text"),
    pytest.param("a -> b", "a \u2192 b", id="separator"),
    pytest.param("-> b", "\u2192 b", id="separator at the beginning"),
    pytest.param("a->b", "a-&gt;b", id="arrow in code"),
]


@pytest.mark.parametrize(("text", "safe"), ESCAPED)
def test_escape(text: str, safe: str) -> None:
    assert escape(text) == safe


@given(st.text(alphabet="<>&\"'-> a"))
def test_nothing_escaped_can_open_a_tag_or_close_a_quote(text: str) -> None:
    safe = escape(text)
    assert not set(safe) & set("<>\"'")
    assert " -> " not in safe
