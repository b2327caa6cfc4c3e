"""Session figures from the ledger `sessions`: the latest grade of each session."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...sessions.score_rows import SCORE, scores_of
from .counting import CappedCounter

if TYPE_CHECKING:
    from typing import Any

_MAX_SESSIONS = 20_000
_MAX_NAMES = 200
_MAX_SIGNALS = 100


class GradedSession(NamedTuple):
    """The latest grade of a session; `overall` (0 to 1) is None while a dimension is missing."""

    time: str
    project: str
    overall: float | None
    scores: dict[str, float]
    signals: dict[str, int]


class SessionFigures:
    """The latest grades, of the latest 20,000 sessions at most."""

    def __init__(self) -> None:
        self.sessions: dict[str, GradedSession] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Add one grade; it replaces an earlier grade of the same session."""
        session, overall = row.get("session"), row.get("overall_quality")
        if (
            row.get("kind") != SCORE
            or not isinstance(session, str)
            or not isinstance(row.get("dimensions"), dict)
        ):
            return
        is_valid = isinstance(overall, (int, float)) and 0 <= overall <= 1
        signals = row.get("signals")
        self.sessions.pop(
            session[:100], None
        )  # a regraded session moves to the end, since the oldest are dropped
        self.sessions[session[:100]] = GradedSession(
            row["time"],
            str(row.get("project"))[:100],
            float(overall) if is_valid and overall is not None else None,
            scores_of(row),
            _valid_counts(signals) if isinstance(signals, dict) else {},
        )
        if len(self.sessions) > _MAX_SESSIONS:
            del self.sessions[next(iter(self.sessions))]

    def mean_scores(self) -> dict[str, tuple[float, int]]:
        """Return each dimension's mean score and number of sessions."""
        sums: dict[str, tuple[float, int]] = {}
        for session in self.sessions.values():
            for name, score in session.scores.items():
                total, n = sums.get(name, (0.0, 0))
                sums[name] = total + score, n + 1
        return {name: (total / n, n) for name, (total, n) in sums.items()}

    def signals(self) -> CappedCounter:
        """Return the number of sessions in which each signal occurred."""
        counter = CappedCounter(_MAX_NAMES)
        for session in self.sessions.values():
            for name in session.signals:
                counter.add(name)
        return counter


def _valid_counts(signals: dict[str, Any]) -> dict[str, int]:
    pairs = list(signals.items())[:_MAX_SIGNALS]
    return {name[:60]: value for name, value in pairs if isinstance(value, int) and value > 0}
