"""The criteria for choosing a question: vetoes exclude questions, scorers rate the rest.

A veto returns its reason, or an empty text. A scorer returns a raw score from 0 over 1 (neutral) to 2, its reason, and the signals that it
looked at. To add one, write the function, add it to VETOES or SCORERS, and give it an entry in `config/interview/scoring.json`.

The reasons are stored with each decision, and `memory interview replay` compares them: changing a text makes older interviews differ.
"""

from __future__ import annotations

from .wording import content_stems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .focuses import QuestionCandidate
    from .situation import Situation

    Scored = tuple[float, str, dict[str, Any]]

__all__ = ["SCORERS", "VETOES"]


def _knowledge_ceiling(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> str:
    """Veto depth where the user does not know; after several such answers in a row, everything that is not exempt."""
    row = params["terminal_in_a_row"]
    if len(now.turns) >= row and all(now.did_not_know(turn, params) for turn in now.turns[-row:]):
        return "%d answers in a row were that they do not know" % row
    if candidate.category not in params["depth_categories"]:
        return ""
    for turn in now.turns[-params["lookback"] :]:
        if now.did_not_know(turn, params) and _shares(candidate, turn, now):
            return "they do not know about %s" % candidate.focus.label
    return ""


def _shares(candidate: QuestionCandidate, turn: dict[str, Any], now: Situation) -> bool:
    """Return whether a turn was about the same focus as a candidate, or named one of its concepts."""
    if turn["focus"]["key"] == candidate.focus.key:
        return True
    said = set(content_stems(turn["question"], now.idle) + content_stems(turn["answer"], now.idle))
    return any(said.issuperset(name) for at in candidate.focus.nodes for name in now.graph.nodes[at]["names"])


def _clarification_first(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> str:
    signal = now.signals(params).get("uncertainty", {})
    if signal.get("type") != "conceptual_clarity" or signal.get("severity", 1.0) <= params["severity"]:
        return ""
    return "the last question was not understood" if candidate.category in params["categories"] else ""


def _element_exhausted(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> str:
    """Veto what was named in most of the last turns, with several concepts about it."""
    mentions = now.mentions(candidate.focus.label, params["lookback"])
    if candidate.focus.kind == "open" or mentions < params["mentions"]:
        return ""
    wanted = set(content_stems(candidate.focus.label, now.idle))
    related = sum(
        any(wanted.intersection(name) for name in now.graph.nodes[at]["names"]) for at in now.recent
    )
    return (
        "%s was named in %d turns" % (candidate.focus.label, mentions) if related >= params["related"] else ""
    )


def _recent_redundancy(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> str:
    recent = [turn["question"] for turn in now.turns[-params["lookback"] :]]
    earlier, score = now.similarity.find_repeated(candidate.probe, recent)
    return "asked already: %s (%.2f)" % (earlier, score) if earlier else ""


VETOES: dict[str, Callable[[QuestionCandidate, Situation, dict[str, Any]], str]] = {
    "knowledge_ceiling": _knowledge_ceiling,
    "clarification_first": _clarification_first,
    "element_exhausted": _element_exhausted,
    "recent_redundancy": _recent_redundancy,
}


def _coverage_gap(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    gaps = _gaps(candidate, now, params)
    signals = {"gaps": gaps or 0.0, "uncovered_elements": len(now.uncovered)}
    if gaps is None:
        return params["covered"], "nothing uncovered in it", signals
    raw = max(params["least"], min(params["most"], 1 + params["per_gap"] * gaps))
    return raw, "%g gap%s" % (gaps, "" if gaps == 1 else "s"), signals


def _gaps(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> float | None:
    """Return how many gaps a question may close; None for none.

    An element counts itself, and each open element of its group a part. An open question counts one while any element is untouched.
    A question about a concept counts the concept's shallow elements half.
    """
    if candidate.focus.kind == "open":
        return 1.0 if now.uncovered else None
    if candidate.focus.kind == "uncovered":
        element = next(e for e in now.setup["elements"] if e["id"] == candidate.focus.key)
        others = [
            e for e in now.uncovered if e is not element and e["group"] and e["group"] == element["group"]
        ]
        own = max(0.5, now.gap(element["id"], params["shallow"]))
        return own + float(params["neighbour"]) * len(others)
    names = sorted({name for at in candidate.focus.nodes for name in now.graph.nodes[at]["elements"]})
    gaps: float = sum(now.gap(name, params["shallow"]) for name in names)
    return gaps or None


def _ambiguity(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    if candidate.strategy not in params["strategies"] or not now.turns:
        return 1.0, "not for clarifying", {}
    found = _by_signal(now, params)
    if found is not None:
        return found
    hedges = sum(turn["hedges"] for turn in now.turns[-params["lookback"] :])
    confidence = min([now.graph.nodes[at]["confidence"] for at in candidate.focus.nodes], default=0.7)
    signals = {"confidence": confidence, "hedges": hedges}
    if confidence < params["unsure_confidence"] or hedges >= params["hedges"]:
        return params["unsure"], "confidence %g, %d hedges" % (confidence, hedges), signals
    if confidence > params["sure_confidence"] and not hedges:
        return params["sure"], "said with confidence", signals
    return params["some"], "somewhat unsure", signals


def _by_signal(now: Situation, params: dict[str, Any]) -> Scored | None:
    signals = now.signals(params)
    if "uncertainty" in signals:
        kind = signals["uncertainty"]["type"]
        default = params["other"] + params["severity"] * signals["uncertainty"].get("severity", 0.0)
        return params.get(kind, default), kind, {"uncertainty": signals["uncertainty"]}
    if signals.get("reasoning", {}).get("quality") == "causal":
        return params["causal"], "gave a reason", {"reasoning": signals["reasoning"]}
    return None


def _depth_breadth(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    wanted, why = _wanted(now, params)
    average = round(now.chains.average, 4)
    signals = {"breadth": round(now.breadth, 4), "average_chain": average, "favors": wanted}
    other = "breadth" if wanted == "depth" else "depth"
    if not wanted:
        raw = params["balanced"]
    elif candidate.category in params[wanted + "_categories"]:
        raw = params["favoured"]
    else:
        raw = params["disfavoured" if candidate.category in params[other + "_categories"] else "rest"]
    return raw, why, signals


def _wanted(now: Situation, params: dict[str, Any]) -> tuple[str, str]:
    """Return what the balance asks for ("breadth", "depth", or an empty text) and why."""
    signal = now.signals(params).get("concept_depth", {}).get("suggestion")
    if now.breadth < params["breadth"]:
        return "breadth", "%d%% of the elements seen" % round(100 * now.breadth)
    if signal is not None:
        wanted = {"deepen": "depth", "broaden": "breadth"}.get(signal, "")
        return wanted, "the last answer suggests to %s" % signal
    if now.has_ladder and now.chains.average < params["depth"]:
        return "depth", "chains of %.1f steps" % now.chains.average
    return "", "wide and deep enough"


def _engagement(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    momenta = now.momenta(params)
    deep = candidate.category in params["depth_categories"]
    mean = sum(momenta) / len(momenta) if momenta else 50.0
    low = sum(momentum < params["low"] for momentum in momenta)
    signals = {"momentum": round(mean, 4), "low_answers": low}
    if low >= params["low_answers"]:
        return (params["depth"] if deep else params["other"]), "the last answers are short", signals
    raw = params["eager_depth"] if mean > params["high"] and deep else 1.0
    return raw, "momentum %d" % mean, signals


def _strategy_diversity(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    uses = sum(turn["strategy"] == candidate.strategy for turn in now.turns[-params["lookback"] :])
    raw = params["values"][min(uses, len(params["values"]) - 1)]
    return raw, "used %d times of late" % uses, {"recent_uses": uses}


def _novelty(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    mentions = now.mentions(candidate.focus.label, params["lookback"])
    signals = {"recent_mentions": mentions}
    if mentions <= params["few"]:
        return params["fresh"], "hardly named yet", signals
    raw = params["stale" if mentions >= params["many"] else "known"]
    return raw, "named in %d of the last turns" % mentions, signals


def _cluster_saturation(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    why, saturated = "saturation %.2f" % now.saturation, now.saturation > params["high"]
    seen = len(now.graph.nodes)
    signals = {
        "saturation_pct": round(100 * now.saturation, 1),
        "predicted_species": round(seen / now.saturation, 1) if now.saturation else float(seen),
        "is_saturated": saturated,
    }
    if candidate.strategy not in params["strategies"] or now.saturation <= params["some"]:
        return 1.0, why, signals
    return params["strong" if saturated else "moderate"], why, signals


def _contrast_opportunity(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    if candidate.strategy not in params["strategies"]:
        return 1.0, "not for contrasts", {"opportunity_checked": False}
    contradicts = bool(now.signals(params).get("contradiction", {}).get("present"))
    density = _density(candidate, now)
    nodes = candidate.focus.nodes
    opposite = any(now.graph.contrary(node, other) for node in nodes for other in nodes if node < other)
    signals = {"has_opposite_stance": opposite, "local_cluster_density": density, "opportunity_checked": True}
    strong = density > params["density"] or contradicts
    return params["strong" if strong else "moderate"], "opposite stances", signals


def _density(candidate: QuestionCandidate, now: Situation) -> float:
    """Return the highest local density of the concepts in a focus; 0 without any."""
    return round(max((now.graph.density(at) for at in candidate.focus.nodes), default=0.0), 4)


def _peripheral_readiness(candidate: QuestionCandidate, now: Situation, params: dict[str, Any]) -> Scored:
    count = len(now.peripheral)
    checked = candidate.strategy in params["strategies"]
    density = _density(candidate, now) if checked else 0.0
    signals = {"peripheral_count": count, "local_cluster_density": density, "peripheral_checked": checked}
    raw = 1.0
    if checked and count >= params["count"]:
        raw = params["strong" if count >= params["many"] and density > params["density"] else "moderate"]
    return raw, "%d concepts at the edge" % count, signals


SCORERS: dict[str, Callable[[QuestionCandidate, Situation, dict[str, Any]], Scored]] = {
    "coverage_gap": _coverage_gap,
    "ambiguity": _ambiguity,
    "depth_breadth": _depth_breadth,
    "engagement": _engagement,
    "strategy_diversity": _strategy_diversity,
    "novelty": _novelty,
    "cluster_saturation": _cluster_saturation,
    "contrast_opportunity": _contrast_opportunity,
    "peripheral_readiness": _peripheral_readiness,
}
