"""What judges cost and how they answered, from the ledger `judge-calls`; and verdicts from `evaluations`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .counting import CappedCounter, Histogram

if TYPE_CHECKING:
    from typing import Any

__all__ = ["FeatureSpend", "SpendFigures"]

_MOST_FEATURES = 50
_MOST_NAMES = 200
_DAY = 10


class FeatureSpend:
    """The calls of one feature: how many, from the cache, failed, without a price; dollars, tokens and waits."""

    __slots__ = ("cached", "calls", "failed", "tokens", "unpriced", "usd", "wait")

    def __init__(self) -> None:
        self.calls = self.cached = self.failed = self.unpriced = self.tokens = 0
        self.usd = 0.0
        self.wait = Histogram()


class SpendFigures:
    """The sums over all rows added so far."""

    def __init__(self) -> None:
        self.features: dict[str, FeatureSpend] = {}
        self.days: dict[str, float] = {}
        self.failures = CappedCounter(_MOST_NAMES)
        self.verdicts = CappedCounter(_MOST_NAMES)

    def add(self, row: dict[str, Any]) -> None:
        """Count one call."""
        name = row.get("feature")
        name = name[:40] if isinstance(name, str) and name else "unknown"
        if name not in self.features and len(self.features) >= _MOST_FEATURES:
            name = "other"
        one = self.features.setdefault(name, FeatureSpend())
        one.calls += 1
        if row.get("cached") is True:
            one.cached += 1
            return
        if row.get("outcome") != "ok":
            one.failed += 1
            self.failures.add(str(row.get("outcome"))[:40])
        for side in ("tokens_in", "tokens_out"):
            tokens = row.get(side)
            if isinstance(tokens, int) and 0 <= tokens < 1 << 40:
                one.tokens += tokens
        cost = row.get("cost_usd")
        if isinstance(cost, (int, float)) and 0 <= cost < 1e6:
            one.usd += cost
            day = row["time"][:_DAY]
            self.days[day] = self.days.get(day, 0.0) + cost
        elif row.get("outcome") == "ok":
            one.unpriced += 1
        took = row.get("latency_ms")
        if isinstance(took, (int, float)) and 0 <= took < 1e9:
            one.wait.add(took)

    def add_evaluation(self, row: dict[str, Any]) -> None:
        """Count one evaluated conversation by its verdict."""
        self.verdicts.add(str(row.get("verdict"))[:40])

    @property
    def usd(self) -> float:
        """Return the sum in US dollars, of the calls with a known price."""
        return sum(one.usd for one in self.features.values())
