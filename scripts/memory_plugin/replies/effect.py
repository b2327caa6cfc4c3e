"""What corrections do: drifts that were corrected against drifts that were left alone by chance, by the next reply of the session.

A drift is an extreme value, so the next reply is mostly better whatever is said (regression to the mean); only the difference to the
uncorrected share tells what the correction did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.ledger import Ledger
from .data import load_table
from .history import read_scores
from .intervals import Share, difference, share

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from .history import Scored

__all__ = ["Effect", "measure_effect"]

ENOUGH = 10  # drifts in each arm; below, the interval spans nearly everything


class Effect(NamedTuple):
    """The share of drifts after which the next reply was in line again, for both arms, and their difference with its 95 % interval.

    `unanswered` counts drifts without a next reply that could be measured.
    """

    corrected: Share
    control: Share
    gap: tuple[float, float, float] | None
    unanswered: int

    @property
    def enough(self) -> bool:
        """Whether both arms hold enough drifts to say something."""
        return min(self.corrected.n, self.control.n) >= ENOUGH


def measure_effect(places: Places, since: str = "") -> Effect:
    """The effect of the corrections from a time on."""
    scores, _ = read_scores(places)
    following = _next_replies(scores)
    drifts, said = _drifts(places, since)
    outcomes: dict[str, list[bool]] = {"corrected": [], "control": []}
    unanswered = 0
    for row in drifts:
        if row["arm"] == "corrected" and row["id"] not in said:
            continue  # no prompt followed, or the correction was too old
        better = _is_better(row, following.get(row["id"]))
        if better is None:
            unanswered += 1
        else:
            outcomes[row["arm"]].append(better)
    corrected, control = (share(sum(found), len(found)) for found in outcomes.values())
    return Effect(corrected, control, difference(corrected, control), unanswered)


def _next_replies(scores: list[Scored]) -> dict[str, Scored]:
    """Each reply's successor in its session, by the reply's id."""
    last: dict[tuple[str, str], Scored] = {}
    following: dict[str, Scored] = {}
    for one in scores:
        before = last.get((one.project, one.session))
        if before is not None:
            following[before.id] = one
        last[one.project, one.session] = one
    return following


def _drifts(places: Places, since: str) -> tuple[list[dict[str, Any]], set[str]]:
    drifts: dict[str, dict[str, Any]] = {}
    said: set[str] = set()
    for row in Ledger(places.state(), "drift").rows():
        identity = row.get("id")
        if not isinstance(identity, str) or str(row.get("time")) < since:
            continue
        if row.get("kind") == "said":
            said.add(identity)
        elif (
            row.get("kind") == "drift"
            and row.get("arm") in ("corrected", "control")
            and isinstance(row.get("categories"), list)
        ):
            drifts[identity] = row
    return list(drifts.values()), said


def _is_better(row: dict[str, Any], after: Scored | None) -> bool | None:
    """Whether the next reply is in line on all that drifted; None when it was not measured on it."""
    if after is None or after.density is None:
        return None
    bound = load_table("drift")["padding"]["drift"]
    checks: list[bool] = []
    for name in row["categories"]:
        if name == "padding":
            checks.append(after.padding < bound)
        elif name == "density":
            checks.append("density" not in after.drift)
        elif after.judged is not None and isinstance(after.judged.get("levels"), dict):
            checks.append(int(after.judged["levels"].get(name, 0)) < load_table("drift")["judged"]["drift"])
    return all(checks) if checks else None
