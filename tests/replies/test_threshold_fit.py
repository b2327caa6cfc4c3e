"""Thresholds fitted to a ledger: 20 to 30% of replies escalate, including replies that were not used for the fit."""

from __future__ import annotations

import random

import pytest

from memory_plugin.kernel.data import load_data
from memory_plugin.kernel.stats import share
from memory_plugin.replies.escalation import EscalationThresholds
from memory_plugin.replies.query_types import QUERY_TYPES
from memory_plugin.replies.threshold_fit import (
    MeasuredReply,
    escalated_share,
    fit_thresholds,
    is_outside,
)
from tests.replies.builders import settings

BOUNDS = EscalationThresholds(settings(), load_data("replies", "gate"))


def replies(
    count: int, mean: int, padded: float = 0.05, preamble: float = 0.05, seed: int = 1
) -> list[MeasuredReply]:
    """Return random replies: densities around `mean` thousandths, a share with one phrase, a share with a long preamble."""
    draw = random.Random(seed)
    return [
        MeasuredReply(
            draw.choice(("code", "directive", "factual", "meta")),
            "m",
            int(draw.random() < padded),
            40 if draw.random() < preamble else 0,
            max(0, min(1000, round(draw.gauss(mean, 60)))),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("mean", "padded"),
    [
        pytest.param(450, 0.05, id="a terse user: too many near the thresholds", marks=pytest.mark.slow),
        pytest.param(700, 0.05, id="far above all thresholds: too few", marks=pytest.mark.slow),
        pytest.param(500, 0.18, id="many phrases"),
    ],
)
def test_a_fit_holds_on_the_other_half(mean: int, padded: float) -> None:
    tune, check = replies(500, mean, padded, seed=1), replies(500, mean, padded, seed=2)
    fit = fit_thresholds(tune, BOUNDS)
    after = escalated_share(check, BOUNDS.with_values(fit.thresholds, fit.preamble_min))
    assert after.value is not None
    assert 0.2 <= after.value <= 0.3
    assert fit.blocking_row == ""
    assert sum(fit.rows.values()) == 500


def test_thresholds_in_range_stay() -> None:
    fitting = replies(1000, 500)
    fit = fit_thresholds(fitting, BOUNDS)
    again = fit_thresholds(fitting, BOUNDS.with_values(fit.thresholds, fit.preamble_min))
    assert (again.thresholds, again.preamble_min) == (fit.thresholds, fit.preamble_min)
    assert again.before == again.after == fit.after


def test_the_blocking_row_is_named_if_the_range_cannot_be_reached() -> None:
    fit = fit_thresholds(replies(400, 600, padded=0.6), BOUNDS)
    assert fit.blocking_row == "padding_range"
    assert fit.after.value is not None
    assert fit.after.value > 0.3


def test_kinds_with_few_replies_move_along() -> None:
    tune = [reply._replace(kind="code") for reply in replies(400, 700)]
    fit = fit_thresholds(tune, BOUNDS)
    moved = {kind: fit.thresholds[kind] - BOUNDS.threshold(kind) for kind in QUERY_TYPES}
    assert set(moved.values()) == {moved["code"]}
    assert moved["code"] > 100


def test_no_replies_change_nothing() -> None:
    fit = fit_thresholds([], BOUNDS)
    assert (fit.thresholds, fit.before.value, fit.blocking_row) == (BOUNDS.thresholds, None, "")


@pytest.mark.parametrize(
    ("k", "n", "outside"),
    [(50, 200, False), (70, 200, True), (30, 200, True), (70, 199, False), (60, 200, False)],
)
def test_a_share_is_outside_only_with_enough_replies(k: int, n: int, outside: bool) -> None:
    assert is_outside(share(k, n)) is outside
