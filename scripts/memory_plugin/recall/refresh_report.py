"""What a refresh of the index did."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HealReport", "added"]


class HealReport(NamedTuple):
    """Memories read anew, dropped, and given another standing; files that are no memories; files left for the next refresh, at least."""

    read: int
    dropped: int
    regraded: int
    unreadable: int
    left: int = 0


def added(one: HealReport, other: HealReport) -> HealReport:
    """Return the sums of two reports."""
    return HealReport(*(a + b for a, b in zip(one, other)))
