"""Choose the next question: vetoes remove candidates; weighted scores, times the multiplier of the phase, rank the rest."""

from __future__ import annotations

from .criteria import SCORERS, VETOES
from .focuses import FOCUSES, Focus, QuestionCandidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .situation import Situation

__all__ = [
    "QuestionChoice",
    "combine_scores",
    "fill_template",
    "recent_labels",
    "select_question",
    "texts_for",
]

_DIGITS = 6
_DEEP = ("depth", "contrast", "clarification")


class QuestionChoice:
    """The chosen candidate, the next best, and the vetoed ones; `forced` says why no score decided, or is empty."""

    __slots__ = ("chosen", "forced", "others", "vetoed")

    def __init__(
        self,
        chosen: QuestionCandidate,
        others: list[QuestionCandidate],
        vetoed: list[QuestionCandidate],
        forced: str,
    ) -> None:
        self.chosen, self.others, self.vetoed, self.forced = chosen, others, vetoed, forced


def combine_scores(raw_and_weight: Sequence[tuple[float, float]], multiplier: float) -> tuple[float, float]:
    """Return the weighted sum of raw scores, each limited to 0 to 2, and that sum times the multiplier of the phase.

    The weights are not normalized: with the shipped ones a candidate that is neutral everywhere has 1.34.
    """
    total = sum(max(0.0, min(2.0, raw)) * weight for raw, weight in raw_and_weight)
    return round(total, _DIGITS), round(total * multiplier, _DIGITS)


def select_question(now: Situation) -> QuestionChoice:
    """Return the best question to ask now; the closing question when nothing else may be asked."""
    candidates = _candidates(now)
    for candidate in candidates:
        candidate.veto = _veto(candidate, now)
        if not candidate.veto:
            _score(candidate, now)
    open_ = [candidate for candidate in candidates if not candidate.veto]
    deeper = [c for c in open_ if c.category in _DEEP] if now.wish == "deeper" else []
    ranked = sorted(
        deeper or [c for c in open_ if c.score > 0], key=lambda question: (-question.score, question.order)
    )
    vetoed = [candidate for candidate in candidates if candidate.veto]
    if not ranked:
        return QuestionChoice(_closing(now), [], vetoed, "nothing else may be asked")
    return QuestionChoice(ranked[0], ranked[1:], vetoed, "")


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
    """Return the texts of a strategy for a focus (intent, why, probe), from its variant where it has one."""
    found = dict(entry, **entry.get("variants", {}).get(focus.variant, {}))
    return dict(found, intent=focus.ask) if focus.ask and not focus.variant else found


def recent_labels(now: Situation) -> str:
    """Return the two concepts named last, in quotes, as a question may name them."""
    return " and ".join('"%s"' % now.graph.nodes[at]["label"] for at in now.recent[:2]) or "that"


def fill_template(text: str, focus: str, topic: str, recent: str = "") -> str:
    """Return a text of the strategies with focus, topic and recent concepts inserted; inserted text is not expanded again."""
    parts = {"focus": focus, "topic": topic, "recent": recent}
    pieces = text.split("{")
    found = pieces[0]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}")
        found += parts[name] + rest
    return found


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


def _closing(now: Situation) -> QuestionCandidate:
    """Return the closing question, which may always be asked."""
    strategies = now.scoring["strategies"]
    entry = next((e for e in strategies if e["focus"] == "closing"), strategies[-1])
    focus = Focus("closing", "closing", now.setup["topic"])
    return QuestionCandidate(entry, focus, fill_template(entry["probe"], focus.label, now.setup["topic"]), 0)
