"""Splitting the turns of a session into chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.sessions.session_digest import ShownTurn, split_turns


@given(st.lists(st.floats(1, 5000), min_size=1, max_size=200), st.floats(1000, 20_000))
def test_chunks_contain_every_turn_once_and_none_is_much_too_large(sizes: list[float], target: float) -> None:
    shown = [ShownTurn({"turn": at + 1}, size) for at, size in enumerate(sizes)]
    chunks = split_turns(shown, target * 8 / 7, target)
    assert [turn for chunk in chunks for turn in chunk.turns] == [entry.turn for entry in shown]
    assert all(chunk.turns for chunk in chunks)
    assert len(chunks) == 1 or max(chunk.tokens for chunk in chunks) <= target + max(sizes)
    assert sum(chunk.tokens for chunk in chunks) == pytest.approx(sum(sizes))
