"""The six dimensions, their scales and weights, and the overall score that they make."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from .data import load_table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OVERALL", "Dimension", "band_of", "causes", "dimensions", "limit", "overall"]

OVERALL = "overall_quality"
_LEVELS = 3.0  # the highest level of a categorical dimension


class Dimension(NamedTuple):
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
        """The score between 0 and 1."""
        return score / _LEVELS if self.categorical else score

    def label(self, score: float) -> str:
        """The name of a level; empty for a number."""
        return self.labels[int(score)] if self.categorical else ""


@cache
def dimensions() -> dict[str, Dimension]:
    """All dimensions by name, in the source's order."""
    entries = load_table("dimensions")["dimensions"]
    return {
        e["id"]: Dimension(e["id"], e["weight"], tuple(e.get("labels", ())), e["merge"], e["description"])
        for e in entries
    }


def causes() -> tuple[str, ...]:
    """The categories of root causes."""
    return tuple(load_table("dimensions")["causes"])


def limit(name: str) -> int:
    """How much is kept of a judge's reply: evidence, improvements, or characters of one text."""
    return int(load_table("dimensions")["limits"][name])


def overall(scores: Mapping[str, float], *, renormalize: bool = False) -> float | None:
    """The weighted sum of the normalized scores (`session-scoring.md`, Aggregate), to four digits.

    None while a dimension is missing, since missing is not zero; with `renormalize` the weights of those present are brought to 1.
    """
    known = {name: dimension for name, dimension in dimensions().items() if name in scores}
    if not known or (len(known) < len(dimensions()) and not renormalize):
        return None
    weight = sum(dimension.weight for dimension in known.values())
    return round(sum(d.normalized(scores[name]) * d.weight for name, d in known.items()) / weight, 4)


def band_of(score: float) -> str:
    """How much an overall score leaves to improve: critical, significant, moderate, minor or none."""
    floors = load_table("dimensions")["bands"]["floors"]
    return str([name for name, floor in floors if score >= floor][-1])
