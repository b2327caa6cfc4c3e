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
    ("two\nlines\r\nand\u2028more", "two lines and more"),  # line breaks
    ("  much \t space\u00a0\u3000here ", "much space here"),  # spaces
    ("zero\u200bwidth\ufeff\u2060", "zerowidth"),  # zero width
    ("left\u202eright\u2066x\u200f", "leftrightx"),  # directions
    ("tag\U000e0041\U000e0042s", "tags"),  # tag characters
    ("bell\x07 esc\x1b[31m nul\0 c1\x9b", "bell esc[31m nul c1"),  # controls
    ("lone \ud800 half", "lone \ufffd half"),  # lone surrogate
    ("e\u0301", "\u00e9"),  # composed
    ("a" + "\u0301" * 50, "\u00e1" + "\u0301" * 3),  # too many marks
    ("a\ufe0f\ufe0fb", "ab"),  # selectors after letters
    ("\u2764\ufe0f\ufe0f\ufe0f", "\u2764\ufe0f"),  # one selector after a symbol
    ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),  # joined emoji stay
    ("\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),  # Persian joiner stays
    ("pass\u200dword", "password"),  # joiner in a Latin word
    ("so\u00adft", "soft"),  # soft hyphen
    ("\u3164\u115f", ""),  # fillers
]


def test_plain() -> None:
    assert [(text, clean) for text, clean in PLAIN if plain(text, 100) != clean] == []


CUT = [
    ("abcdef", 6, "abcdef"),  # fits
    ("abcdef", 5, "abcd\u2026"),  # cut
    ("abc def", 5, "abc\u2026"),  # no space before the ellipsis
    ("aq\u0301bcd", 3, "a\u2026"),  # a letter keeps its mark
    ("\U0001f468\u200d\U0001f469x", 3, "\u2026"),  # joined emoji are one
    ("abc", 1, "\u2026"),  # room for the ellipsis only
]


def test_what_is_cut() -> None:
    assert [(text, limit, cut) for text, limit, cut in CUT if plain(text, limit) != cut] == []


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
    ('<a b="c">', "&lt;a b=&quot;c&quot;&gt;"),  # tag and attribute
    ("it's & more", "it&#39;s &amp; more"),  # apostrophe and ampersand
    ("&lt;", "&amp;lt;"),  # an entity is text
    ("a -> b", "a \u2192 b"),  # separator
    ("-> b", "\u2192 b"),  # separator at the beginning
    ("a->b", "a-&gt;b"),  # arrow in code
]


def test_escape() -> None:
    assert [(text, safe) for text, safe in ESCAPED if escape(text) != safe] == []


@given(st.text(alphabet="<>&\"'-> a"))
def test_nothing_escaped_can_open_a_tag_or_close_a_quote(text: str) -> None:
    safe = escape(text)
    assert not set(safe) & set("<>\"'")
    assert " -> " not in safe
