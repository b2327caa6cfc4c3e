"""Intervals against published values, and what must hold for all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.stats import share, share_difference


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


def test_none_of_none() -> None:
    assert share(0, 0).value is None
    assert str(share(0, 0)) == "none of 0"
    assert share_difference(share(0, 0), share(1, 2)) is None
    assert str(share(12, 40)) == "12 of 40, 30 % (18-45)"


@given(st.integers(1, 1000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_share_lies_in_its_interval(pair: tuple[int, int]) -> None:
    found = share(*pair)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 1
