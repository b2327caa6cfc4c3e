"""Choose the next question: vetoes remove candidates; weighted scores, times the multiplier of the phase, rank the rest."""

from __future__ import annotations

from .criteria import SCORERS, VETOES
from .focuses import FOCUSES, Focus, QuestionCandidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .situation import Situation

_DIGITS = 6
_DEEPER_CATEGORIES = ("depth", "contrast", "clarification")


class QuestionChoice:
    """The chosen candidate, the next best, and the vetoed ones.

    `fallback_reason` is why the closing question was taken without a score, or empty.
    """

    __slots__ = ("chosen", "fallback_reason", "runners_up", "vetoed")

    def __init__(
        self,
        chosen: QuestionCandidate,
        runners_up: list[QuestionCandidate],
        vetoed: list[QuestionCandidate],
        fallback_reason: str = "",
    ) -> None:
        self.chosen, self.runners_up, self.vetoed = chosen, runners_up, vetoed
        self.fallback_reason = fallback_reason


def combine_scores(raw_and_weight: Sequence[tuple[float, float]], multiplier: float) -> tuple[float, float]:
    """Return the weighted sum of the raw scores, each clamped to 0 to 2, and that sum times the phase's multiplier.

    The weights are not normalized. With the shipped weights, a candidate that is neutral everywhere has a sum of 1.34.
    """
    total = sum(max(0.0, min(2.0, raw)) * weight for raw, weight in raw_and_weight)
    return round(total, _DIGITS), round(total * multiplier, _DIGITS)


def select_question(now: Situation) -> QuestionChoice:
    """Return the best question to ask now; the closing question if nothing else may be asked."""
    allowed: list[QuestionCandidate] = []
    vetoed: list[QuestionCandidate] = []
    for candidate in _candidates(now):
        candidate.veto = _veto(candidate, now)
        if candidate.veto:
            vetoed.append(candidate)
        else:
            _score(candidate, now)
            allowed.append(candidate)
    ranked = [candidate for candidate in allowed if candidate.score > 0]
    if now.wish == "deeper":
        ranked = [candidate for candidate in allowed if candidate.category in _DEEPER_CATEGORIES] or ranked
    if not ranked:
        return QuestionChoice(_closing_question(now), [], vetoed, "nothing else may be asked")
    ranked.sort(key=lambda candidate: (-candidate.score, candidate.order))
    return QuestionChoice(ranked[0], ranked[1:], vetoed)


def _candidates(now: Situation) -> list[QuestionCandidate]:
    candidates = []
    recent = recent_labels(now)
    for order, entry in enumerate(now.scoring["strategies"]):
        if entry["enabled"]:
            for focus in FOCUSES[entry["focus"]](now, entry["id"]):
                probe = fill_template(
                    texts_for(entry, focus)["probe"], focus.label, now.setup["topic"], recent
                )
                candidates.append(QuestionCandidate(entry, focus, probe, order))
    return candidates


def texts_for(entry: dict[str, Any], focus: Focus) -> dict[str, Any]:
    """Return a strategy's texts for a focus (intent, why, probe), changed by the focus's variant or the pack."""
    if focus.variant:
        return {**entry, **entry.get("variants", {}).get(focus.variant, {})}
    return {**entry, "intent": focus.ask} if focus.ask else entry


def recent_labels(now: Situation) -> str:
    """Return the last two concepts in quotes, to be inserted into a question; "that" if there is none."""
    return " and ".join('"%s"' % now.graph.nodes[index]["label"] for index in now.recent[:2]) or "that"


def fill_template(text: str, focus: str, topic: str, recent: str = "") -> str:
    """Return a strategy's text with focus, topic and recent concepts inserted."""
    values = {"focus": focus, "topic": topic, "recent": recent}
    # Not str.replace: the user's words may contain braces, which must not be expanded in turn.
    filled, *pieces = text.split("{")
    for piece in pieces:
        name, _, rest = piece.partition("}")
        filled += values[name] + rest
    return filled


def _veto(candidate: QuestionCandidate, now: Situation) -> str:
    for entry in now.scoring["vetoes"]:
        if entry["enabled"] and candidate.strategy not in entry["exempt"]:
            why = VETOES[entry["id"]](candidate, now, entry["params"])
            if why:
                return "%s: %s" % (entry["id"], why)
    return ""


def _score(candidate: QuestionCandidate, now: Situation) -> None:
    for entry in now.scoring["scorers"]:
        if entry["enabled"]:
            raw, why, signals = SCORERS[entry["id"]](candidate, now, entry["params"])
            candidate.parts.append((entry["id"], raw, entry["weight"], why, signals))
    candidate.multiplier = now.scoring["multipliers"][now.phase].get(candidate.strategy, 1.0)
    candidate.total, candidate.score = combine_scores(
        [(raw, weight) for _, raw, weight, *_ in candidate.parts], candidate.multiplier
    )


def _closing_question(now: Situation) -> QuestionCandidate:
    """Return the closing question, which may always be asked."""
    strategies = now.scoring["strategies"]
    entry = next((entry for entry in strategies if entry["focus"] == "closing"), strategies[-1])
    focus = Focus("closing", "closing", now.setup["topic"])
    return QuestionCandidate(entry, focus, fill_template(entry["probe"], focus.label, now.setup["topic"]), 0)
