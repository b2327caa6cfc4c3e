"""Decide which replies a judge should see: the escalation gate. The first matching row wins, and its name goes to the ledger."""

from __future__ import annotations

from ..kernel.fastjson import digest
from .query_types import AMBIGUOUS, QUERY_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.settings.load import Settings
    from .reply_signals import ReplySignals

THRESHOLD = "scoring.escalation.thresholds.%s"
_PADDING_RANGE = [1, 2]  # phrases; used if the setting is malformed


class EscalationThresholds:
    """The numbers of the gate, from the settings and `config/replies/gate.json`.

    Shares are whole thousandths, so that .570 and .600 are exactly .03 apart.
    """

    __slots__ = (
        "clear_margin",
        "margin",
        "max_padding",
        "min_padding",
        "mixed_signal",
        "preamble_min",
        "thresholds",
    )

    def __init__(self, settings: Settings, table: dict[str, Any]) -> None:
        padding = settings.get("scoring.escalation.padding_range")
        if not isinstance(padding, list) or len(padding) != 2 or padding[0] > padding[1]:
            padding = _PADDING_RANGE
        self.min_padding: int = padding[0]
        self.max_padding: int = padding[1]
        self.margin = thousandths(settings.number("scoring.escalation.density_margin"))
        self.mixed_signal = settings.flag("scoring.escalation.mixed_signal")
        self.preamble_min = settings.integer("scoring.escalation.preamble_min")
        self.clear_margin = thousandths(table["clear_margin"])
        self.thresholds = {kind: thousandths(settings.number(THRESHOLD % kind)) for kind in QUERY_TYPES}

    def with_values(self, thresholds: dict[str, int], preamble_min: int) -> EscalationThresholds:
        """Return a copy with the given thresholds, in thousandths, and `preamble_min`."""
        from copy import copy  # used by `memory replies tune` alone

        changed = copy(self)
        changed.thresholds, changed.preamble_min = thresholds, preamble_min
        return changed

    def threshold(self, query_type: str) -> int:
        """Return the density that a reply to such a message should have, in thousandths."""
        return self.thresholds.get(query_type, self.thresholds[AMBIGUOUS])


def thousandths(share: float) -> int:
    """Return a share as a whole number of thousandths."""
    return round(share * 1000)


class EscalationDecision:
    """The matching row of the gate, and whether a judge should see the reply."""

    __slots__ = ("escalate", "row")

    def __init__(self, row: str, escalate: bool = False) -> None:
        self.row = row
        self.escalate = escalate


def is_within(density: int, threshold: int, margin: int) -> bool:
    """Return whether two shares in thousandths are at most `margin` apart."""
    return abs(density - threshold) <= margin


def decide_escalation(
    signals: ReplySignals, query_type: str, bounds: EscalationThresholds
) -> EscalationDecision:
    """Return the gate's row for a reply. A reply without a density is never escalated; its row is the reason."""
    if signals.density is None:
        return EscalationDecision(signals.unscored)
    density, threshold = thousandths(signals.density), bounds.threshold(query_type)
    return find_row(signals.padding, signals.preamble, density, threshold, bounds)


def find_row(
    padding: int, preamble: int, density: int, threshold: int, bounds: EscalationThresholds
) -> EscalationDecision:
    """Return the gate's first matching row.

    Args:
        padding: number of filler phrases.
        preamble: number of words before the answer.
        density: share of content words, in thousandths.
        threshold: expected density, in thousandths.
        bounds: the gate's numbers.
    """
    has_preamble = preamble >= bounds.preamble_min
    rows = (
        ("clean", padding == 0 and not has_preamble and density >= threshold + bounds.clear_margin, False),
        ("clear_drift", padding > bounds.max_padding, False),
        ("padding_range", padding >= max(1, bounds.min_padding), True),
        ("borderline_density", is_within(density, threshold, bounds.margin), True),
        ("mixed_signal", padding == 0 and has_preamble and bounds.mixed_signal, True),
        ("low_density", padding == 0 and density < threshold - bounds.margin, False),
        ("clean_enough", True, False),
    )
    return next(EscalationDecision(row, escalate) for row, matches, escalate in rows if matches)


def is_sampled(name: str, identity: str, share: float) -> bool:
    """Return whether an id belongs to a sample of that share; the same id always gets the same answer.

    Each `name` has its own sample, so that being audited is independent of being in the control group.
    """
    draw = int(digest(("%s\0%s" % (name, identity)).encode("utf-8", "replace"), 6), 16)  # uniform in 48 bits
    return draw < share * float(1 << 48)
