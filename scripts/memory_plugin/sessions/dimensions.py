"""The six dimensions, their scales and weights, and the overall score."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from ..kernel.overrides import load_or_shipped

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "OVERALL",
    "ScoreDimension",
    "causes",
    "changed_weights",
    "dimensions",
    "improvement_band",
    "limit",
    "overall",
    "overall_description",
]

OVERALL = "overall_quality"
_LEVELS = 3.0  # the highest level of a categorical dimension


class ScoreDimension(NamedTuple):
    """One dimension; `labels` name the levels of a categorical one and are empty for a number from 0 to 1."""

    id: str
    weight: float
    labels: tuple[str, ...]
    merge: str
    description: str

    @property
    def categorical(self) -> bool:
        """Whether its scores are levels."""
        return bool(self.labels)

    def normalized(self, score: float) -> float:
        """Return the score scaled to 0 to 1."""
        return score / _LEVELS if self.categorical else score

    def label(self, score: float) -> str:
        """Return the name of a level; empty for a number."""
        return self.labels[int(score)] if self.categorical else ""


@cache
def _table() -> dict[str, Any]:
    return load_or_shipped("sessions", "dimensions")


def changed_weights() -> list[float]:
    """Return the user's own weights in the source's order; empty while they are the shipped ones."""
    shipped = [entry["weight"] for entry in load_data("sessions", "dimensions")["dimensions"]]
    present = [dimension.weight for dimension in dimensions().values()]
    return [] if present == shipped else present


@cache
def dimensions() -> dict[str, ScoreDimension]:
    """Return all dimensions by name, in the source's order."""
    entries = _table()["dimensions"]
    return {
        e["id"]: ScoreDimension(
            e["id"], e["weight"], tuple(e.get("labels", ())), e["merge"], e["description"]
        )
        for e in entries
    }


def overall_description() -> str:
    """Return the description of the overall score."""
    return str(_table()["overall"]["description"])


def causes() -> tuple[str, ...]:
    """Return the categories of root causes."""
    return tuple(_table()["causes"])


def limit(name: str) -> int:
    """Return how much is kept of a scorer's reply: evidence, improvements, or characters of one text."""
    return int(_table()["limits"][name])


def overall(scores: Mapping[str, float], *, renormalize: bool = False) -> float | None:
    """Return the weighted sum of the normalized scores (`session-scoring.md`, Aggregate), to four digits.

    None while a dimension is missing, since missing is not zero; with `renormalize` the weights of the present ones are scaled to 1.
    """
    known = {name: dimension for name, dimension in dimensions().items() if name in scores}
    if not known or (len(known) < len(dimensions()) and not renormalize):
        return None
    weight = sum(dimension.weight for dimension in known.values())
    return round(sum(d.normalized(scores[name]) * d.weight for name, d in known.items()) / weight, 4)


def improvement_band(score: float) -> str:
    """Return how much improvement an overall score calls for: critical, significant, moderate, minor or none."""
    thresholds = _table()["bands"]["thresholds"]
    return str([name for name, threshold in thresholds if score >= threshold][-1])
