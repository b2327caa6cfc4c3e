"""Shares with their uncertainty: 95 % intervals that hold for small numbers, too."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

__all__ = ["Share", "difference", "share"]

_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution


class Share(NamedTuple):
    """`k` of `n`, and the 95 % interval of the share; None for all three when n is 0."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """Such as `12 of 40, 30 % (18-45)`."""
        if self.value is None or self.low is None or self.high is None:
            return "none of 0"
        return "%d of %d, %.0f %% (%.0f-%.0f)" % (
            self.k,
            self.n,
            100 * self.value,
            100 * self.low,
            100 * self.high,
        )


def share(k: int, n: int) -> Share:
    """The share `k / n` with Wilson's score interval (Wilson 1927)."""
    if n == 0:
        return Share(0, 0, None, None, None)
    p, z = k / n, _Z
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Share(k, n, p, max(0.0, middle - half), min(1.0, middle + half))


def difference(one: Share, other: Share) -> tuple[float, float, float] | None:
    """`one - other` with its 95 % interval (Newcombe 1998, method 10); None when one of them is of 0."""
    if (
        one.value is None
        or other.value is None
        or one.low is None
        or one.high is None
        or other.low is None
        or other.high is None
    ):
        return None
    gap = one.value - other.value
    low = gap - sqrt((one.value - one.low) ** 2 + (other.high - other.value) ** 2)
    high = gap + sqrt((one.high - one.value) ** 2 + (other.value - other.low) ** 2)
    return gap, low, high
