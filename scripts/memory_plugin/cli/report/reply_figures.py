"""How replies were scored: counts by day, rule and model, from the ledger `scores`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .counting import CappedCounter

if TYPE_CHECKING:
    from typing import Any

__all__ = ["ReplyDay", "ReplyFigures"]

_MOST_NAMES = 500
_DAY = 10


class ReplyDay:
    """Counts of one day; `density` is a sum over `measured` replies."""

    __slots__ = ("density", "drifted", "measured", "padded", "replies")

    def __init__(self) -> None:
        self.replies = self.padded = self.drifted = self.measured = 0
        self.density = 0.0


class ReplyFigures:
    """The sums over all rows added so far."""

    def __init__(self) -> None:
        self.days: dict[str, ReplyDay] = {}
        self.rules = CappedCounter(_MOST_NAMES)
        self.models = CappedCounter(_MOST_NAMES)
        self.padded_by_model = CappedCounter(_MOST_NAMES)

    def add(self, row: dict[str, Any]) -> None:
        """Count one record; those that hold no score are skipped."""
        padding, matches, density = row.get("padding_count"), row.get("matches"), row.get("density")
        if row.get("kind") != "score" or not isinstance(padding, int) or not isinstance(matches, list):
            return
        day = self.days.setdefault(row["time"][:_DAY], ReplyDay())
        day.replies += 1
        day.padded += padding > 0
        day.drifted += bool(row.get("drift"))
        if isinstance(density, (int, float)) and 0 <= density <= 1:
            day.density += density
            day.measured += 1
        model = row.get("model")
        name = model[:100] if isinstance(model, str) and model else "unknown"
        self.models.add(name)
        self.padded_by_model.add(name, int(padding > 0))
        for match in matches[:40]:
            if isinstance(match, list) and len(match) == 3 and isinstance(match[2], str):
                self.rules.add(match[2][:100])

    def total(self) -> ReplyDay:
        """Return the sums of all days."""
        total = ReplyDay()
        for day in self.days.values():
            for name in ReplyDay.__slots__:
                setattr(total, name, getattr(total, name) + getattr(day, name))
        return total
