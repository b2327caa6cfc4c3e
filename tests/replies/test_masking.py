"""Masking: code, quotations, tables and addresses are masked, and offsets stay the same."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.replies.masking import MASK, mask

MASKED = [
    pytest.param("```\ngreat!\n```", id="fenced"),
    pytest.param("~~~~\ngreat!\n~~~\ngreat!\n~~~~", id="a longer fence"),
    pytest.param("```python\ngreat!", id="a fence never closed"),
    pytest.param("  ```\n  great!\n  ```", id="indented fence"),
    pytest.param("say `great!` x", id="code in a line"),
    pytest.param("say ``a ` great!`` x", id="code with a backtick inside"),
    pytest.param("> great!", id="block quote"),
    pytest.param("| great! | x |", id="table"),
    pytest.param('it prints "great!" twice', id="straight quotes"),
    pytest.param("it prints \u201cgreat!\u201d twice", id="curly quotes"),
    pytest.param("it prints \u00abgreat!\u00bb twice", id="guillemets"),
    pytest.param("\u300cgreat!\u300d", id="corner brackets"),
    pytest.param("it prints 'great!' twice", id="single quotes"),
    pytest.param("see https://x.y/great!", id="URL"),
    pytest.param("see src/great!.py", id="path"),
    pytest.param(r"see C:\great!", id="Windows path"),
]
PROSE = [
    pytest.param("great! `x", id="a backtick alone"),
    pytest.param('a 6" pipe is great! 7" too', id="inches"),
    pytest.param("don't say that's great!", id="apostrophes"),
    pytest.param("the users' great! idea", id="possessive"),
    pytest.param("```\nx\n```\ngreat!", id="after a fence"),
    pytest.param("great! and/or x", id="two words with a slash"),
    pytest.param("``` a ` b ``` great!", id="backticks that open no fence"),
]


@pytest.mark.parametrize("text", MASKED)
def test_text_that_is_not_prose_is_masked(text: str) -> None:
    assert "great" not in mask(text)


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_not_masked(text: str) -> None:
    assert "great" in mask(text)


@given(st.text(alphabet="ab `~\"'>|\n\u201c\u201d/\\.", max_size=200))
def test_offsets_stay_the_same(text: str) -> None:
    masked = mask(text)
    assert len(masked) == len(text)
    assert all(new in (old, " ", MASK) for old, new in zip(text, masked))
    assert [at for at, c in enumerate(text) if c == "\n"] == [at for at, c in enumerate(masked) if c == "\n"]


@pytest.mark.parametrize("piece", ["`", "`` ` ``` ", '"', "'a ", "\u201c", "```\n", "a/b/c ", "> > ", "|"])
@pytest.mark.slow
def test_masking_takes_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        mask(text)
        return time.process_time() - start

    small, large = min(seconds(40_000) for _ in range(3)), seconds(400_000)
    assert large < 40 * small + 0.2
