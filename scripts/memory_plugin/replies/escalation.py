"""Decide on one reply: whether a judge should see it, whether it drifted (too padded or too thin), and which correction follows.

The first matching row of the escalation gate wins, and its name goes to the ledger. Shares are whole thousandths here, so that .570 and
.600 are exactly .03 apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kernel.context import Context
from ..kernel.fastjson import digest
from ..kernel.paths import load_data
from ..kernel.settings import Settings
from .phrases import AMBIGUOUS, QUERY_TYPES
from .reply_signals import ReplySignals
from .reply_state import ReplyState

THRESHOLD = "scoring.escalation.thresholds.%s"
PREAMBLE = "scoring.escalation.thresholds.preamble"
_SEVERITIES = ("low", "medium", "high")


class EscalationThresholds:
    """The numbers of the gate, from the settings and `config/replies/gate.json`."""

    __slots__ = (
        "clear_margin", "margin", "max_padding", "min_padding", "mixed_signal", "preamble_min", "thresholds",
    )  # fmt: skip

    def __init__(self, settings: Settings) -> None:
        padding: Any = settings.get("scoring.escalation.padding_range")
        self.min_padding, self.max_padding = sorted(padding)
        self.margin = thousandths(settings.number("scoring.escalation.density_margin"))
        self.mixed_signal = settings.flag("scoring.escalation.mixed_signal")
        self.preamble_min = settings.integer(PREAMBLE)
        self.clear_margin = thousandths(load_data("replies", "gate")["clear_margin"])
        self.thresholds = {kind: thousandths(settings.number(THRESHOLD % kind)) for kind in QUERY_TYPES}

    def with_values(self, **values: object) -> EscalationThresholds:
        """Return a copy with some attributes changed."""
        from copy import copy  # used by `memory replies tune` alone

        changed = copy(self)
        for name, value in values.items():
            setattr(changed, name, value)
        return changed

    def threshold(self, query_type: str) -> int:
        """Return the density that a reply to such a message should have, in thousandths."""
        return self.thresholds.get(query_type, self.thresholds[AMBIGUOUS])


def thousandths(share: float) -> int:
    """Return a share as a whole number of thousandths."""
    return round(share * 1000)


def decide_escalation(
    signals: ReplySignals, query_type: str, bounds: EscalationThresholds
) -> tuple[str, bool]:
    """Return the gate's row for a reply, and whether a judge should see it.

    A reply without a density is never escalated; its row is the reason.
    """
    if signals.density is None:
        return signals.unscored, False
    return find_row(signals.padding, signals.preamble, thousandths(signals.density), query_type, bounds)


def find_row(
    padding: int, preamble: int, density: int, query_type: str, bounds: EscalationThresholds
) -> tuple[str, bool]:
    """Return the gate's first matching row and whether it escalates.

    Args:
        padding: number of filler phrases.
        preamble: number of words before the answer.
        density: share of content words, in thousandths.
        query_type: kind of the message, which decides the expected density.
        bounds: the gate's numbers.
    """
    threshold = bounds.threshold(query_type)
    has_preamble = preamble >= bounds.preamble_min
    rows = (
        ("clean", padding == 0 and not has_preamble and density >= threshold + bounds.clear_margin, False),
        ("clear_drift", padding > bounds.max_padding, False),
        ("padding_range", padding >= max(1, bounds.min_padding), True),
        ("borderline_density", abs(density - threshold) <= bounds.margin, True),
        ("mixed_signal", padding == 0 and has_preamble and bounds.mixed_signal, True),
        ("low_density", padding == 0 and density < threshold - bounds.margin, False),
        ("clean_enough", True, False),
    )
    return next((row, escalate) for row, matches, escalate in rows if matches)


def is_sampled(name: str, identity: str, share: float) -> bool:
    """Return whether an id belongs to a sample of that share; the same id always gets the same answer.

    Each `name` has its own sample, so that being audited is independent of being in the control group.
    """
    draw = int(digest(("%s\0%s" % (name, identity)).encode("utf-8", "replace"), 6), 16)  # uniform in 48 bits
    return draw < share * float(1 << 48)


class Drift:
    """A reply's drift.

    `categories` are `padding`, `density` or judged dimensions; there are none without a drift. `severity` is low, medium or high, and
    `levels` are the judge's, by dimension.
    """

    __slots__ = ("categories", "levels", "severity")

    def __init__(self, categories: list[str], severity: str, levels: dict[str, int]) -> None:
        self.categories = categories
        self.severity = severity
        self.levels = levels


def find_drift(
    signals: ReplySignals, query_type: str, bounds: EscalationThresholds, table: Mapping[str, Any]
) -> Drift:
    """Return the drift that rules detect: three or more filler phrases, or density below the borderline band.

    Density needs enough words of the reply's own, and stays below the band if code, paths and quotes count as content: with them masked,
    a short factual reply consists of function words.
    """
    if signals.density is None:
        return Drift([], "", {})
    categories, weight = [], 0
    if signals.padding >= table["padding"]["drift"]:
        categories.append("padding")
        weight = 2 if signals.padding >= table["padding"]["high"] else 1
    gap = bounds.threshold(query_type) - thousandths(signals.density_with_masked)
    if gap > bounds.margin and signals.words >= table["density"]["least_words"]:
        categories.append("density")
        steps = [thousandths(table["density"][name]) for name in ("medium_gap", "high_gap")]
        weight = max(weight, sum(gap > step for step in steps))
    severity = _SEVERITIES[min(2, weight + len(categories) - 1)] if categories else ""
    return Drift(categories, severity, {})


def raise_drift(before: Drift, levels: dict[str, int], table: Mapping[str, Any]) -> Drift | None:
    """Return the drift with a judge's severe levels added, or None where they add nothing. A judge never lowers a drift."""
    severe = {name: level for name, level in levels.items() if level >= table["judged"]["drift"]}
    if not severe:
        return None
    severity = "high" if max(severe.values()) >= table["judged"]["high"] else "medium"
    if before.categories:
        severity = max(severity, before.severity, key=_SEVERITIES.index)
    return Drift(before.categories + sorted(severe, key=lambda name: -severe[name]), severity, severe)


