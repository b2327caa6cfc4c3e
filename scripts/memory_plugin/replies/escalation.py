"""The gate: which replies a judge should see. The first row that fits wins, and its name goes to the ledger."""

from __future__ import annotations

from ..kernel.native import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.settings.load import Settings
    from .signals import Signals

__all__ = ["Bounds", "Decision", "by_hash", "decide", "is_within", "load_bounds"]

_FIRST_PADDING, _LAST_PADDING = 1, 2


class Bounds:
    """The numbers of the gate: densities and margins in thousandths, so that two of them compare exactly."""

    __slots__ = (
        "clear_margin",
        "first_padding",
        "last_padding",
        "margin",
        "mixed_signal",
        "preamble_min",
        "thresholds",
    )

    def __init__(self, settings: Settings, table: dict[str, Any]) -> None:
        padding = settings.get("scoring.escalation.padding_range")
        low, high = (
            padding if isinstance(padding, list) and len(padding) == 2 else (_FIRST_PADDING, _LAST_PADDING)
        )
        self.first_padding, self.last_padding = (
            (low, high) if low <= high else (_FIRST_PADDING, _LAST_PADDING)
        )
        self.margin = thousandths(settings.number("scoring.escalation.density_margin"))
        self.mixed_signal = settings.flag("scoring.escalation.mixed_signal")
        self.preamble_min = settings.integer("scoring.escalation.preamble_min")
        self.clear_margin = thousandths(table["clear_margin"])
        self.thresholds = {kind: thousandths(value) for kind, value in table["thresholds"].items()}

    def threshold(self, query_type: str) -> int:
        """The density that a reply to such a message should have, in thousandths."""
        return self.thresholds.get(query_type, self.thresholds["ambiguous"])


def load_bounds(settings: Settings, table: dict[str, Any]) -> Bounds:
    """The bounds of `config/replies/gate.json` and of the settings."""
    return Bounds(settings, table)


def thousandths(share: float) -> int:
    """A share as a whole number of thousandths."""
    return round(share * 1000)


class Decision:
    """The gate's answer: the row that fitted, and whether a judge should see the reply."""

    __slots__ = ("escalate", "row")

    def __init__(self, row: str, escalate: bool = False) -> None:
        self.row = row
        self.escalate = escalate


def is_within(density: int, threshold: int, margin: int) -> bool:
    """Whether two shares in thousandths lie at most a margin apart; .570 and .600 are within .03 of each other."""
    return abs(density - threshold) <= margin


def decide(signals: Signals, query_type: str, bounds: Bounds) -> Decision:
    """The gate's row for a reply; what was not measured is named and never escalated."""
    if signals.density is None:
        return Decision(signals.unscored)
    padding, density, threshold = signals.padding, thousandths(signals.density), bounds.threshold(query_type)
    announced = signals.preamble >= bounds.preamble_min
    rows = (
        ("clean", padding == 0 and not announced and density >= threshold + bounds.clear_margin, False),
        ("clear_drift", padding > bounds.last_padding, False),
        ("padding_range", padding >= max(1, bounds.first_padding), True),
        ("borderline_density", is_within(density, threshold, bounds.margin), True),
        ("mixed_signal", padding == 0 and announced and bounds.mixed_signal, True),
        ("low_density", padding == 0 and density < threshold - bounds.margin, False),
        ("clean_enough", True, False),
    )
    return next(Decision(row, escalate) for row, fits, escalate in rows if fits)


def by_hash(name: str, identity: str, share: float) -> bool:
    """Whether a thing belongs to a share of all things, told by its id: the same id always gets the same answer.

    Each `name` draws anew, so that who is audited says nothing about who is left uncorrected.
    """
    drawn = int(digest(("%s\0%s" % (name, identity)).encode("utf-8", "replace"), 6), 16)
    return drawn < share * float(1 << 48)
