"""The choice of the next question in two tiers: vetoes throw candidates out, weighed scores times the phase's multiplier rank the rest."""

from __future__ import annotations

from .focuses import FOCUSES, Candidate, Focus
from .scorers import SCORERS
from .vetoes import VETOES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .situation import Situation

__all__ = ["Choice", "combined", "filled", "recent_words", "select", "words_of"]

_DIGITS = 6
_DEEP = ("depth", "contrast", "clarification")


class Choice:
    """The chosen candidate, those that come next, and those that were vetoed; `forced` says why no score decided."""

    __slots__ = ("chosen", "forced", "others", "vetoed")

    def __init__(
        self, chosen: Candidate, others: list[Candidate], vetoed: list[Candidate], forced: str
    ) -> None:
        self.chosen, self.others, self.vetoed, self.forced = chosen, others, vetoed, forced


def combined(raw_and_weight: Sequence[tuple[float, float]], multiplier: float) -> tuple[float, float]:
    """The weighed sum of raw scores, each first held within 0 to 2, and that sum times the phase's multiplier.

    The weights are not normalised: with the shipped ones a candidate that is neutral everywhere has 1.34.
    """
    total = sum(max(0.0, min(2.0, raw)) * weight for raw, weight in raw_and_weight)
    return round(total, _DIGITS), round(total * multiplier, _DIGITS)


def select(now: Situation) -> Choice:
    """The best question to ask now; the closing one when nothing else may be asked."""
    candidates = _candidates(now)
    for candidate in candidates:
        candidate.veto = _veto(candidate, now)
        if not candidate.veto:
            _score(candidate, now)
    open_ = [candidate for candidate in candidates if not candidate.veto]
    deeper = [c for c in open_ if c.category in _DEEP] if now.wish == "deeper" else []
    ranked = sorted(deeper or [c for c in open_ if c.score > 0], key=lambda one: (-one.score, one.order))
    vetoed = [candidate for candidate in candidates if candidate.veto]
    if not ranked:
        return Choice(_closing(now), [], vetoed, "nothing else may be asked")
    return Choice(ranked[0], ranked[1:], vetoed, "")


def _candidates(now: Situation) -> list[Candidate]:
    found = []
    recent = recent_words(now)
    for order, entry in enumerate(now.scoring["strategies"]):
        if entry["enabled"]:
            for focus in FOCUSES[entry["focus"]](now, entry["id"]):
                probe = filled(words_of(entry, focus)["probe"], focus.label, now.setup["topic"], recent)
                found.append(Candidate(entry, focus, probe, order))
    return found


def words_of(entry: dict[str, Any], focus: Focus) -> dict[str, Any]:
    """The texts of a strategy for a focus: intent, why, probe; those of a variant where the table has them."""
    found = dict(entry, **entry.get("variants", {}).get(focus.variant, {}))
    return dict(found, intent=focus.ask) if focus.ask and not focus.variant else found


def recent_words(now: Situation) -> str:
    """The two concepts named last, as a question may name them."""
    return " and ".join('"%s"' % now.graph.nodes[at]["label"] for at in now.recent[:2]) or "that"


def filled(text: str, focus: str, topic: str, recent: str = "") -> str:
    """A sentence of the strategies' table with focus, topic and recent concepts put in; what they hold is not looked at again."""
    parts = {"focus": focus, "topic": topic, "recent": recent}
    pieces = text.split("{")
    found = pieces[0]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}")
        found += parts[name] + rest
    return found


def _veto(candidate: Candidate, now: Situation) -> str:
    for entry in now.scoring["vetoes"]:
        if entry["enabled"] and candidate.strategy not in entry["exempt"]:
            why = VETOES[entry["id"]](candidate, now, entry["params"])
            if why:
                return "%s: %s" % (entry["id"], why)
    return ""


def _score(candidate: Candidate, now: Situation) -> None:
    for entry in now.scoring["scorers"]:
        if entry["enabled"]:
            raw, why = SCORERS[entry["id"]](candidate, now, entry["params"])
            candidate.parts.append((entry["id"], raw, entry["weight"], why))
    candidate.multiplier = now.scoring["multipliers"][now.phase].get(candidate.strategy, 1.0)
    candidate.total, candidate.score = combined(
        [(raw, weight) for _, raw, weight, _ in candidate.parts], candidate.multiplier
    )


def _closing(now: Situation) -> Candidate:
    """The closing question, which may always be asked."""
    strategies = now.scoring["strategies"]
    entry = next((e for e in strategies if e["focus"] == "closing"), strategies[-1])
    focus = Focus("closing", "closing", now.setup["topic"])
    return Candidate(entry, focus, filled(entry["probe"], focus.label, now.setup["topic"]), 0)