def choose_correction(drift: Drift, score: Mapping[str, Any], table: Mapping[str, Any]) -> tuple[str, str]:
    """Return the id and the text of the correction for a drift; the text is empty if no correction is intended.

    The matching row with the most conditions wins, of equal ones the last. Rule findings take precedence over a judge's.
    """
    kind = "compound" if {"padding", "density"} <= set(drift.categories) else drift.categories[0]
    case = {"query_type": score["query_type"], "severity": drift.severity}
    best: dict[str, Any] = {"id": "", "text": ""}
    for row in table["corrections"]:
        matches = row["drift"] == kind and all(row.get(name, case[name]) == case[name] for name in case)
        if matches and len(row) >= len(best):
            best = row
    numbers = {
        "padding": score["padding_count"],
        "density": round(100 * (score["density"] or 0.0)),
        "threshold": round(100 * score["threshold"]),
        "level": drift.levels.get(kind, 0),
    }
    return best["id"], best["text"].format(**numbers)[: table["longest"]]


def record_drift(
    drift: Drift, score: Mapping[str, Any], context: Context, *, kind: str = "drift", may_correct: bool = True
) -> None:
    """Append a drift to its ledger, and save its correction for the next prompt unless it is in the control group.

    The correction is saved first, as the next prompt may wait for it, and even if the ledger fails. Without one, an older one is discarded
    if `may_correct`. `score` is the reply's record. Raises OSError.
    """
    settings, table = context.settings, load_data("replies", "drift")
    correction_id, text = choose_correction(drift, score, table)
    is_control = is_sampled("holdout", score["id"], settings.number("scoring.holdout"))
    is_eligible = bool(text) and settings.flag("scoring.corrections") and may_correct
    record: dict[str, object] = {
        "kind": kind, "categories": drift.categories, "severity": drift.severity, "levels": drift.levels, "correction": correction_id,
        "arm": ("control" if is_control else "corrected") if is_eligible else "none",
        **{name: score[name] for name in ("id", "prompt_id", "query_type", "padding_count", "density", "threshold")},
    }  # fmt: skip
    state = ReplyState(context.paths, context.session)
    try:
        if is_eligible and not is_control:
            state.save_correction(score["id"], text, table["pending_hours"])
        elif may_correct:
            state.discard_correction()
    finally:
        context.append("drift", record)
