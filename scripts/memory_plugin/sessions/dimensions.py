"""Define the six dimensions of a session's grade, their scales and weights, and the overall score."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ..kernel.data import load_data
from ..kernel.settings.load import user_block
from ..kernel.settings.values import defaults

OVERALL = "overall_quality"
CAUSES = (
    *("none", "tool_misuse", "process_violation", "context_waste"),
    *("error_cascade", "output_quality", "multiple"),
)
# How much improvement an overall score requires: the first band whose threshold it reaches.
_BANDS = ((0.85, "none"), (0.75, "minor"), (0.6, "moderate"), (0.4, "significant"), (0.0, "critical"))


class ScoreDimension(NamedTuple):
    """One dimension; `labels` name the levels of a categorical one and are empty for a number from 0 to 1."""

    id: str
    weight: float
    labels: tuple[str, ...]
    merge: str
    description: str

    @property
    def highest(self) -> int:
        """Return the highest score."""
        return len(self.labels) - 1 if self.labels else 1

    def label(self, score: float) -> str:
        """Return a level's name; empty for a number."""
        return self.labels[int(score)] if self.labels else ""


def changed_weights() -> list[float]:
    """Return the weights in the table's order if the user changed them, else an empty list."""
    weights = user_block("sessions.weights")
    return [] if weights == defaults()["sessions.weights"] else list(weights.values())


@cache
def dimensions() -> dict[str, ScoreDimension]:
    """Return all dimensions by name, in the table's order, with the weights of the setting `sessions.weights`."""
    weights = user_block("sessions.weights")
    return {
        entry["id"]: ScoreDimension(
            entry["id"],
            weights[entry["id"]],
            tuple(entry.get("labels", ())),
            entry["merge"],
            entry["description"],
        )
        for entry in load_data("sessions", "dimensions")["dimensions"]
    }


def overall_description() -> str:
    """Return the description of the overall score."""
    return str(load_data("sessions", "dimensions")["overall"]["description"])


def overall_score(scores: Mapping[str, float]) -> float | None:
    """Return the weighted sum of the normalized scores (`session-scoring.md`, Aggregate), to four digits.

    None if a dimension is missing, because missing is not zero.
    """
    if not dimensions().keys() <= scores.keys():
        return None
    weighted = [scores[name] / dim.highest * dim.weight for name, dim in dimensions().items()]
    return round(sum(weighted), 4)


def improvement_band(score: float) -> str:
    """Return how much improvement an overall score requires: critical, significant, moderate, minor or none."""
    return next(band for threshold, band in _BANDS if score >= threshold)
