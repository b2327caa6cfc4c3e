"""Counters with bounded memory, however large the ledgers are: distinct values, quantiles, and counts by name."""

from __future__ import annotations

from heapq import heappush, heapreplace
from math import log
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CappedCounter", "Distinct", "Histogram"]

_SAMPLE = 4096  # hashes; the estimate is then within 5% in 999 of 1,000 cases
_RANGE = 1 << 32
_STEP = 1.05  # each bucket of a histogram is 5% wider than the one before
_LOG_STEP = log(_STEP)
_BUCKETS = 400  # up to 1.05 ** 400, more than 8 hours in milliseconds


class Distinct:
    """An estimate of how many different texts were added: exact up to 4,096, then from the smallest hashes.

    Source: Bar-Yossef et al., Counting Distinct Elements in a Data Stream, RANDOM 2002 (the k minimum values).
    """

    __slots__ = ("_hashes", "_heap")

    def __init__(self) -> None:
        self._heap: list[int] = []  # the smallest hashes, negated, so that the largest of them is on top
        self._hashes: set[int] = set()

    def add(self, text: str) -> None:
        """Count a text unless it was counted before."""
        value = _mixed(crc32(text.encode("utf-8", "replace")))
        if value in self._hashes:
            return
        if len(self._heap) < _SAMPLE:
            heappush(self._heap, -value)
            self._hashes.add(value)
        elif value < -self._heap[0]:
            self._hashes.discard(-heapreplace(self._heap, -value))
            self._hashes.add(value)

    @property
    def is_exact(self) -> bool:
        """Return whether `estimate` is exact."""
        return len(self._heap) < _SAMPLE

    def estimate(self) -> int:
        """Return the number of different texts."""
        if self.is_exact:
            return len(self._heap)
        return round((_SAMPLE - 1) * _RANGE / -self._heap[0])


def _mixed(value: int) -> int:
    """Spread a checksum over all 32 bits, because similar texts have similar ones (the finalizer of MurmurHash3)."""
    value = (value ^ value >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return value ^ value >> 16


class Histogram:
    """Counts of positive numbers in buckets that grow by 5%, to estimate the quantiles of a stream."""

    __slots__ = ("_buckets", "n")

    def __init__(self) -> None:
        self._buckets = [0] * _BUCKETS
        self.n = 0

    def add(self, value: float, times: int = 1) -> None:
        """Count a number once or several times; negative ones count as zero."""
        at = int(log(value + 1) / _LOG_STEP) if value > 0 else 0
        self._buckets[min(at, _BUCKETS - 1)] += times
        self.n += times

    def quantile(self, share: float) -> float | None:
        """Return the value below which that share of the numbers lies, within 5%; None without numbers."""
        if not self.n:
            return None
        seen = 0
        for at, count in enumerate(self._buckets):
            seen += count
            if seen >= share * self.n:
                return float(_STEP ** (at + 0.5)) - 1
        return None  # pragma: no cover (the sum reaches `n`)


class CappedCounter:
    """Counts for the first `max_names` names; those of all later names are summed in `others`."""

    __slots__ = ("_counts", "_max_names", "others")

    def __init__(self, max_names: int) -> None:
        self._counts: dict[str, int] = {}
        self._max_names = max_names
        self.others = 0

    def add(self, name: str, number: int = 1) -> None:
        """Count a name."""
        if name in self._counts:
            self._counts[name] += number
        elif len(self._counts) < self._max_names:
            self._counts[name] = number
        else:
            self.others += number

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Yield names with their counts, the most frequent first."""
        return iter(sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0])))

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(self._counts.values()) + self.others
