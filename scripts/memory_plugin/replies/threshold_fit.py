"""Fit the density thresholds and the preamble length to one user's own replies, so that 20 to 30% of them escalate.

Only two numbers are fitted, so that a few hundred replies suffice: the quantile of the density for the thresholds, the same for all
kinds of messages, and `preamble_min`. Replies with one or two phrases of filler escalate whatever the thresholds are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.stats import Proportion, share
from .escalation import find_row, thousandths
from .query_types import QUERY_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .escalation import EscalationDecision, EscalationThresholds
    from .score_history import PastScore

__all__ = [
    "ENOUGH",
    "HIGHEST",
    "LOWEST",
    "MeasuredReply",
    "ThresholdFit",
    "escalated_share",
    "fit_thresholds",
    "is_outside",
    "measured_replies",
]

ENOUGH = 200  # replies; the interval of a share of 25% is then +- 6 points
LOWEST, HIGHEST = 0.2, 0.3
_AIM = 0.25
_FEWEST_WORDS = 20  # shorter replies have no meaningful density
_FEWEST_OF_KIND = 40  # replies of a kind below which its threshold only moves along with the others
_QUANTILES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
_PREAMBLES = (4, 6, 8, 10, 12, 15, 18, 22, 26, 30, 35, 40, 50, 60, 80, 100, 150, 200)


class MeasuredReply(NamedTuple):
    """The gate's inputs for a reply, from the ledger; the density is in thousandths."""

    kind: str
    model: str
    padding: int
    preamble: int
    density: int


class ThresholdFit(NamedTuple):
    """The proposal: thresholds by kind in thousandths, `preamble_min`, and the shares that escalate before and after.

    `blocking_row` is the row of the gate that keeps the share outside 20 to 30%, empty where the proposal reaches it. `rows` counts the
    replies of each row under the proposal.
    """

    thresholds: dict[str, int]
    preamble_min: int
    before: Proportion
    after: Proportion
    rows: dict[str, int]
    blocking_row: str


def measured_replies(scores: Iterable[PastScore]) -> list[MeasuredReply]:
    """Return the replies of at least 20 words with a density."""
    replies = []
    for score in scores:
        words, preamble, kind = (score.row.get(name) for name in ("words", "preamble_words", "query_type"))
        if (
            score.density is not None
            and isinstance(words, int)
            and isinstance(preamble, int)
            and words >= _FEWEST_WORDS
        ):
            replies.append(
                MeasuredReply(str(kind), score.model, score.padding, preamble, thousandths(score.density))
            )
    return replies


def escalated_share(replies: Sequence[MeasuredReply], bounds: EscalationThresholds) -> Proportion:
    """Return the share of replies that escalate under some bounds."""
    return share(sum(_escalating(replies, bounds).values()), len(replies))


def is_outside(part: Proportion) -> bool:
    """Return whether the share of a sufficient number of replies is outside 20 to 30%."""
    return part.n >= ENOUGH and part.value is not None and not LOWEST <= part.value <= HIGHEST


def fit_thresholds(replies: Sequence[MeasuredReply], bounds: EscalationThresholds) -> ThresholdFit:
    """Return the proposal for some replies; `bounds` are the present ones, and remain where they already reach 20 to 30%.

    Of the combinations that come equally near to 25%, in whole percent, the one that changes least wins.
    """
    before = escalated_share(replies, bounds)
    densities = {
        kind: sorted(reply.density for reply in replies if reply.kind == kind) for kind in QUERY_TYPES
    }
    best: tuple[tuple[int, int, int], EscalationThresholds] = (_loss(before, bounds, bounds), bounds)
    if before.value is None or not LOWEST <= before.value <= HIGHEST:
        for quantile in _QUANTILES:
            moved = _at_quantile(densities, quantile, bounds)
            for preamble in sorted({*_PREAMBLES, bounds.preamble_min}):
                trial = bounds.with_values(moved, preamble)
                loss = _loss(escalated_share(replies, trial), trial, bounds)
                if loss < best[0]:
                    best = loss, trial
    chosen = best[1]
    after = escalated_share(replies, chosen)
    rows = Counter(_row(reply, chosen).row for reply in replies)
    return ThresholdFit(
        chosen.thresholds,
        chosen.preamble_min,
        before,
        after,
        dict(rows),
        _blocking_row(replies, after, chosen),
    )


def _at_quantile(
    densities: dict[str, list[int]], quantile: float, bounds: EscalationThresholds
) -> dict[str, int]:
    """Return the thresholds at a quantile of each kind's densities; kinds with few replies move by the mean of the others."""
    moved = {
        kind: found[int(quantile * (len(found) - 1))]
        for kind, found in densities.items()
        if len(found) >= _FEWEST_OF_KIND
    }
    weights = {kind: len(densities[kind]) for kind in moved}
    total = sum(weights.values())
    shift = (
        round(sum(weights[kind] * (moved[kind] - bounds.threshold(kind)) for kind in moved) / total)
        if total
        else 0
    )
    return {kind: moved.get(kind, max(0, min(1000, bounds.threshold(kind) + shift))) for kind in QUERY_TYPES}


def _loss(
    part: Proportion, trial: EscalationThresholds, present: EscalationThresholds
) -> tuple[int, int, int]:
    off = 100 if part.value is None else round(100 * abs(part.value - _AIM))
    moved = sum(abs(trial.thresholds[kind] - present.thresholds[kind]) for kind in QUERY_TYPES)
    return off, abs(trial.preamble_min - present.preamble_min), moved


def _row(reply: MeasuredReply, bounds: EscalationThresholds) -> EscalationDecision:
    return find_row(reply.padding, reply.preamble, reply.density, bounds.threshold(reply.kind), bounds)


def _escalating(replies: Sequence[MeasuredReply], bounds: EscalationThresholds) -> Counter[str]:
    found: Counter[str] = Counter()
    for reply in replies:
        decision = _row(reply, bounds)
        if decision.escalate:
            found[decision.row] += 1
    return found


def _blocking_row(replies: Sequence[MeasuredReply], after: Proportion, bounds: EscalationThresholds) -> str:
    """Return the row that keeps the share outside: the one that escalates most replies if it is too high, else the one that passes most."""
    if after.value is None or LOWEST <= after.value <= HIGHEST:
        return ""
    if after.value > HIGHEST:
        return _escalating(replies, bounds).most_common(1)[0][0]
    passed = Counter(_row(reply, bounds).row for reply in replies if not _row(reply, bounds).escalate)
    return passed.most_common(1)[0][0]
