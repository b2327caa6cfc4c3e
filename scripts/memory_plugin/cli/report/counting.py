"""Counters with bounded memory: distinct values, quantiles, and counts by name."""

from __future__ import annotations

from heapq import heappush, heapreplace
from math import log
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_HASHES = 4096  # the estimate is then within 5% in 999 of 1,000 cases
_HASH_RANGE = 1 << 32
_GROWTH = 1.05  # each bucket of a histogram is 5% wider than the one before
_LOG_GROWTH = log(_GROWTH)
_BUCKETS = 400  # up to 1.05 ** 400, more than 8 hours in milliseconds


class Distinct:
    """Counts distinct texts: exact up to 4,095, above that an estimate from the smallest hashes.

    Source: Bar-Yossef et al., Counting Distinct Elements in a Data Stream, RANDOM 2002 (k minimum values).
    """

    __slots__ = ("_hashes", "_heap")

    def __init__(self) -> None:
        self._heap: list[
            int
        ] = []  # the smallest hashes, negated: heapq is a min-heap, and the largest hash must be on top
        self._hashes: set[int] = set()

    def add(self, text: str) -> None:
        """Add a text; adding it again changes nothing."""
        value = _mix(crc32(text.encode("utf-8", "replace")))
        if value in self._hashes:
            return
        if len(self._heap) < _MAX_HASHES:
            heappush(self._heap, -value)
            self._hashes.add(value)
        elif value < -self._heap[0]:
            self._hashes.discard(-heapreplace(self._heap, -value))
            self._hashes.add(value)

    @property
    def is_exact(self) -> bool:
        """Return whether `estimate` is the exact count."""
        return len(self._heap) < _MAX_HASHES

    def estimate(self) -> int:
        """Return the number of distinct texts."""
        if self.is_exact:
            return len(self._heap)
        return round((_MAX_HASHES - 1) * _HASH_RANGE / -self._heap[0])


def _mix(value: int) -> int:
    """Spread a checksum over all 32 bits with the finalizer of MurmurHash3; CRC-32 maps similar texts to similar values."""
    value = (value ^ value >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return value ^ value >> 16


class Histogram:
    """Counts positive numbers in buckets that grow by 5%, for the quantiles of a stream."""

    __slots__ = ("_buckets", "n")

    def __init__(self) -> None:
        self._buckets = [0] * _BUCKETS
        self.n = 0

    def add(self, value: float, times: int = 1) -> None:
        """Count a number once or several times; a negative number counts as zero."""
        index = int(log(value + 1) / _LOG_GROWTH) if value > 0 else 0
        self._buckets[min(index, _BUCKETS - 1)] += times
        self.n += times

    def quantile(self, share: float) -> float | None:
        """Return the value below which that share (0 to 1) of the numbers lies, within 5%; None without numbers."""
        if not self.n:
            return None
        cumulative = 0
        for index, count in enumerate(self._buckets):
            cumulative += count
            if cumulative >= share * self.n:
                return float(_GROWTH ** (index + 0.5)) - 1
        return None  # pragma: no cover (the sum reaches `n`)


class CappedCounter:
    """Counts by name for at most `max_names` names; `others` counts everything after that."""

    __slots__ = ("_counts", "_max_names", "others")

    def __init__(self, max_names: int) -> None:
        self._counts: dict[str, int] = {}
        self._max_names = max_names
        self.others = 0

    def add(self, name: str, number: int = 1) -> None:
        """Count a name."""
        count = self._counts.get(name)
        if count is not None:
            self._counts[name] = count + number
        elif len(self._counts) < self._max_names:
            self._counts[name] = number
        else:
            self.others += number

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Iterate over names and counts, most frequent first, ties by name."""
        return iter(sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0])))

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(self._counts.values()) + self.others
