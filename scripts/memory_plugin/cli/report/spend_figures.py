"""Judge figures from the ledger `judge-calls` (calls, cost, waits), and verdicts from `evaluations`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .counting import CappedCounter, Histogram

if TYPE_CHECKING:
    from typing import Any

_MAX_FEATURES = 50
_MAX_NAMES = 200
_DAY = 10  # characters of a date


class FeatureSpend:
    """The judge calls of one feature; `cached`, `failed` and `unpriced` are parts of `calls`."""

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
        self.failures = CappedCounter(_MAX_NAMES)
        self.verdicts = CappedCounter(_MAX_NAMES)

    def add(self, row: dict[str, Any]) -> None:
        """Count one call."""
        name = row.get("feature")
        name = name[:40] if isinstance(name, str) and name else "unknown"
        if name not in self.features and len(self.features) >= _MAX_FEATURES:
            name = "other"
        spend = self.features.setdefault(name, FeatureSpend())
        spend.calls += 1
        if row.get("cached") is True:
            spend.cached += 1
            return
        if row.get("outcome") != "ok":
            spend.failed += 1
            self.failures.add(str(row.get("outcome"))[:40])
        for side in ("tokens_in", "tokens_out"):
            tokens = row.get(side)
            if isinstance(tokens, int) and 0 <= tokens < 1 << 40:
                spend.tokens += tokens
        cost = row.get("cost_usd")
        if isinstance(cost, (int, float)) and 0 <= cost < 1e6:
            spend.usd += cost
            day = row["time"][:_DAY]
            self.days[day] = self.days.get(day, 0.0) + cost
        elif row.get("outcome") == "ok":
            spend.unpriced += 1
        ms = row.get("latency_ms")
        if isinstance(ms, (int, float)) and 0 <= ms < 1e9:
            spend.wait.add(ms)

    def add_evaluation(self, row: dict[str, Any]) -> None:
        """Count one evaluation by its verdict."""
        self.verdicts.add(str(row.get("verdict"))[:40])

    @property
    def usd(self) -> float:
        """Return the cost in US dollars of all calls with a known price."""
        return sum(spend.usd for spend in self.features.values())
