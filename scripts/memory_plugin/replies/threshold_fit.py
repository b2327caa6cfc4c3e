"""Fit the density thresholds and the preamble length to one user's own replies, so that 20 to 30% of them escalate.

Only two numbers are fitted, so a few hundred replies suffice: one density quantile that gives the thresholds of all kinds of messages,
and `preamble_min`. Replies with one or two filler phrases escalate whatever the thresholds are.
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

MIN_REPLIES = 200  # replies; the interval of a share of 25% is then +- 6 points
MIN_SHARE, MAX_SHARE = 0.2, 0.3
_TARGET_SHARE = 0.25
_MIN_WORDS = 20  # shorter replies have no meaningful density
_MIN_REPLIES_OF_KIND = 40  # with fewer replies of its kind, a threshold only moves along with the others
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

    `rows` counts the replies of each gate row under the proposal. `blocking_row` is the row that keeps the share outside 20 to 30%, empty
    if the proposal reaches it.
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
            and words >= _MIN_WORDS
        ):
            replies.append(
                MeasuredReply(str(kind), score.model, score.padding, preamble, thousandths(score.density))
            )
    return replies


def escalated_share(replies: Sequence[MeasuredReply], bounds: EscalationThresholds) -> Proportion:
    """Return the share of replies that escalate under given thresholds."""
    return share(sum(_escalating(replies, bounds).values()), len(replies))


def is_outside(part: Proportion) -> bool:
    """Return whether a share is outside 20 to 30%; False for too few replies."""
    return part.n >= MIN_REPLIES and part.value is not None and not MIN_SHARE <= part.value <= MAX_SHARE


def fit_thresholds(replies: Sequence[MeasuredReply], bounds: EscalationThresholds) -> ThresholdFit:
    """Propose thresholds for some replies; the present `bounds` remain if they already reach 20 to 30%.

    Of the combinations that come equally near to 25% (in whole percent), the smallest change wins.
    """
    before = escalated_share(replies, bounds)
    densities = {
        kind: sorted(reply.density for reply in replies if reply.kind == kind) for kind in QUERY_TYPES
    }
    best, min_loss = bounds, _loss(before, bounds, bounds)
    if before.value is None or not MIN_SHARE <= before.value <= MAX_SHARE:
        for quantile in _QUANTILES:
            moved = _at_quantile(densities, quantile, bounds)
            for preamble in sorted({*_PREAMBLES, bounds.preamble_min}):
                trial = bounds.with_values(moved, preamble)
                loss = _loss(escalated_share(replies, trial), trial, bounds)
                if loss < min_loss:
                    best, min_loss = trial, loss
    after = escalated_share(replies, best)
    rows = Counter(_row(reply, best).row for reply in replies)
    blocking_row = _blocking_row(replies, after, best)
    return ThresholdFit(best.thresholds, best.preamble_min, before, after, dict(rows), blocking_row)


def _at_quantile(
    densities: dict[str, list[int]], quantile: float, bounds: EscalationThresholds
) -> dict[str, int]:
    """Return the thresholds at a quantile of each kind's densities; kinds with few replies move by the others' mean."""
    moved = {
        kind: values[int(quantile * (len(values) - 1))]
        for kind, values in densities.items()
        if len(values) >= _MIN_REPLIES_OF_KIND
    }
    weights = {kind: len(densities[kind]) for kind in moved}
    total = sum(weights.values())
    weighted = sum(weights[kind] * (moved[kind] - bounds.threshold(kind)) for kind in moved)
    shift = round(weighted / total) if total else 0
    return {kind: moved.get(kind, max(0, min(1000, bounds.threshold(kind) + shift))) for kind in QUERY_TYPES}


def _loss(
    part: Proportion, trial: EscalationThresholds, present: EscalationThresholds
) -> tuple[int, int, int]:
    """Return the distance from the target in whole percent, then the changes of `preamble_min` and of the thresholds."""
    distance = 100 if part.value is None else round(100 * abs(part.value - _TARGET_SHARE))
    moved = sum(abs(trial.thresholds[kind] - present.thresholds[kind]) for kind in QUERY_TYPES)
    return distance, abs(trial.preamble_min - present.preamble_min), moved


def _row(reply: MeasuredReply, bounds: EscalationThresholds) -> EscalationDecision:
    return find_row(reply.padding, reply.preamble, reply.density, bounds.threshold(reply.kind), bounds)


def _escalating(replies: Sequence[MeasuredReply], bounds: EscalationThresholds) -> Counter[str]:
    decisions = (_row(reply, bounds) for reply in replies)
    return Counter(decision.row for decision in decisions if decision.escalate)


def _blocking_row(replies: Sequence[MeasuredReply], after: Proportion, bounds: EscalationThresholds) -> str:
    """Return the row that escalates most replies if the share is too high, or passes most if it is too low; empty if it is in range."""
    if after.value is None or MIN_SHARE <= after.value <= MAX_SHARE:
        return ""
    if after.value > MAX_SHARE:
        return _escalating(replies, bounds).most_common(1)[0][0]
    decisions = (_row(reply, bounds) for reply in replies)
    passing = Counter(decision.row for decision in decisions if not decision.escalate)
    return passing.most_common(1)[0][0]
