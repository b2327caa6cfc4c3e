"""How replies were scored: counts by day, rule and model, from the ledger `scores`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .counting import CappedCounter
from .quick_rows import SCORE_LINE, quick_score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ...replies.correction_effect import EffectMeter

__all__ = ["ReplyDay", "ReplyFigures"]

_MOST_NAMES = 500
_MOST_TALLIES = 20_000
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
        # What `add_lines` has counted, but not yet added up: by model and whether there is filler, and by rule.
        self._by_model: dict[tuple[str, bool], int] = {}
        self._by_rule: dict[str, int] = {}

    def add_lines(self, blocks: Iterable[list[str]], meter: EffectMeter, project: str = "") -> Iterator[str]:
        """Count the records that have the form in which we write them, and yield the other lines, which need a parser.

        Args:
            blocks: Lines of the ledger `scores`.
            meter: Gets the records of replies that drifted or follow one that did.
            project: Count no other project; empty for all.
        """
        by_model, by_rule = self._by_model, self._by_rule  # this loop runs millions of times
        for lines in blocks:
            for line in lines:
                match = SCORE_LINE.match(line)
                if match is None:
                    self._add_up()
                    yield line
                    continue
                time, session, place, identity, padding, density, _, drift, matches, model = match.groups()
                if project and place != project:
                    continue
                padded = padding != "0"
                self._add_reply(time[:_DAY], padded, drift != "", density)
                by_model[model, padded] = by_model.get((model, padded), 0) + 1
                if matches:
                    for rule in matches.split('"')[1::2]:  # no text of a line of this form holds a quote
                        by_rule[rule] = by_rule.get(rule, 0) + 1
                if meter.needs(identity, place, session):
                    meter.add_score(quick_score(line) or {})
            if len(by_model) + len(by_rule) > _MOST_TALLIES:
                self._add_up()
        self._add_up()

    def _add_reply(self, name: str, padded: bool, drifted: bool, density: str) -> None:
        """Count one reply of a day; `density` is a number or "null"."""
        day = self.days.get(name) or self._day(name)
        day.replies += 1
        if padded:
            day.padded += 1
        if drifted:
            day.drifted += 1
        if density != "null":
            value = float(density)
            if value <= 1:
                day.density += value
                day.measured += 1

    def _add_up(self) -> None:
        """Add the counts of `add_lines` to the figures, in the order in which they came up."""
        for (model, padded), number in self._by_model.items():
            self._add_model(model, padded, number)
        for rule, number in self._by_rule.items():
            self.rules.add(rule, number)
        self._by_model.clear()
        self._by_rule.clear()

    def add(self, row: dict[str, Any]) -> None:
        """Count one record; those that hold no score are skipped."""
        padding, matches, density = row.get("padding_count"), row.get("matches"), row.get("density")
        if row.get("kind") != "score" or not isinstance(padding, int) or not isinstance(matches, list):
            return
        day = self._day(row["time"][:_DAY])
        day.replies += 1
        day.padded += padding > 0
        day.drifted += bool(row.get("drift"))
        if isinstance(density, (int, float)):
            self._measure(day, density)
        model = row.get("model")
        self._add_model(model if isinstance(model, str) else "", padding > 0, 1)
        for match in matches[:40]:
            if isinstance(match, list) and len(match) == 3 and isinstance(match[2], str):
                self.rules.add(match[2][:100])

    def _day(self, name: str) -> ReplyDay:
        """Return the counts of a day, made when they are missing."""
        day = self.days.get(name)
        if day is None:
            day = self.days[name] = ReplyDay()
        return day

    @staticmethod
    def _measure(day: ReplyDay, density: float) -> None:
        if 0 <= density <= 1:
            day.density += density
            day.measured += 1

    def _add_model(self, model: str, padded: bool, number: int) -> None:
        name = model[:100] or "unknown"
        self.models.add(name, number)
        self.padded_by_model.add(name, number if padded else 0)

    def total(self) -> ReplyDay:
        """Return the sums of all days."""
        total = ReplyDay()
        for day in self.days.values():
            for name in ReplyDay.__slots__:
                setattr(total, name, getattr(total, name) + getattr(day, name))
        return total
