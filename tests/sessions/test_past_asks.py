"""Asks about made-up projects are told with the right session, and other prompts of the same projects get nothing."""

from __future__ import annotations

import pytest

from benchmarks.past_train import Row, made_projects, rows_of


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Return the prompts of all made-up projects with what is told."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "CLAUDE_CONFIG_DIR"):
            patch.setenv(name, "/nonexistent")  # the benchmark changes them, and they are restored afterward
        return rows_of(made_projects())


def test_asks_are_told_with_the_right_session_first(rows: list[Row]) -> None:
    asks = [row for row in rows if row.asks]
    assert sum(row.is_right for row in asks) >= 0.75 * len(asks)
    assert sum(row.is_found for row in asks) >= 0.85 * len(asks)


def test_other_prompts_get_nothing(rows: list[Row]) -> None:
    others = [row for row in rows if not row.asks]
    told = [row.text for row in others if row.told]
    assert len(told) <= 0.03 * len(others), told
