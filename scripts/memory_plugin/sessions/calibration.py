"""How far scores agree with a person's: agreement, kappa, error and rank correlation, with their uncertainty.

Cohen's kappa (Educational and Psychological Measurement 20, 1960) and its quadratically weighted form (Psychological Bulletin 70, 1968);
Spearman's rho with mean ranks for ties; Wilson's interval for shares (JASA 22, 1927); percentile bootstrap for the others (Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, 13.3), seeded, so that the same data give the same interval.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, NamedTuple

from .dimensions import OVERALL, Dimension, dimensions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "Agreement",
    "Estimate",
    "bias",
    "compare",
    "kappa",
    "mean_error",
    "spearman",
    "weighted_kappa",
    "wilson",
]

_Z = 1.959963984540054  # 95 %
_RESAMPLES = 1000
_LEAST = 5  # pairs from which an interval says something
_EXACT = 0.05  # numbers this near count as the same


class Estimate(NamedTuple):
    """A figure and its 95 % interval; None where the data do not determine it."""

    value: float | None
    low: float | None
    high: float | None


class Agreement(NamedTuple):
    """One dimension over `n` sessions: `figures` by name."""

    dimension: str
    n: int
    figures: dict[str, Estimate]


def compare(
    ours: Mapping[str, Mapping[str, float]], theirs: Mapping[str, Mapping[str, float]]
) -> list[Agreement]:
    """The agreement in each dimension, and in the overall, over the sessions that both have scored.

    Levels give exact agreement, kappa and weighted kappa; numbers give agreement within 0.05, mean absolute error, mean difference (ours
    less theirs) and Spearman's rho.
    """
    found = []
    for name in (*dimensions(), OVERALL):
        shared = sorted(
            session
            for session in ours.keys() & theirs.keys()
            if name in ours[session] and name in theirs[session]
        )
        pairs = [(float(ours[session][name]), float(theirs[session][name])) for session in shared]
        found.append(Agreement(name, len(pairs), _figures(pairs, dimensions().get(name))))
    return found


def _figures(pairs: Sequence[tuple[float, float]], dimension: Dimension | None) -> dict[str, Estimate]:
    if dimension is not None and dimension.categorical:
        same = sum(a == b for a, b in pairs)
        return {
            "exact": wilson(same, len(pairs)),
            "kappa": _with_interval(kappa, pairs),
            "weighted_kappa": _with_interval(lambda some: weighted_kappa(some, len(dimension.labels)), pairs),
        }
    near = sum(abs(a - b) <= _EXACT + 1e-9 for a, b in pairs)
    return {
        "within_0.05": wilson(near, len(pairs)),
        "mae": _with_interval(mean_error, pairs),
        "bias": _with_interval(bias, pairs),
        "spearman": _with_interval(spearman, pairs),
    }


def wilson(hits: int, n: int) -> Estimate:
    """The share of hits with Wilson's score interval."""
    if n == 0:
        return Estimate(None, None, None)
    share = hits / n
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


def kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Cohen's kappa; None without pairs, or when chance alone explains all."""
    n = len(pairs)
    if n == 0:
        return None
    levels = {level for pair in pairs for level in pair}
    observed = sum(a == b for a, b in pairs) / n
    expected = sum(
        (sum(a == level for a, _ in pairs) / n) * (sum(b == level for _, b in pairs) / n) for level in levels
    )
    return None if expected >= 1 else (observed - expected) / (1 - expected)


def weighted_kappa(pairs: Sequence[tuple[float, float]], levels: int) -> float | None:
    """Cohen's kappa with quadratic weights over `levels` levels from 0; None as for `kappa`."""
    n = len(pairs)
    if n == 0:
        return None
    ours = [sum(a == level for a, _ in pairs) / n for level in range(levels)]
    theirs = [sum(b == level for _, b in pairs) / n for level in range(levels)]
    observed = sum((a - b) ** 2 for a, b in pairs) / n
    expected = sum(ours[i] * theirs[j] * (i - j) ** 2 for i in range(levels) for j in range(levels))
    return None if expected == 0 else 1 - observed / expected


def mean_error(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The mean absolute difference; None without pairs."""
    return sum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else None


def bias(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The mean difference; above 0 the first of each pair is the more generous."""
    return sum(a - b for a, b in pairs) / len(pairs) if pairs else None


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's rank correlation; None for fewer than two pairs, or when one side says always the same."""
    if len(pairs) < 2:
        return None
    ours, theirs = _ranks([a for a, _ in pairs]), _ranks([b for _, b in pairs])
    middle = (len(pairs) + 1) / 2
    spread = math.sqrt(sum((a - middle) ** 2 for a in ours) * sum((b - middle) ** 2 for b in theirs))
    return sum((a - middle) * (b - middle) for a, b in zip(ours, theirs)) / spread if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value from 1; equal ones share their mean rank."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for at in order[start : end + 1]:
            ranks[at] = (start + end) / 2 + 1
        start = end + 1
    return ranks


def _with_interval(
    figure: Callable[[Sequence[tuple[float, float]]], float | None], pairs: Sequence[tuple[float, float]]
) -> Estimate:
    """A figure with its percentile bootstrap interval; none for fewer than five pairs."""
    value = figure(pairs)
    if value is None or len(pairs) < _LEAST:
        return Estimate(value, None, None)
    chance = random.Random(20260301)  # noqa: S311 (resampling, no secret)
    found = sorted(
        again
        for _ in range(_RESAMPLES)
        for again in [figure(chance.choices(pairs, k=len(pairs)))]
        if again is not None
    )
    if len(found) < _RESAMPLES / 2:
        return Estimate(value, None, None)
    low, high = (found[min(len(found) - 1, int(share * len(found)))] for share in (0.025, 0.975))
    return Estimate(value, low, high)
