"""Drift: when a reply left the line, how far, and what is said about it on the session's next prompt."""

from __future__ import annotations

from .escalation import thousandths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .escalation import Bounds
    from .signals import Signals

__all__ = ["Drift", "correction", "find_drift", "raised"]

_SEVERITIES = ("low", "medium", "high")


class Drift:
    """What drifted: categories (`padding`, `density`, or a judged dimension), severity (low, medium, high), and the numbers."""

    __slots__ = ("categories", "levels", "severity", "threshold")

    def __init__(
        self, categories: list[str], severity: str, threshold: int, levels: dict[str, int] | None = None
    ) -> None:
        self.categories = categories
        self.severity = severity
        self.threshold = threshold
        self.levels = levels or {}


def find_drift(signals: Signals, query_type: str, bounds: Bounds, table: dict[str, Any]) -> Drift | None:
    """The drift that rules can see: three filler phrases or more, or density below the borderline band. None for none."""
    threshold = bounds.threshold(query_type)
    categories, weight = [], 0
    if signals.density is None:
        return None
    if signals.padding >= table["padding"]["drift"]:
        categories.append("padding")
        weight = 2 if signals.padding >= table["padding"]["high"] else 1
    gap = threshold - thousandths(signals.density)
    if gap > bounds.margin:
        categories.append("density")
        grave = [thousandths(table["density"][name]) for name in ("medium_gap", "high_gap")]
        weight = max(weight, sum(gap > bound for bound in grave))
    if not categories:
        return None
    return Drift(categories, _SEVERITIES[min(2, weight + len(categories) - 1)], threshold)


def raised(
    drift: Drift | None, judged: dict[str, int], threshold: int, table: dict[str, Any]
) -> Drift | None:
    """The drift once a judge has spoken: dimensions of 2 or 3 add to it or raise it; nothing that a judge says takes drift away."""
    found = {name: level for name, level in judged.items() if level >= table["judged"]["drift"]}
    if not found:
        return drift
    severity = "high" if max(found.values()) >= table["judged"]["high"] else "medium"
    if drift is not None:
        severity = max(severity, drift.severity, key=_SEVERITIES.index)
    return Drift(
        (drift.categories if drift else []) + sorted(found, key=lambda name: -found[name]),
        severity,
        threshold,
        found,
    )


def correction(
    drift: Drift, padding: int, density: float | None, query_type: str, table: dict[str, Any]
) -> tuple[str, str]:
    """The id and the text of the one correction for a drift, empty where none is meant.

    Of the rows that fit, the one with the most conditions; what rules saw goes before what a judge saw.
    """
    ruled = [name for name in drift.categories if name in ("padding", "density")]
    kind = "compound" if len(ruled) > 1 else drift.categories[0]
    best: dict[str, Any] = {}
    for row in table["corrections"]:
        named = [name for name in ("query_type", "severity") if name in row]
        asked = {"query_type": query_type, "severity": drift.severity}
        if row["drift"] == kind and all(row[name] == asked[name] for name in named) and len(row) >= len(best):
            best = row
    if not best:
        return "", ""
    numbers = {
        "padding": padding,
        "density": round(100 * (density or 0.0)),
        "threshold": round(drift.threshold / 10),
        "level": drift.levels.get(kind, 0),
    }
    return best["id"], best["text"].format(**numbers)[: table["longest"]]
