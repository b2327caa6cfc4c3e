"""How long each phase of an interview lasts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["phase_lengths"]


def phase_lengths(phases: list[dict[str, Any]], budget: int) -> list[int]:
    """How many questions each phase lasts when there are `budget` in all (>= 1); the last takes the rest."""
    whole = sum(phase["turns"] for phase in phases)
    lengths: list[int] = []
    for phase in phases[:-1]:
        share = max(1, round(budget * phase["turns"] / whole))
        lengths.append(min(share, max(0, budget - sum(lengths) - 1)))
    return [*lengths, max(1, budget - sum(lengths))]
