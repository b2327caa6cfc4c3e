"""Statistics for small samples: shares and their intervals, agreement of raters, rank correlation.

Sources: Wilson, JASA 22 (1927); Newcombe, Statistics in Medicine 17 (1998), method 10; Cohen, Educational and Psychological Measurement 20
(1960) and Psychological Bulletin 70 (1968); Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 13.3.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

Pairs = Sequence[tuple[float, float]]
Rating = TypeVar("Rating")

_Z = 1.959963984540054  # the 97.5% quantile of the normal distribution: all intervals here are of 95%
_RESAMPLES = 1000
_MIN_PAIRS = 5  # with fewer pairs a bootstrap interval is meaningless


class Estimate(NamedTuple):
    """A figure and its 95% interval; None for what the data do not determine."""

    value: float | None
    low: float | None
    high: float | None


class Proportion(NamedTuple):
    """`k` of `n`, and the 95% interval of the share; None for all three when `n` is 0."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """Return text such as `12 of 40, 30% (18-45)`."""
        if self.value is None or self.low is None or self.high is None:
            return "none of 0"
        percents = (100 * self.value, 100 * self.low, 100 * self.high)
        return "%d of %d, %.0f%% (%.0f-%.0f)" % (self.k, self.n, *percents)


def share(k: int, n: int) -> Proportion:
    """Return `k / n` with Wilson's score interval."""
    if n == 0:
        return Proportion(0, 0, None, None, None)
    p, z = k / n, _Z
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Proportion(k, n, p, max(0.0, middle - half), min(1.0, middle + half))


def share_difference(proportion: Proportion, other: Proportion) -> tuple[float, float, float] | None:
    """Return the difference of the shares with Newcombe's interval, as (difference, low, high); None if one of them has no cases."""
    figures = [figure for figure in (*proportion[2:], *other[2:]) if figure is not None]
    if len(figures) < 6:
        return None
    value, value_low, value_high, other_value, other_low, other_high = figures
    gap = value - other_value
    low = gap - math.sqrt((value - value_low) ** 2 + (other_high - other_value) ** 2)
    high = gap + math.sqrt((value_high - value) ** 2 + (other_value - other_low) ** 2)
    return gap, low, high


def cohen_kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    """Return Cohen's kappa of two raters' labels; None without pairs, or when chance alone explains all agreement."""
    return _kappa(pairs, lambda a, b: a != b)


def weighted_kappa(pairs: Pairs) -> float | None:
    """Return Cohen's kappa with quadratic weights, for scores on a scale; None as for `cohen_kappa`.

    The number of levels cancels out: quadratic weights may be scaled by any constant.
    """
    return _kappa(pairs, lambda a, b: (a - b) ** 2)


def _kappa(pairs: Sequence[tuple[Rating, Rating]], apart: Callable[[Rating, Rating], float]) -> float | None:
    """Return 1 less the observed distance of two raters' labels by the one that chance explains; None if chance explains none."""
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(apart(a, b) * first[a] * second[b] for a in first for b in second)
    return 1 - sum(apart(a, b) for a, b in pairs) * n / expected if expected else None


def spearman(pairs: Pairs) -> float | None:
    """Return Spearman's rank correlation, ties sharing their mean rank.

    None for fewer than two pairs, or when one side never varies.
    """
    if len(pairs) < 2:
        return None
    first, second = _ranks([a for a, _ in pairs]), _ranks([b for _, b in pairs])
    mean = (len(pairs) + 1) / 2
    spread = math.sqrt(sum((a - mean) ** 2 for a in first) * sum((b - mean) ** 2 for b in second))
    return sum((a - mean) * (b - mean) for a, b in zip(first, second)) / spread if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1; equal values share their mean rank."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]


def quantile(values: Sequence[float], part: float) -> float | None:
    """Return the value below which that part (0 to 1) of the values lies; None without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None


def bootstrap(figure: Callable[[Pairs], float | None], pairs: Pairs) -> Estimate:
    """Return a figure with its percentile bootstrap interval; no interval for fewer than five pairs.

    The resampling is seeded: the same data give the same interval.
    """
    import random

    value = figure(pairs)
    if value is None or len(pairs) < _MIN_PAIRS:
        return Estimate(value, None, None)
    generator = random.Random(20260301)  # noqa: S311 (resampling, not a secret)
    resampled = (figure(generator.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES))
    figures = [again for again in resampled if again is not None]
    if len(figures) < _RESAMPLES / 2:
        return Estimate(value, None, None)
    return Estimate(value, quantile(figures, 0.025), quantile(figures, 0.975))
