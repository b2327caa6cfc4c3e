"""Statistics compared with published values, and properties of any data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.stats import (
    Estimate,
    bootstrap,
    cohen_kappa,
    share,
    share_difference,
    spearman,
    weighted_kappa,
)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17, 857-872, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson(k: int, n: int, low: float, high: float) -> None:
    found = share(k, n)
    assert found.low is not None
    assert found.high is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17, 873-890, table II, method 10.
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((0, 10), (0, 20), -0.1611, 0.2775),
    ],
)
def test_newcombe(one: tuple[int, int], other: tuple[int, int], low: float, high: float) -> None:
    found = share_difference(share(*one), share(*other))
    assert found is not None
    assert (round(found[1], 4), round(found[2], 4)) == (low, high)


def test_a_share_of_nothing() -> None:
    assert share(0, 0).value is None
    assert str(share(0, 0)) == "none of 0"
    assert share_difference(share(0, 0), share(1, 2)) is None
    assert str(share(12, 40)) == "12 of 40, 30% (18-45)"


@given(st.integers(1, 1000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_share_lies_in_its_interval(pair: tuple[int, int]) -> None:
    found = share(*pair)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 1


def test_cohens_kappa() -> None:
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)


@pytest.mark.parametrize("pairs", [[], [("a", "a")] * 3], ids=["nothing", "one class"])
def test_no_kappa_where_chance_explains_all(pairs: list[tuple[str, str]]) -> None:
    assert cohen_kappa(pairs) is None


def test_weighted_kappa() -> None:
    assert weighted_kappa([(0, 0), (1, 1), (2, 2), (3, 3)]) == 1.0
    assert weighted_kappa([(0, 3), (3, 0)]) == -1.0
    assert weighted_kappa([(1, 1)]) is None
    assert weighted_kappa([]) is None
    # By hand: the squared differences sum to 1 over the 4 pairs, and to 20 over the 16 pairs expected by chance.
    assert weighted_kappa([(0, 0), (0, 1), (1, 1), (2, 2)]) == pytest.approx(1 - (1 / 4) / (20 / 16))


LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")))
SCORES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20)


@given(LABELS)
def test_kappa_lies_within_its_bounds(pairs: list[tuple[str, str]]) -> None:
    kappa = cohen_kappa(pairs)
    assert kappa is None or -1 <= kappa <= 1


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=20))
def test_both_kappas_agree_on_two_classes(pairs: list[tuple[int, int]]) -> None:
    assert cohen_kappa(pairs) == (
        pytest.approx(weighted_kappa(pairs)) if weighted_kappa(pairs) is not None else None
    )


def test_spearman() -> None:
    # Hours of television and IQ of ten people: rho is -29/165.
    iq = [86, 97, 99, 100, 101, 103, 106, 110, 112, 113]
    hours = [2, 20, 28, 27, 50, 29, 7, 17, 6, 12]
    assert spearman(list(zip(iq, hours))) == pytest.approx(-29 / 165)
    assert spearman([(1, 2)]) is None
    assert spearman([(1, 2), (1, 3)]) is None
    assert spearman([(1, 1), (1, 1), (2, 2), (3, 3)]) == pytest.approx(1.0)


@given(SCORES)
def test_spearman_lies_within_its_bounds_and_is_symmetric(pairs: list[tuple[int, int]]) -> None:
    rho = spearman(pairs)
    assert rho is None or -1 - 1e-9 <= rho <= 1 + 1e-9
    assert rho == (None if rho is None else pytest.approx(spearman([(b, a) for a, b in pairs])))


def test_a_bootstrap_interval_is_repeatable_and_needs_five_pairs() -> None:
    pairs = [(0, 0), (1, 1), (2, 2), (3, 2), (1, 0), (2, 3), (0, 0), (3, 3)]
    found = bootstrap(weighted_kappa, pairs)
    assert found == bootstrap(weighted_kappa, pairs)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high  # type: ignore[operator]
    assert bootstrap(weighted_kappa, pairs[:4]) == Estimate(weighted_kappa(pairs[:4]), None, None)
    assert bootstrap(weighted_kappa, [(1, 1)] * 9) == Estimate(None, None, None)
