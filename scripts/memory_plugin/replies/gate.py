"""Decide on one reply: whether a judge should see it, whether it drifted (too padded or too thin), and which correction follows.

The first matching row of the escalation gate wins, and its name goes to the ledger. Shares are whole thousandths here, so that .570 and
.600 are exactly .03 apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..kernel.context import Context
from ..kernel.fastjson import digest
from ..kernel.files import os_error_text
from ..kernel.paths import load_data
from ..kernel.settings import Settings
from . import ReplyState
from .rows import Score

AMBIGUOUS = "ambiguous"
_SEVERITIES = ("low", "medium", "high")
_TRACE = "trace"


class GateBounds:
    """The numbers of the gate, from the settings and `config/replies/gate.json`; densities are in thousandths."""

    def __init__(self, settings: Settings) -> None:
        padding: Any = settings.get("scoring.escalation.padding_range")
        self.min_padding, self.max_padding = sorted(padding)
        self.margin = thousandths(settings.number("scoring.escalation.density_margin"))
        self.clear_margin = thousandths(load_data("replies", "gate")["clear_margin"])
        self.mixed_signal = settings.flag("scoring.escalation.mixed_signal")
        thresholds = dict(settings.block("scoring.escalation.thresholds"))
        self.preamble_min: int = thresholds.pop("preamble")
        self.thresholds = {kind: thousandths(share) for kind, share in thresholds.items()}

    def threshold(self, query_type: str) -> int:
        """Return the density that a reply to such a message should have, in thousandths."""
        return self.thresholds.get(query_type, self.thresholds[AMBIGUOUS])


def thousandths(share: float) -> int:
    """Return a share as a whole number of thousandths."""
    return round(share * 1000)


def find_row(score: Score, bounds: GateBounds) -> tuple[str, bool]:
    """Return the gate's first matching row for a reply with a density, and whether a judge should see it."""
    padding, has_preamble = score.padding_count, score.preamble_words >= bounds.preamble_min
    density, threshold = thousandths(score.density or 0.0), bounds.threshold(score.query_type)
    rows = (
        ("clean", padding == 0 and not has_preamble and density >= threshold + bounds.clear_margin, False),
        ("clear_drift", padding > bounds.max_padding, False),
        ("padding_range", padding >= max(1, bounds.min_padding), True),
        ("borderline_density", abs(density - threshold) <= bounds.margin, True),
        ("mixed_signal", padding == 0 and has_preamble and bounds.mixed_signal, True),
        ("low_density", padding == 0 and density < threshold - bounds.margin, False),
        ("clean_enough", True, False),
    )
    return next((row, escalates) for row, matches, escalates in rows if matches)


def is_sampled(name: str, identity: str, share: float) -> bool:
    """Return whether an id belongs to a sample of that share; the same id always gets the same answer.

    Each `name` has its own sample, so that being audited is independent of being in the control group.
    """
    draw = int(digest(("%s\0%s" % (name, identity)).encode("utf-8", "replace"), 6), 16)  # uniform in 48 bits
    return draw < share * float(1 << 48)


class Drift(NamedTuple):
    """A reply's drift.

    `categories` are `padding`, `density` or judged dimensions; there are none without a drift. `severity` is low, medium or high, and
    `levels` are the judge's, by dimension.
    """

    categories: Sequence[str] = ()
    severity: str = ""
    levels: Mapping[str, int] = {}


def find_drift(score: Score, density: float, margin: int) -> Drift:
    """Return the drift that rules detect: three or more filler phrases, or density well below the borderline band.

    `density` counts code, paths and quotes as content: with them masked, a short factual reply consists of function words. A draft has its
    own voice and counts 1. `margin` is the width of the band, in thousandths. Of a reply without drift, the severity is a trace if drift
    over the session may come of it.
    """
    table = load_data("replies", "drift")
    categories, weight = [], 0
    if score.padding_count >= table["padding"]["drift"]:
        categories.append("padding")
        weight = 2 if score.padding_count >= table["padding"]["high"] else 1
    gap = thousandths(score.threshold) - thousandths(density)
    is_thin = score.density is not None and gap > margin
    least, high = (thousandths(table["density"][name]) for name in ("least_gap", "high_gap"))
    if is_thin and gap > least and score.words >= table["density"]["least_words"]:
        categories.append("density")
        weight = max(weight, 1 + (gap > high))
    if categories:
        return Drift(categories, _SEVERITIES[min(2, weight + len(categories) - 1)])
    has_trace = score.padding_count or (is_thin and score.words >= table["session"]["least_words"])
    return Drift(severity=_TRACE if has_trace else "")


