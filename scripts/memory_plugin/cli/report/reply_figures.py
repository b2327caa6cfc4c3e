"""Count scored replies by day, rule and model, from the `scores` ledger."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

from ...kernel.fastjson import loads
from .counting import CappedCounter
from .quick_rows import SCORE_LINE, ScoreRow, quick_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ...replies.correction_effect import EffectMeter

__all__ = ["ReplyDay", "ReplyFigures"]

_MAX_NAMES = 500
_MAX_TALLIES = 20_000
_DAY = 10


def _columns(*names: str) -> Callable[[tuple[str, ...]], Any]:
    """Return a function that extracts fields from a row: a text for one name, else a tuple."""
    return itemgetter(*map(ScoreRow._fields.index, names))


_COUNTED = _columns("day", "model", "padding", "drift")
_DENSITY = _columns("day", "density")
_REPLY = _columns("id", "project", "session")
_PROJECT, _MATCHES = _columns("project"), _columns("matches")


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
        self.rules = CappedCounter(_MAX_NAMES)
        self.models = CappedCounter(_MAX_NAMES)
        self.padded_by_model = CappedCounter(_MAX_NAMES)
        # Tallies of `add_lines` that are not added up yet: most rows differ only in the time of day, so they are counted first.
        self._replies: Counter[tuple[str, str, str, str]] = Counter()
        self._densities: Counter[tuple[str, str]] = Counter()
        self._matches: Counter[str] = Counter()

    def add_lines(self, blocks: Iterable[list[str]], meter: EffectMeter, project: str = "") -> Iterator[str]:
        """Count the records in the form in which we write them, and yield all other lines, which need a parser.

        Args:
            blocks: Lines of the ledger `scores`.
            meter: Gets the records of replies that drifted or follow one that did.
            project: The only project to count; empty for all.
        """
        for lines in blocks:
            for part, rows in quick_rows(lines, SCORE_LINE):
                if not rows:
                    self._add_up()
                    yield from part
                    continue
                wanted = [row for row in rows if _PROJECT(row) == project] if project else rows
                self._add_rows(wanted)
                for line, row in zip(part, rows):
                    if meter.needs(*_REPLY(row)) and project in ("", _PROJECT(row)):
                        record: Any = loads(line)
                        meter.add_score(record)
            if len(self._replies) + len(self._densities) + len(self._matches) > _MAX_TALLIES:
                self._add_up()
        self._add_up()

    def _add_rows(self, rows: list[tuple[str, ...]]) -> None:
        """Count rows, whole columns at a time: a ledger has millions."""
        self._replies.update(map(_COUNTED, rows))
        self._densities.update(map(_DENSITY, rows))
        # No text in such a line contains a quote, so every second piece is the name of a rule.
        self._matches.update("".join(map(_MATCHES, rows)).split('"')[1::2])

    def _add_up(self) -> None:
        """Add the tallies of `add_lines` to the figures, in the order of their first occurrence."""
        for (name, model, padding, drift), number in self._replies.items():
            day, padded = self._day(name), padding != "0"
            day.replies += number
            day.padded += number if padded else 0
            day.drifted += number if drift else 0
            self._add_model(model, padded, number)
        for (name, density), number in self._densities.items():
            if density != "null":
                self._measure(self._day(name), float(density), number)
        for rule, number in self._matches.items():
            self.rules.add(rule, number)
        for tally in (self._replies, self._densities, self._matches):
            tally.clear()

    def add(self, row: dict[str, Any]) -> None:
        """Count one record; a record without a score is skipped."""
        padding, matches, density = row.get("padding_count"), row.get("matches"), row.get("density")
        if row.get("kind") != "score" or not isinstance(padding, int) or not isinstance(matches, list):
            return
        day = self._day(row["time"][:_DAY])
        day.replies += 1
        day.padded += padding > 0
        day.drifted += bool(row.get("drift"))
        if isinstance(density, (int, float)):
            self._measure(day, density, 1)
        model = row.get("model")
        self._add_model(model if isinstance(model, str) else "", padding > 0, 1)
        for match in matches[:40]:
            if isinstance(match, list) and len(match) == 3 and isinstance(match[2], str):
                self.rules.add(match[2][:100])

    def _day(self, name: str) -> ReplyDay:
        """Return the counts of a day, initially zeros."""
        return self.days.setdefault(name, ReplyDay())

    @staticmethod
    def _measure(day: ReplyDay, density: float, number: int) -> None:
        if 0 <= density <= 1:
            day.density += density * number
            day.measured += number

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
