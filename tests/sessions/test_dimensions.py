"""The overall score: its formula, missing dimensions, and bands."""

from __future__ import annotations

import pytest

from memory_plugin.sessions.dimensions import dimensions, improvement_band, overall_score
from tests.sessions.grades import LEVELS, NUMBERS


def test_the_documented_formula() -> None:
    """Worked example of `session-scoring.md`: categorical / 3, then the weighted sum."""
    scores = {**LEVELS, **NUMBERS}
    expected = (2 / 3) * 0.30 + 0.8 * 0.20 + 0.6 * 0.20 + 0.4 * 0.15 + (1 / 3) * 0.10 + 1.0 * 0.05
    assert overall_score(scores) == round(expected, 4) == 0.6233
    assert overall_score(dict.fromkeys(LEVELS, 3) | dict.fromkeys(NUMBERS, 1)) == 1.0
    assert overall_score(dict.fromkeys(LEVELS, 0) | dict.fromkeys(NUMBERS, 0)) == 0.0


def test_missing_is_not_zero() -> None:
    scores = {name: score for name, score in {**LEVELS, **NUMBERS}.items() if name != "goal_achievement"}
    assert overall_score(scores) is None
    assert overall_score({}) is None


def test_weights_sum_to_one() -> None:
    assert round(sum(dimension.weight for dimension in dimensions().values()), 12) == 1


@pytest.mark.parametrize(
    ("score", "band"),
    [
        (0.0, "critical"),
        (0.39, "critical"),
        (0.4, "significant"),
        (0.6, "moderate"),
        (0.75, "minor"),
        (0.85, "none"),
        (1.0, "none"),
    ],
)
def test_bands(score: float, band: str) -> None:
    assert improvement_band(score) == band
