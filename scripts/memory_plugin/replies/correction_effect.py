"""Measure the effect of corrections against a control group: the share of drifts whose next reply was in line again.

Ledger rows are read as a stream, because the ledgers may be large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.overrides import load_or_shipped
from ..kernel.records import Records
from ..kernel.stats import Proportion, share, share_difference

if TYPE_CHECKING:
    from ..kernel.paths import Paths

_MIN_DRIFTS = 10  # in each group; with fewer, the interval spans nearly everything
_ARMS = ("corrected", "control")


class CorrectionEffect(NamedTuple):
    """The share of drifts whose next reply was in line again, in both groups, and the difference with its 95% interval.

    A drift is an extreme value, so the next reply is usually better even without a correction (regression to the mean). Only the
    difference from the control group shows the effect of corrections. `unanswered` counts drifts without a measurable next reply.
    """

    corrected: Proportion
    control: Proportion
    gap: tuple[float, float, float] | None
    unanswered: int

    @property
    def is_conclusive(self) -> bool:
        """Return whether both groups have enough drifts for a conclusion."""
        return min(self.corrected.n, self.control.n) >= _MIN_DRIFTS


class _NextReply:
    """The reply after a drift: its id, its scores and its judge's levels."""

    __slots__ = ("drifted", "id", "levels", "measured", "padding")

    def __init__(self) -> None:
        self.id = ""
        self._clear()

    def _clear(self) -> None:
        self.measured = False
        self.padding = 0
        self.drifted: list[str] = []
        self.levels: dict[str, int] | None = None

    def fill(self, row: dict[str, Any]) -> None:
        """Set the scores from the reply's record, or from a later record of the same reply."""
        if "padding_count" not in row or "threshold" not in row:
            return
        if row["id"] != self.id:
            self._clear()
            self.id = row["id"]
        self.padding = row["padding_count"]
        self.measured = row.get("density") is not None
        self.drifted = row.get("drift", [])


class EffectMeter:
    """Takes the rows of the `drift` ledger first, then those of `scores`; holds drifts in memory, but no replies."""

    def __init__(self) -> None:
        self._drifts: dict[str, tuple[str, list[str]]] = {}  # id: arm and categories
        self._delivered: set[str] = set()  # drifts whose correction Claude was told
        # (project, session): its last drift, and the id of the reply after it, empty until one is scored
        self._open: dict[tuple[object, object], tuple[str, str]] = {}
        self._next_replies: dict[str, _NextReply] = {}  # by drift
        self._by_reply: dict[str, _NextReply] = {}  # by their own ids, for the judge's record

    def add_drift(self, row: dict[str, Any]) -> None:
        """Record a drift, or that Claude was told its correction."""
        identity = row.get("id", "")
        if row.get("kind") == "said":
            self._delivered.add(identity)
        elif row.get("kind") == "drift" and row.get("arm") in _ARMS and "categories" in row:
            self._drifts[identity] = (row["arm"], row["categories"])

    def add_score(self, row: dict[str, Any]) -> None:
        """Record a scored reply, or a judge's verdict on one, if it follows a drift in its session."""
        identity = row.get("id", "")
        if not identity:
            return
        if row.get("kind") == "judged":
            answered = row.get("outcome") == "ok" and "levels" in row
            if answered and identity in self._by_reply:
                self._by_reply[identity].levels = row["levels"]
            return
        session = (row.get("project"), row.get("session"))
        drift, next_id = self._open.get(session, ("", ""))
        if drift and identity != drift and next_id in ("", identity):
            next_reply = self._next_replies.setdefault(drift, _NextReply())
            next_reply.fill(row)
            if next_reply.id:
                self._open[session] = (drift, identity)
                self._by_reply.setdefault(identity, next_reply)
        elif drift and identity not in (drift, next_id):
            del self._open[session]
        if identity in self._drifts:
            self._open[session] = (identity, "")

    def effect(self) -> CorrectionEffect:
        """Return the effect over all rows added so far."""
        outcomes: dict[str, list[bool]] = {arm: [] for arm in _ARMS}
        unanswered = 0
        table = load_or_shipped("replies", "drift")
        for identity, (arm, categories) in self._drifts.items():
            if arm == "corrected" and identity not in self._delivered:
                continue  # no prompt followed, or the correction was too old
            in_line = _is_in_line(categories, self._next_replies.get(identity), table)
            if in_line is None:
                unanswered += 1
            else:
                outcomes[arm].append(in_line)
        corrected, control = (share(sum(outcomes[arm]), len(outcomes[arm])) for arm in _ARMS)
        return CorrectionEffect(corrected, control, share_difference(corrected, control), unanswered)


def measure_effect(paths: Paths, since: str = "") -> CorrectionEffect:
    """Return the effect of the corrections since a time."""
    meter = EffectMeter()
    for row in Records(paths.state(), "drift", since):
        meter.add_drift(row)
    for row in Records(paths.state(), "scores"):
        meter.add_score(row)
    return meter.effect()


def _is_in_line(categories: list[str], reply: _NextReply | None, table: dict[str, Any]) -> bool | None:
    """Return whether the next reply is in line in all categories that drifted; None if none of them was measured."""
    if reply is None or not reply.measured:
        return None
    checks: list[bool] = []
    for name in categories:
        if name == "padding":
            checks.append(reply.padding < table["padding"]["drift"])
        elif name == "density":
            checks.append("density" not in reply.drifted)
        elif reply.levels is not None:
            checks.append(reply.levels.get(name, 0) < table["judged"]["drift"])
    return all(checks) if checks else None
