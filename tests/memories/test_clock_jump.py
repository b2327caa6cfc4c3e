"""A clock that jumps ends no grace period."""

from __future__ import annotations

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import lifecycle
from memory_plugin.memories.lifecycle import is_clock_steady

DAY = 86_400
NOON = 1_800_000_000.0


@pytest.fixture
def seen(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> object:
    """Return a function that checks the clock at a time, in days after noon."""

    def at(days: float) -> bool:
        monkeypatch.setattr(lifecycle, "now", lambda: NOON + days * DAY)
        return is_clock_steady(paths)

    return at


@pytest.mark.parametrize(
    "days_and_answers",
    [
        [(0, True), (1, True), (8, True), (14.9, True)],  # used every week
        [
            (0, True),
            (400, False),
            (400.5, False),
            (401.1, True),
        ],  # a year ahead for more than a day, or a long holiday
        [(0, True), (400, False), (0.1, False), (0.9, False), (1.2, True)],  # ahead, then put right
        [(0, True), (-30, False), (-29.5, False), (-28.9, True)],  # back
    ],
)
def test_deletions_wait_a_day_after_a_clock_jump(
    seen: object, days_and_answers: list[tuple[float, bool]]
) -> None:
    assert callable(seen)
    assert [seen(days) for days, _ in days_and_answers] == [answer for _, answer in days_and_answers]


@pytest.mark.parametrize("content", ["", "{", '{"last": "soon", "jumped": true}', '{"last": 1e999}'])
def test_a_damaged_note_counts_as_none(paths: Paths, content: str) -> None:
    assert is_clock_steady(paths)
    with open(paths.state("clock.json"), "w", encoding="utf-8") as file:
        file.write(content)
    assert is_clock_steady(paths)
