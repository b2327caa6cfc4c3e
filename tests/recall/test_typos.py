"""Typing errors are corrected by one edit, not more."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Corpus, analyze, correct, is_one_edit, weigh_terms
from tests.recall.memories import memory

PAIRS = {
    "a letter more": ("billing", "billling", True),
    "a letter less": ("billing", "biling", True),
    "another letter": ("billing", "bolling", True),
    "two swapped": ("billing", "bililng", True),
    "the first two swapped": ("billing", "iblling", True),
    "the last one gone": ("billing", "billin", True),
    "the same": ("billing", "billing", False),
    "two edits": ("billing", "bolinng", False),
    "swapped far apart": ("billing", "gillinb", False),
    "another word": ("billing", "postgres", False),
}


@pytest.mark.parametrize(("left", "right", "expected"), PAIRS.values(), ids=PAIRS)
def test_is_one_edit(left: str, right: str, *, expected: bool) -> None:
    assert is_one_edit(left, right) is expected
    assert is_one_edit(right, left) is expected


@given(st.text("abc", max_size=6), st.integers(0, 5), st.sampled_from("abc"))
def test_any_letter_put_in_is_one_edit(word: str, at: int, letter: str) -> None:
    assert is_one_edit(word, word[:at] + letter + word[at:])


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("postgers", ""),
        ("migrat", ""),
        ("migart", "migrat"),
        ("imgrat", "migrat"),
        ("migrt", "migrat"),
        ("mgrt", ""),
        ("迁移迁移迁移", ""),
    ],
)
def test_the_store_s_own_word(tmp_path: Path, stem: str, expected: str) -> None:
    with closing(create_index(str(tmp_path / "i"))) as connection:
        put(connection, [memory("Migrate the store"), memory("held migratoins", injectable=False)])
        assert correct(connection, stem) == expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param("why did the migartion fail", "migrat", id="no word"),
        pytest.param("is the number plain", "number", id="an everyday word"),
    ],
)
def test_only_a_word_unknown_to_everyday_english_is_corrected(
    tmp_path: Path, prompt: str, expected: str
) -> None:
    with closing(create_index(str(tmp_path / "i"))) as connection:
        put(connection, [memory("Migration of the numeral plan")])
        terms = weigh_terms(analyze(prompt), Corpus(connection, only_injectable=True))
        assert expected in {term.stem for term in terms}
