"""Detect drift (a reply too padded or too thin), rate its severity, and choose the correction for the session's next prompt."""

from __future__ import annotations

from ..kernel.overrides import load_or_shipped
from .escalation import is_sampled, thousandths
from .reply_state import ReplyState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from .escalation import EscalationThresholds
    from .reply_signals import ReplySignals

_SEVERITIES = ("low", "medium", "high")


class Drift:
    """A reply's drift and the measures behind it.

    `categories` are `padding`, `density` or judged dimensions, and `severity` is low, medium or high. `threshold` is in thousandths.
    `levels` are the judge's, by dimension.
    """

    __slots__ = ("categories", "density", "levels", "padding", "query_type", "severity", "threshold")

    def __init__(
        self, categories: list[str], severity: str, query_type: str, padding: int, density: float | None, threshold: int
    ) -> None:  # fmt: skip
        self.categories = categories
        self.severity = severity
        self.query_type = query_type
        self.padding = padding
        self.density = density
        self.threshold = threshold
        self.levels: dict[str, int] = {}


def find_drift(
    signals: ReplySignals, query_type: str, bounds: EscalationThresholds, table: dict[str, Any]
) -> Drift | None:
    """Return the drift that rules detect: three or more filler phrases, or density below the borderline band; None without drift."""
    if signals.density is None:
        return None
    threshold = bounds.threshold(query_type)
    categories, weight = [], 0
    if signals.padding >= table["padding"]["drift"]:
        categories.append("padding")
        weight = 2 if signals.padding >= table["padding"]["high"] else 1
    gap = threshold - thousandths(signals.density)
    if gap > bounds.margin:
        categories.append("density")
        steps = [thousandths(table["density"][name]) for name in ("medium_gap", "high_gap")]
        weight = max(weight, sum(gap > step for step in steps))
    if not categories:
        return None
    severity = _SEVERITIES[min(2, weight + len(categories) - 1)]
    return Drift(categories, severity, query_type, signals.padding, signals.density, threshold)


def raise_drift(before: Drift, levels: dict[str, int], table: dict[str, Any]) -> Drift | None:
    """Return the drift with a judge's severe levels added, or None where they add nothing. A judge never lowers a drift.

    `before` has no categories if rules found no drift.
    """
    severe = {name: level for name, level in levels.items() if level >= table["judged"]["drift"]}
    if not severe:
        return None
    severity = "high" if max(severe.values()) >= table["judged"]["high"] else "medium"
    if before.categories:
        severity = max(severity, before.severity, key=_SEVERITIES.index)
    categories = before.categories + sorted(severe, key=lambda name: -severe[name])
    drift = Drift(categories, severity, before.query_type, before.padding, before.density, before.threshold)
    drift.levels = severe
    return drift


def choose_correction(drift: Drift, table: dict[str, Any]) -> tuple[str, str]:
    """Return the id and the text of the correction for a drift; the text is empty if no correction is intended.

    The matching row with the most conditions wins, of equal ones the last. Rule findings take precedence over a judge's.
    """
    by_rules = [name for name in drift.categories if name in ("padding", "density")]
    kind = "compound" if len(by_rules) > 1 else drift.categories[0]
    best: dict[str, Any] = {}
    for row in table["corrections"]:
        conditions = [name for name in ("query_type", "severity") if name in row]
        matches = row["drift"] == kind and all(row[name] == getattr(drift, name) for name in conditions)
        if matches and len(row) >= len(best):
            best = row
    if not best:
        return "", ""
    numbers = {
        "padding": drift.padding,
        "density": round(100 * (drift.density or 0.0)),
        "threshold": round(drift.threshold / 10),
        "level": drift.levels.get(kind, 0),
    }
    return best["id"], best["text"].format(**numbers)[: table["longest"]]


def record_drift(
    drift: Drift, score_id: str, prompt_id: str, context: Context, *, kind: str = "drift", may_correct: bool = True
) -> None:  # fmt: skip
    """Append a drift to its ledger, and save its correction for the next prompt unless it is in the control group.

    The correction is saved even if the ledger fails. Raises LedgerError and StateNotSaved.
    """
    table = load_or_shipped("replies", "drift")
    settings = context.settings
    correction_id, text = choose_correction(drift, table)
    is_control = is_sampled("holdout", score_id, settings.number("scoring.holdout"))
    is_eligible = bool(text) and settings.flag("scoring.corrections") and may_correct
    record: dict[str, object] = {
        "kind": kind, "id": score_id, "prompt_id": prompt_id, "categories": drift.categories, "severity": drift.severity,
        "query_type": drift.query_type, "padding_count": drift.padding, "density": drift.density, "threshold": drift.threshold / 1000,
        "levels": drift.levels, "correction": correction_id,
        "arm": ("control" if is_control else "corrected") if is_eligible else "none",
    }  # fmt: skip
    try:
        context.append("drift", record)
    finally:
        if is_eligible and not is_control:
            ReplyState(context.paths, context.session).save_correction(score_id, text, table["pending_hours"])
