"""Kappas against figures that were worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.agreement import agreement, cohen_kappa, jury_kappa, weighted_kappa


def test_cohens_own_form() -> None:
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == 0.4


@pytest.mark.parametrize("pairs", [[], [("a", "a")] * 3], ids=["nothing", "one class"])
def test_chance_alone_has_no_kappa(pairs: list[tuple[str, str]]) -> None:
    assert cohen_kappa(pairs) is None


def test_weighted_kappa() -> None:
    assert weighted_kappa([(0, 0), (1, 1), (2, 2), (3, 3)]) == 1.0
    assert weighted_kappa([(0, 3), (3, 0)]) == -1.0
    assert weighted_kappa([(1, 1)]) is None


def test_a_jury_is_compared_pair_by_pair() -> None:
    assert jury_kappa([(0, 0, 3), (3, 3, 0), (1, 1, None)]) == pytest.approx((1.0 - 1.0 - 1.0) / 3, abs=1e-4)
    assert jury_kappa([]) is None


def test_classes_are_told_apart() -> None:
    told = agreement([("fail", "fail"), ("fail", "pass"), ("pass", "pass"), ("pass", "pass")])
    assert (told["n"], told["equal"], told["kappa"]) == (4, 0.75, 0.5)
    assert told["classes"]["fail"] == {"human": 2, "ours": 1, "recall": 0.5, "precision": 1.0}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))))
def test_kappa_lies_within_its_bounds(pairs: list[tuple[str, str]]) -> None:
    kappa = cohen_kappa(pairs)
    assert kappa is None or -1 <= kappa <= 1
