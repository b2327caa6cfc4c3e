"""Private passages are removed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.text.tags import without_private
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
