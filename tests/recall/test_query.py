"""What a prompt asks for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.recall.query import MAX_CHARACTERS, analyze


def test_the_turn_before_adds_only_what_the_prompt_lacks() -> None:
    query = analyze("fix that test", "the billing test fails")
    assert query.words == ["fix", "that", "test"]
    assert query.extra == ["the", "billing", "fails"]


def test_a_long_prompt_is_its_head_and_tail() -> None:
    query = analyze("head " + "noise " * MAX_CHARACTERS + "tail")
    assert query.words[0] == "head"
    assert query.words[-1] == "tail"
    assert len(query.words) <= MAX_CHARACTERS // len("noise ") + 2


@given(st.text(alphabet=st.characters(codec=None)), st.text())
def test_any_text_makes_a_query(text: str, extra: str) -> None:
    query = analyze(text, extra)
    assert not set(query.words) & set(query.extra)
