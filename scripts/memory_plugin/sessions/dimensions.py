"""Define the six dimensions of a session's grade, their scales and weights, and the overall score."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from ..kernel.overrides import load_or_shipped

if TYPE_CHECKING:
    from collections.abc import Mapping

OVERALL = "overall_quality"
_MAX_LEVEL = 3.0  # the highest level of a categorical dimension


class ScoreDimension(NamedTuple):
    """One dimension; `labels` name the levels of a categorical one and are empty for a number from 0 to 1."""

    id: str
    weight: float
    labels: tuple[str, ...]
    merge: str
    description: str

    @property
    def categorical(self) -> bool:
        """Return whether its scores are levels."""
        return bool(self.labels)

    def normalized(self, score: float) -> float:
        """Return the score scaled to 0 to 1."""
        return score / _MAX_LEVEL if self.categorical else score

    def label(self, score: float) -> str:
        """Return a level's name; empty for a number."""
        return self.labels[int(score)] if self.categorical else ""


@cache
def _table() -> dict[str, Any]:
    return load_or_shipped("sessions", "dimensions")


def changed_weights() -> list[float]:
    """Return the weights in the table's order if the user changed them, else an empty list."""
    shipped = [entry["weight"] for entry in load_data("sessions", "dimensions")["dimensions"]]
    present = [dimension.weight for dimension in dimensions().values()]
    return [] if present == shipped else present


@cache
def dimensions() -> dict[str, ScoreDimension]:
    """Return all dimensions by name, in the table's order."""
    return {
        entry["id"]: ScoreDimension(
            entry["id"],
            entry["weight"],
            tuple(entry.get("labels", ())),
            entry["merge"],
            entry["description"],
        )
        for entry in _table()["dimensions"]
    }


def overall_description() -> str:
    """Return the description of the overall score."""
    return str(_table()["overall"]["description"])


def causes() -> tuple[str, ...]:
    """Return the categories of root causes."""
    return tuple(_table()["causes"])


def reply_limit(name: str) -> int:
    """Return how much is used of a scorer's reply: `evidence` or `improvements` items, or characters of one `text`."""
    return int(_table()["limits"][name])


def overall_score(scores: Mapping[str, float], *, renormalize: bool = False) -> float | None:
    """Return the weighted sum of the normalized scores (`session-scoring.md`, Aggregate), to four digits.

    None if a dimension is missing, because missing is not zero. With `renormalize`, the weights of the scored dimensions are scaled to 1.
    """
    scored = [dimension for name, dimension in dimensions().items() if name in scores]
    if not scored or (len(scored) < len(dimensions()) and not renormalize):
        return None
    total = sum(dimension.normalized(scores[dimension.id]) * dimension.weight for dimension in scored)
    return round(total / sum(dimension.weight for dimension in scored), 4)


def improvement_band(score: float) -> str:
    """Return how much improvement an overall score requires: critical, significant, moderate, minor or none."""
    thresholds = _table()["bands"]["thresholds"]
    return str([name for name, threshold in thresholds if score >= threshold][-1])
