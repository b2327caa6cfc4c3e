"""Reply figures from the ledger `scores`: counts by day, rule and model."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

from ...kernel.fastjson import loads
from .counting import CappedCounter
from .line_patterns import SCORE_LINE, ScoreRow, match_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ...replies.correction_effect import EffectMeter

_MAX_NAMES = 500
_MAX_TALLIES = 20_000
_DAY = 10  # characters of a date


def _field_getter(*names: str) -> Callable[[tuple[str, ...]], Any]:
    """Return an `itemgetter` for fields of a ScoreRow, which `re` returns as a plain tuple."""
    return itemgetter(*map(ScoreRow._fields.index, names))


_get_counted = _field_getter("day", "model", "padding", "drift")
_get_density = _field_getter("day", "density")
_get_reply = _field_getter("id", "project", "session")
_get_project, _get_matches = _field_getter("project"), _field_getter("matches")


class ReplyDay:
    """The counts of one day; `density` is a sum over `measured` replies."""

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
        # Tallies of `add_lines` that are not in the figures yet; most rows differ only in the time of day.
        self._replies: Counter[tuple[str, str, str, str]] = Counter()
        self._densities: Counter[tuple[str, str]] = Counter()
        self._matches: Counter[str] = Counter()

    def add_lines(self, blocks: Iterable[list[str]], meter: EffectMeter, project: str = "") -> Iterator[str]:
        """Count the lines that match SCORE_LINE, and yield all others for the parser.

        Args:
            blocks: Lines of the ledger `scores`.
            meter: Gets the rows of replies that drifted or follow one that did.
            project: The only project to count; empty for all.
        """
        for block in blocks:
            for lines, rows in match_lines(block, SCORE_LINE):
                if not rows:
                    self._flush_tallies()  # first come, first counted: the counters have limits
                    yield from lines
                    continue
                self._tally_rows([row for row in rows if _get_project(row) == project] if project else rows)
                for line, row in zip(lines, rows):
                    if meter.needs(*_get_reply(row)) and project in ("", _get_project(row)):
                        record: Any = loads(line)
                        meter.add_score(record)
            if len(self._replies) + len(self._densities) + len(self._matches) > _MAX_TALLIES:
                self._flush_tallies()
        self._flush_tallies()

    def _tally_rows(self, rows: list[tuple[str, ...]]) -> None:
        """Count rows, a whole column at a time: a ledger has millions."""
        self._replies.update(map(_get_counted, rows))
        self._densities.update(map(_get_density, rows))
        # A rule's name holds no quote, so every second piece is a name.
        self._matches.update("".join(map(_get_matches, rows)).split('"')[1::2])

    def _flush_tallies(self) -> None:
        """Add the tallies of `add_lines` to the figures, in the order in which they occurred."""
        for (date, model, padding, drift), number in self._replies.items():
            day, padded = self._day(date), padding != "0"
            day.replies += number
            day.padded += number if padded else 0
            day.drifted += number if drift else 0
            self._add_model(model, padded, number)
        for (date, density), number in self._densities.items():
            if density != "null":
                self._add_density(self._day(date), float(density), number)
        for rule, number in self._matches.items():
            self.rules.add(rule, number)
        for tally in (self._replies, self._densities, self._matches):
            tally.clear()

    def add(self, row: dict[str, Any]) -> None:
        """Count one parsed row; rows without a score are skipped."""
        padding, matches, density = row.get("padding_count"), row.get("matches"), row.get("density")
        if row.get("kind") != "score" or not isinstance(padding, int) or not isinstance(matches, list):
            return
        day = self._day(row["time"][:_DAY])
        day.replies += 1
        day.padded += padding > 0
        day.drifted += bool(row.get("drift"))
        if isinstance(density, (int, float)):
            self._add_density(day, density, 1)
        model = row.get("model")
        self._add_model(model if isinstance(model, str) else "", padding > 0, 1)
        for match in matches[:40]:
            if isinstance(match, list) and len(match) == 3 and isinstance(match[2], str):
                self.rules.add(match[2][:100])

    def _day(self, date: str) -> ReplyDay:
        """Return the counts of a day, creating them if missing."""
        day = self.days.get(date)
        if day is None:
            day = self.days[date] = ReplyDay()
        return day

    @staticmethod
    def _add_density(day: ReplyDay, density: float, number: int) -> None:
        if 0 <= density <= 1:
            day.density += density * number
            day.measured += number

    def _add_model(self, model: str, padded: bool, number: int) -> None:
        name = model[:100] or "unknown"
        self.models.add(name, number)
        self.padded_by_model.add(name, number if padded else 0)

    def total(self) -> ReplyDay:
        """Return the sums over all days."""
        total = ReplyDay()
        for day in self.days.values():
            for name in ReplyDay.__slots__:
                setattr(total, name, getattr(total, name) + getattr(day, name))
        return total
