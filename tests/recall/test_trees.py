"""The evaluation of boosted trees and logistic models."""

from __future__ import annotations

import pytest

from memory_plugin.recall.confidence import logistic, sigmoid
from memory_plugin.recall.query import Trees

STUMPS = Trees(["title", "held"], -1.0, [[0, 5000, -2500, 7500], [1, 20000, [0, 1000, 0, 5000], 10000], 1250])


@pytest.mark.parametrize(
    ("title", "held", "expected"),
    [
        pytest.param(0.0, 0.0, -1.125, id="left and left"),
        pytest.param(0.5, 2.0, -0.625, id="a threshold belongs to the left"),
        pytest.param(0.6, 0.0, 0.375, id="right, and right within left"),
        pytest.param(0.6, 3.0, 0.875, id="right and right"),
    ],
)
def test_each_tree_adds_one_leaf(title: float, held: float, expected: float) -> None:
    assert STUMPS.log_odds({"title": title, "held": held, "unused": 9.0}) == pytest.approx(expected)


def test_no_trees_give_the_intercept() -> None:
    assert Trees([], 0.5, []).log_odds({}) == 0.5


def test_the_logistic_function() -> None:
    weights = {"intercept": -1.0, "title": 2.0}
    assert logistic({"title": 0.5}, weights) == 0.5
    assert 0 < logistic({"title": -1e9}, weights) < 1e-20
    assert logistic({"title": 1e9}, weights) <= 1
    assert sigmoid(0.0) == 0.5
