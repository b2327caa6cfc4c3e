"""Collect the last grade of each session from the `sessions` ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...sessions.score_rows import SCORE, scores_of
from .counting import CappedCounter

if TYPE_CHECKING:
    from typing import Any

__all__ = ["GradedSession", "SessionFigures"]

_MAX_SESSIONS = 20_000
_MAX_NAMES = 200
_MAX_SIGNALS = 100


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
        """Add a grade, which replaces an earlier one of the same session."""
        session, overall = row.get("session"), row.get("overall_quality")
        is_grade = row.get("kind") == SCORE and isinstance(row.get("dimensions"), dict)
        if not is_grade or not isinstance(session, str):
            return
        is_valid = isinstance(overall, (int, float)) and 0 <= overall <= 1
        signals = row.get("signals")
        self.sessions.pop(session[:100], None)  # so that the order is that of the last grades
        self.sessions[session[:100]] = GradedSession(
            row["time"],
            str(row.get("project"))[:100],
            float(overall) if is_valid and overall is not None else None,
            scores_of(row),
            _counts(signals) if isinstance(signals, dict) else {},
        )
        if len(self.sessions) > _MAX_SESSIONS:
            del self.sessions[next(iter(self.sessions))]

    def mean_scores(self) -> dict[str, tuple[float, int]]:
        """Return each dimension's mean score, and the number of sessions in which it has one."""
        scores: dict[str, list[float]] = {}
        for grade in self.sessions.values():
            for name, score in grade.scores.items():
                scores.setdefault(name, []).append(score)
        return {name: (sum(values) / len(values), len(values)) for name, values in scores.items()}

    def signals(self) -> CappedCounter:
        """Return the number of sessions in which each signal occurred."""
        counts = CappedCounter(_MAX_NAMES)
        for grade in self.sessions.values():
            for name in grade.signals:
                counts.add(name)
        return counts


def _counts(signals: dict[str, Any]) -> dict[str, int]:
    pairs = list(signals.items())[:_MAX_SIGNALS]
    return {name[:60]: value for name, value in pairs if isinstance(value, int) and value > 0}
