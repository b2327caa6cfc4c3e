"""How sessions were graded, from the ledger `sessions`: the last grade of each counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...sessions.score_rows import SCORE, scores_of
from .counting import CappedCounter

if TYPE_CHECKING:
    from typing import Any

__all__ = ["GradedSession", "SessionFigures"]

_MOST_SESSIONS = 20_000
_MOST_NAMES = 200
_MOST_SIGNALS = 100


class GradedSession(NamedTuple):
    """The last grade of a session; `overall` is None while a dimension is missing."""

    time: str
    project: str
    overall: float | None
    scores: dict[str, float]
    signals: dict[str, int]


class SessionFigures:
    """The last grades of sessions, of the latest 20,000 at most."""

    def __init__(self) -> None:
        self.sessions: dict[str, GradedSession] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Note one grade, in place of an earlier one of the session."""
        session, overall = row.get("session"), row.get("overall_quality")
        if (
            row.get("kind") != SCORE
            or not isinstance(session, str)
            or not isinstance(row.get("dimensions"), dict)
        ):
            return
        known = isinstance(overall, (int, float)) and 0 <= overall <= 1
        signals = row.get("signals")
        self.sessions.pop(session[:100], None)
        self.sessions[session[:100]] = GradedSession(
            row["time"],
            str(row.get("project"))[:100],
            float(overall) if known and overall is not None else None,
            scores_of(row),
            _counts(signals) if isinstance(signals, dict) else {},
        )
        if len(self.sessions) > _MOST_SESSIONS:
            del self.sessions[next(iter(self.sessions))]

    def mean_scores(self) -> dict[str, tuple[float, int]]:
        """Return the mean score of each dimension and of how many sessions."""
        sums: dict[str, tuple[float, int]] = {}
        for one in self.sessions.values():
            for name, score in one.scores.items():
                total, n = sums.get(name, (0.0, 0))
                sums[name] = total + score, n + 1
        return {name: (total / n, n) for name, (total, n) in sums.items()}

    def signals(self) -> CappedCounter:
        """Return in how many sessions each signal occurred."""
        found = CappedCounter(_MOST_NAMES)
        for one in self.sessions.values():
            for name in one.signals:
                found.add(name)
        return found


def _counts(signals: dict[str, Any]) -> dict[str, int]:
    pairs = list(signals.items())[:_MOST_SIGNALS]
    return {name[:60]: value for name, value in pairs if isinstance(value, int) and value > 0}