def add_up(recent: str, score: Score) -> tuple[str, Score]:
    """Return the marks of the session's last replies with this one, and the score, with the drift to which they add up, if any.

    A mark is `+` for a reply with drift or a trace of it. After a drift over the session, they begin again.
    """
    table = load_data("replies", "drift")["session"]
    recent = (recent + ("+" if score.severity else "-"))[-table["window"] :]
    if score.severity == _TRACE and recent.count("+") >= table["drift"]:
        return "", score._replace(drift=["session"], severity="medium")
    return recent, score


def raise_drift(before: Drift, levels: Mapping[str, int]) -> Drift | None:
    """Return the drift with a judge's severe levels added, or None where they add nothing. A judge never lowers a drift."""
    table = load_data("replies", "drift")["judged"]
    severe = {name: level for name, level in levels.items() if level >= table["drift"]}
    if not severe:
        return None
    severity = "high" if max(severe.values()) >= table["high"] else "medium"
    if before.categories:
        severity = max(severity, before.severity, key=_SEVERITIES.index)
    return Drift([*before.categories, *sorted(severe, key=lambda name: -severe[name])], severity, severe)


def choose_correction(drift: Drift, score: Score) -> tuple[str, str]:
    """Return the id and the text of the correction for a drift; the text is empty if no correction is intended.

    The matching row with the most conditions wins, of equal ones the last. Rule findings take precedence over a judge's.
    """
    table = load_data("replies", "drift")
    kind = "compound" if {"padding", "density"} <= set(drift.categories) else drift.categories[0]
    case = {"drift": kind, "query_type": score.query_type, "severity": drift.severity}
    rows = reversed(table["corrections"])
    fitting = (row for row in rows if all(row.get(name, case[name]) == case[name] for name in case))
    best = max(fitting, key=len)
    numbers = {
        "padding": score.padding_count,
        "density": round(100 * (score.density or 0.0)),
        "threshold": round(100 * score.threshold),
        "level": drift.levels.get(kind, 0),
    }
    return best["id"], best["text"].format(**numbers)[: table["longest"]]


def record_drift(drift: Drift, score: Score, context: Context, *, may_correct: bool = True) -> None:
    """Append a drift to its ledger, and save its correction for the next prompt unless it is in the control group.

    The correction is saved first, as the next prompt may wait for it, and even if the ledger fails. Without one, an older one is discarded
    if `may_correct`. Raises OSError.
    """
    settings = context.settings
    correction_id, text = choose_correction(drift, score)
    is_control = is_sampled("holdout", score.id, settings.number("scoring.holdout"))
    is_eligible = bool(text) and settings.flag("scoring.corrections") and may_correct
    arm = ("control" if is_control else "corrected") if is_eligible else "none"
    # The judge's levels add to what the rules found.
    kind = "raised" if score.drift and drift.levels else "drift"
    record = {"kind": kind, "id": score.id, **drift._asdict(), "correction": correction_id, "arm": arm}
    state = ReplyState(context.paths, context.session)
    try:
        if is_eligible and not is_control:
            state.save_correction(score.id, text, load_data("replies", "drift")["pending_hours"])
        elif may_correct:
            state.discard_correction()
    finally:
        context.append("drift", record)


def run_steps(*steps: Callable[[], object]) -> list[OSError]:
    """Run every step, even if an earlier one failed; return the errors, whose texts name no path."""
    errors: list[OSError] = []
    for step in steps:
        try:
            step()
        except OSError as error:
            is_named = error.errno is None  # such as LedgerError
            text = "the session's state was not saved: %s" % os_error_text(error)
            errors.append(error if is_named else OSError(text))
    return errors
