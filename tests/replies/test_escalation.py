"""The escalation gate: each row, exact bounds, and samples by hash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.data import load_data
from memory_plugin.replies.escalation import (
    EscalationThresholds,
    decide_escalation,
    is_sampled,
    is_within,
    thousandths,
)
from memory_plugin.replies.filler import FillerMatch
from memory_plugin.replies.reply_signals import ReplySignals
from tests.replies.builders import RULES, settings


def bounds(threshold: float = 0.6, **values: object) -> EscalationThresholds:
    """Return the gate's numbers with one threshold for every kind of message."""
    result = EscalationThresholds(settings(**values), load_data("replies", "gate"))
    result.thresholds = dict.fromkeys(result.thresholds, thousandths(threshold))
    return result


def signals(
    padding: int = 0, preamble: int = 0, density: float | None = 0.6, unscored: str = ""
) -> ReplySignals:
    """Return signals with these measures."""
    result = ReplySignals()
    result.matches = [FillerMatch(RULES.rule_of[0], 0, 1, 0, 1)] * padding
    result.preamble, result.density, result.unscored, result.words = preamble, density, unscored, 100
    return result


ROWS = [
    pytest.param({"density": None, "unscored": "too_short"}, "too_short", False, id="too short"),
    pytest.param(
        {"density": None, "unscored": "code_only", "padding": 2}, "code_only", False, id="code only"
    ),
    pytest.param({"density": 0.65}, "clean", False, id="clean"),
    pytest.param({"density": 0.649}, "clean_enough", False, id="just not clean"),
    pytest.param({"padding": 3, "density": 0.7}, "clear_drift", False, id="three phrases"),
    pytest.param({"padding": 1, "density": 0.9}, "padding_range", True, id="one phrase"),
    pytest.param({"padding": 2, "density": 0.1}, "padding_range", True, id="two phrases"),
    pytest.param({"density": 0.57}, "borderline_density", True, id="just within the band"),
    pytest.param({"density": 0.63}, "borderline_density", True, id="just within the band from above"),
    pytest.param({"density": 0.8, "preamble": 22}, "mixed_signal", True, id="a long preamble"),
    pytest.param({"density": 0.8, "preamble": 21}, "clean", False, id="a shorter preamble"),
    pytest.param({"density": 0.569}, "low_density", False, id="below the band"),
    pytest.param({"density": 0.2, "preamble": 30}, "mixed_signal", True, id="preamble before density"),
]


@pytest.mark.parametrize(("fields", "row", "escalate"), ROWS)
def test_rows(fields: dict[str, Any], row: str, escalate: bool) -> None:
    decision = decide_escalation(signals(**fields), "code", bounds())
    assert (decision.row, decision.escalate) == (row, escalate)


@pytest.mark.parametrize(
    ("values", "fields", "row"),
    [
        ({"escalation__padding_range": [2, 4]}, {"padding": 1, "density": 0.8}, "clean_enough"),
        ({"escalation__padding_range": [2, 4]}, {"padding": 4, "density": 0.8}, "padding_range"),
        ({"escalation__padding_range": [2, 4]}, {"padding": 5, "density": 0.8}, "clear_drift"),
        ({"escalation__padding_range": [4, 2]}, {"padding": 3}, "clear_drift"),
        ({"escalation__density_margin": 0.1}, {"density": 0.7}, "clean"),
        ({"escalation__density_margin": 0.1}, {"density": 0.5}, "borderline_density"),
        ({"escalation__mixed_signal": False}, {"density": 0.7, "preamble": 40}, "clean_enough"),
        ({"escalation__preamble_min": 1}, {"density": 0.7, "preamble": 1}, "mixed_signal"),
    ],
)
def test_settings_change_the_rows(values: dict[str, Any], fields: dict[str, Any], row: str) -> None:
    assert decide_escalation(signals(**fields), "code", bounds(**values)).row == row


def test_bounds_are_exact_where_binary_fractions_are_not() -> None:
    assert abs(0.570 - 0.600) > 0.03
    assert is_within(thousandths(0.570), thousandths(0.600), thousandths(0.03))


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 200))
def test_within_is_exact(density: int, threshold: int, margin: int) -> None:
    assert is_within(
        thousandths(density / 1000), thousandths(threshold / 1000), thousandths(margin / 1000)
    ) == (abs(density - threshold) <= margin)


@given(st.text(), st.floats(0, 1))
def test_a_sample_is_stable(identity: str, share: float) -> None:
    assert is_sampled("audit", identity, share) == is_sampled("audit", identity, share)
    assert not is_sampled("audit", identity, 0.0)
    assert is_sampled("audit", identity, 1.0)


def test_samples_have_about_their_share_and_are_independent() -> None:
    ids = [str(number) for number in range(4000)]
    audited, held_out = (
        {name for name in ids if is_sampled(kind, name, 0.2)} for kind in ("audit", "holdout")
    )
    assert 0.17 < len(audited) / len(ids) < 0.23
    assert 0.02 < len(audited & held_out) / len(ids) < 0.06
