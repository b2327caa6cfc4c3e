"""What judges did, out of the ledgers: calls, costs, and how far the two opinions agree."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.clock import iso, now
from ..kernel.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.paths import Places

__all__ = ["KEPT_NOTHING", "Calls", "Opinions", "calls", "opinions"]

KEPT_NOTHING = 20  # decisions in a row without one approval: a judge that says no to everything helps nobody
_DAY = 86400


class Calls(NamedTuple):
    """Calls to models.

    `outcomes` counts by name, verdicts from the cache apart; `cost_usd` sums what is known, `cost_unknown` counts the
    calls whose cost is not; `median_ms` is None without an answer.
    """

    outcomes: dict[str, int]
    cached: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    cost_unknown: int
    median_ms: float | None


class Opinions(NamedTuple):
    """Candidates on which both judges spoke, by (relevant, useful); and the judged decisions that kept none, latest in a row."""

    both: int
    neither: int
    only_relevant: int
    only_useful: int
    paths: dict[str, int]
    none_kept: int

    @property
    def agreement(self) -> float | None:
        """The share of candidates on which both said the same, in [0, 1]; None without any."""
        all_of_them = self.both + self.neither + self.only_relevant + self.only_useful
        return (self.both + self.neither) / all_of_them if all_of_them else None


def _rows(places: Places, name: str, days: int) -> Iterator[dict[str, Any]]:
    since = iso(now() - days * _DAY)
    for row in Ledger(places.state(), name).rows():
        if str(row.get("time", "")) >= since:
            yield row


def calls(places: Places, days: int) -> Calls:
    """The calls of the last days."""
    outcomes: dict[str, int] = {}
    cached = unknown = 0
    tokens = {"tokens_in": 0, "tokens_out": 0}
    cost, waits = 0.0, []
    for row in _rows(places, "judge-calls", days):
        if row.get("cached") is True:
            cached += 1
            continue
        outcome = str(row.get("outcome"))
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        for name in tokens:
            tokens[name] += int(_number(row.get(name)))
        cost += _number(row.get("cost_usd"))
        unknown += row.get("cost_usd") is None
        if outcome == "ok":
            waits.append(_number(row.get("latency_ms")))
    middle = median(waits) if waits else None
    return Calls(outcomes, cached, tokens["tokens_in"], tokens["tokens_out"], cost, unknown, middle)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def opinions(places: Places, days: int) -> Opinions:
    """What the judges said on the prompts of the last days."""
    said = {(True, True): 0, (False, False): 0, (True, False): 0, (False, True): 0}
    paths: dict[str, int] = {}
    in_a_row = 0
    for row in _rows(places, "recalls", days):
        judged = row.get("judge")
        if not isinstance(judged, dict):
            continue
        path = str(judged.get("path"))
        paths[path] = paths.get(path, 0) + 1
        pairs = _pairs(judged.get("verdicts"))
        for pair in pairs:
            said[pair] += 1
        if pairs:
            in_a_row = 0 if any(True in pair for pair in pairs) else in_a_row + 1
    return Opinions(
        said[True, True], said[False, False], said[True, False], said[False, True], paths, in_a_row
    )


def _pairs(verdicts: object) -> list[tuple[bool, bool]]:
    """The candidates on which both judges spoke."""
    values = verdicts.values() if isinstance(verdicts, dict) else ()
    pairs = [pair for pair in values if isinstance(pair, list) and len(pair) == 2]
    return [(one, other) for one, other in pairs if isinstance(one, bool) and isinstance(other, bool)]
