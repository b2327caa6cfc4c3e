"""The effect of corrections: drifts whose next reply was in line again, against a control group, from rows read as a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.ledger import Ledger
from ..kernel.overrides import load_or_shipped
from ..kernel.stats import Proportion, share, share_difference

if TYPE_CHECKING:
    from ..kernel.paths import Paths

__all__ = ["CorrectionEffect", "EffectMeter", "measure_effect"]

_ENOUGH_DRIFTS = 10  # in each group; below, the interval spans nearly everything
_MOST_DRIFTS = 100_000  # the latest ones count
_ARMS = ("corrected", "control")


class CorrectionEffect(NamedTuple):
    """The share of drifts whose next reply was in line again, in both groups, and the difference with its 95% interval.

    A drift is an extreme value, so the next reply is usually better with or without a correction (regression to the mean). Only the
    difference to the control group shows the effect of corrections. `unanswered` counts drifts without a next reply that could be measured.
    """

    corrected: Proportion
    control: Proportion
    gap: tuple[float, float, float] | None
    unanswered: int

    @property
    def enough(self) -> bool:
        """Return whether both groups have enough drifts for a conclusion."""
        return min(self.corrected.n, self.control.n) >= _ENOUGH_DRIFTS


class _Next:
    """The reply after a drift: its id, its scores and its judge's levels."""

    __slots__ = ("drifted", "id", "levels", "measured", "padding")

    def __init__(self) -> None:
        self.id = ""
        self._clear()

    def _clear(self) -> None:
        self.measured = False
        self.padding = 0
        self.drifted: list[object] = []
        self.levels: dict[str, Any] | None = None

    def fill(self, row: dict[str, Any]) -> None:
        """Take over the record of the reply, or a later record of the same reply."""
        padding, density, drift = row.get("padding_count"), row.get("density"), row.get("drift")
        if not isinstance(padding, int) or not isinstance(row.get("threshold"), (int, float)):
            return
        if row["id"] != self.id:
            self._clear()
            self.id = row["id"]
        self.padding = padding
        self.measured = isinstance(density, (int, float))
        self.drifted = drift if isinstance(drift, list) else []


class EffectMeter:
    """Takes the rows of `drift` first, then those of `scores`; holds the drifts in memory, not the replies."""

    def __init__(self) -> None:
        self._drifts: dict[str, tuple[str, list[object]]] = {}
        self._said: set[str] = set()
        self._open: dict[
            tuple[object, object], tuple[str, str]
        ] = {}  # session: its last drift, and the reply after it
        self._next: dict[str, _Next] = {}
        self._awaited: dict[str, list[_Next]] = {}  # by the id of the next reply, for its judge's record

    def add_drift(self, row: dict[str, Any]) -> None:
        """Record a drift, or that Claude was told its correction."""
        identity, categories = row.get("id"), row.get("categories")
        if not isinstance(identity, str):
            return
        if row.get("kind") == "said":
            self._said.add(identity)
        elif row.get("kind") == "drift" and row.get("arm") in _ARMS and isinstance(categories, list):
            self._drifts[identity] = (str(row["arm"]), categories)
            if len(self._drifts) > _MOST_DRIFTS:
                oldest = next(iter(self._drifts))
                del self._drifts[oldest]
                self._said.discard(oldest)

    def needs(self, identity: str, project: str, session: str) -> bool:
        """Return whether the record of a scored reply would change anything: one in 20 of a large ledger does."""
        return identity in self._drifts or (project, session) in self._open

    def add_score(self, row: dict[str, Any]) -> None:
        """Record a scored reply or a judge's verdict on one; only replies that follow a drift in their session are kept."""
        identity = row.get("id")
        if not isinstance(identity, str):
            return
        if row.get("kind") == "judged":
            if row.get("outcome") == "ok" and isinstance(row.get("levels"), dict):
                for awaited in self._awaited.get(identity, ()):
                    awaited.levels = row["levels"]
            return
        session = (row.get("project"), row.get("session"))
        drift, after = self._open.get(session, ("", ""))
        if drift and identity != drift and after in ("", identity):
            next_item = self._next.setdefault(drift, _Next())
            next_item.fill(row)
            if next_item.id:
                self._open[session] = (drift, identity)
                self._awaited.setdefault(identity, [next_item])
        elif drift and identity not in (drift, after):
            del self._open[session]
        if identity in self._drifts:
            self._open[session] = (identity, "")

    def effect(self) -> CorrectionEffect:
        """Return the effect over all rows added so far."""
        outcomes: dict[str, list[bool]] = {arm: [] for arm in _ARMS}
        unanswered = 0
        table = load_or_shipped("replies", "drift")
        for identity, (arm, categories) in self._drifts.items():
            if arm == "corrected" and identity not in self._said:
                continue  # no prompt followed, or the correction was too old
            better = _is_in_line(categories, self._next.get(identity), table)
            if better is None:
                unanswered += 1
            else:
                outcomes[arm].append(better)
        corrected, control = (share(sum(found), len(found)) for found in outcomes.values())
        return CorrectionEffect(corrected, control, share_difference(corrected, control), unanswered)


def measure_effect(paths: Paths, since: str = "") -> CorrectionEffect:
    """Return the effect of the corrections since a time."""
    meter = EffectMeter()
    for row in Ledger(paths.state(), "drift").rows():
        if str(row.get("time")) >= since:
            meter.add_drift(row)
    for row in Ledger(paths.state(), "scores").rows():
        meter.add_score(row)
    return meter.effect()


def _is_in_line(categories: list[object], after: _Next | None, table: dict[str, Any]) -> bool | None:
    """Return whether the next reply is in line on all that drifted; None when it was not measured on it."""
    if after is None or not after.measured:
        return None
    checks: list[bool] = []
    for name in categories:
        if name == "padding":
            checks.append(after.padding < table["padding"]["drift"])
        elif name == "density":
            checks.append("density" not in after.drifted)
        elif after.levels is not None and isinstance(name, str):
            level = after.levels.get(name, 0)
            checks.append((level if isinstance(level, int) else 0) < table["judged"]["drift"])
    return all(checks) if checks else None
