"""Define the criteria for choosing a question: vetoes exclude questions, scorers rate the rest.

A veto returns its reason, or "". A scorer returns a raw score from 0 to 2 (1 is neutral), its reason, and the signals it used.
To add one, write the function, add it to VETOES or SCORERS, and give it an entry in `config/interview/scoring.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, NamedTuple

from .situation import Focus, Params, Situation, signals_of
from .wording import content_stems, count_phrases, find_repeated, is_terminal

Scored = tuple[float, str, Mapping[str, object]]


class QuestionCandidate(NamedTuple):
    """A strategy applied to a focus. `probe` is a plain wording of the question, compared with earlier questions."""

    entry: Params
    strategy: str
    category: str
    focus: Focus
    probe: str


def _knowledge_ceiling(candidate: QuestionCandidate, now: Situation, params: Params) -> str:
    """Veto depth on what the user does not know; after several such answers in a row, veto everything that is not exempt."""
    count = params["terminal_in_a_row"]
    if len(now.turns) >= count and all(is_terminal(signals_of(turn, params)) for turn in now.turns[-count:]):
        return "%d answers in a row were that they do not know" % count
    if candidate.category not in params["depth_categories"]:
        return ""
    recent = now.turns[-params["lookback"] :]
    about = [turn["focus"]["key"] for turn in recent if is_terminal(signals_of(turn, params))]
    return "they do not know about %s" % candidate.focus.label if candidate.focus.key in about else ""


def _element_exhausted(candidate: QuestionCandidate, now: Situation, params: Params) -> str:
    """Veto a focus that was mentioned in many of the last turns, if several recent concepts are about it."""
    mentions = now.mentions(candidate.focus.label, params["lookback"])
    stems = set(content_stems(candidate.focus.label))
    labels = [now.graph.nodes[index]["label"] for index in now.recent]
    related = sum(not stems.isdisjoint(content_stems(label)) for label in labels)
    if candidate.focus.kind == "open" or mentions < params["mentions"] or related < params["related"]:
        return ""
    return "%s was named in %d turns" % (candidate.focus.label, mentions)


def _recent_redundancy(candidate: QuestionCandidate, now: Situation, params: Params) -> str:
    """Veto a question that was asked recently, in the same or in other words."""
    recent = [turn["question"] for turn in now.turns[-params["lookback"] :]]
    earlier, score = find_repeated(candidate.probe, recent)
    return "asked already: %s (%.2f)" % (earlier, score) if earlier else ""


VETOES: dict[str, Callable[[QuestionCandidate, Situation, Params], str]] = {
    "knowledge_ceiling": _knowledge_ceiling,
    "element_exhausted": _element_exhausted,
    "recent_redundancy": _recent_redundancy,
}


def _coverage_gap(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    gaps = _gaps(candidate, now, params)
    signals = {"gaps": gaps or 0.0, "uncovered_elements": len(now.uncovered)}
    if gaps is None:
        return params["covered"], "nothing uncovered in it", signals
    raw = max(params["least"], min(params["most"], 1 + params["per_gap"] * gaps))
    return raw, "%g gap%s" % (gaps, "" if gaps == 1 else "s"), signals


def _gaps(candidate: QuestionCandidate, now: Situation, params: Params) -> float | None:
    """Return how many gaps a question may close, or None.

    - An open question: 1 while any element is uncovered.
    - A question about an element: its own gap, plus `neighbour` for each other uncovered element of its group.
    - A question about concepts: the gaps of their elements.
    """
    if candidate.focus.kind == "open":
        return 1.0 if now.uncovered else None
    if candidate.focus.kind == "uncovered":
        key, group = candidate.focus.key, candidate.focus.group
        near = sum(bool(group) and other["group"] == group and other["id"] != key for other in now.uncovered)
        return 1.0 + float(params["neighbour"] * near)
    elements = {name for index in candidate.focus.nodes for name in now.graph.nodes[index]["elements"]}
    return sum(now.gap(name, params["shallow"]) for name in elements) or None


def _ambiguity(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    if candidate.strategy not in params["strategies"] or not now.turns:
        return 1.0, "does not apply", {}
    signals = now.signals(params)
    if "uncertainty" in signals:
        kind = signals["uncertainty"]["type"]
        default = params["other"] + params["severity"] * signals["uncertainty"].get("severity", 0.0)
        return params.get(kind, default), kind, {"uncertainty": signals["uncertainty"]}
    if signals.get("reasoning", {}).get("quality") == "causal":
        return params["causal"], "gave a reason", {"reasoning": signals["reasoning"]}
    hedges = sum(count_phrases(turn["answer"], "hedge") for turn in now.turns[-params["lookback"] :])
    confidence = min([now.graph.nodes[index]["confidence"] for index in candidate.focus.nodes], default=0.7)
    seen = {"confidence": confidence, "hedges": hedges}
    if confidence < params["unsure_confidence"] or hedges >= params["hedges"]:
        return params["unsure"], "confidence %g, %d hedges" % (confidence, hedges), seen
    if confidence > params["sure_confidence"] and not hedges:
        return params["sure"], "said with confidence", seen
    return params["some"], "somewhat unsure", seen


def _depth_breadth(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    favored, why = _favored_direction(now, params)
    average = round(now.chains["average"], 4)
    signals = {"breadth": round(now.breadth, 4), "average_chain": average, "favors": favored}
    opposite = "breadth" if favored == "depth" else "depth"
    if not favored:
        raw = params["balanced"]
    elif candidate.category in params[favored + "_categories"]:
        raw = params["favoured"]
    elif candidate.category in params[opposite + "_categories"]:
        raw = params["disfavoured"]
    else:
        raw = params["rest"]
    return raw, why, signals


def _favored_direction(now: Situation, params: Params) -> tuple[str, str]:
    """Return "breadth", "depth" or "" for neither, and the reason."""
    suggestion = now.signals(params).get("concept_depth", {}).get("suggestion")
    if now.breadth < params["breadth"]:
        return "breadth", "%d%% of the elements seen" % round(100 * now.breadth)
    if suggestion is not None:
        direction = {"deepen": "depth", "broaden": "breadth"}.get(suggestion, "")
        return direction, "the last answer suggests to %s" % suggestion
    if now.has_ladder and now.chains["average"] < params["depth"]:
        return "depth", "chains of %.1f steps" % now.chains["average"]
    return "", "wide and deep enough"


def _engagement(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    momenta = now.momenta(params)
    is_deep = candidate.category in params["depth_categories"]
    mean = sum(momenta) / len(momenta) if momenta else 50.0
    low = sum(momentum < params["low"] for momentum in momenta)
    signals = {"momentum": round(mean, 4), "low_answers": low}
    if low >= params["low_answers"]:
        return params["depth" if is_deep else "other"], "the last answers are short", signals
    return 1.0, "energy %d of 100" % mean, signals


def _strategy_diversity(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    uses = sum(turn["strategy"] == candidate.strategy for turn in now.turns[-params["lookback"] :])
    raw = params["values"][min(uses, len(params["values"]) - 1)]
    return raw, "recently used: %d" % uses, {"recent_uses": uses}


def _novelty(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    mentions = now.mentions(candidate.focus.label, params["lookback"])
    signals = {"recent_mentions": mentions}
    if mentions <= params["few"]:
        return params["fresh"], "rarely mentioned", signals
    raw = params["stale" if mentions >= params["many"] else "known"]
    return raw, "named in %d of the last turns" % mentions, signals


def _cluster_saturation(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    why = "saturation %.2f" % now.saturation
    is_saturated = now.saturation > params["high"]
    seen = len(now.graph.nodes)
    signals = {
        "saturation_pct": round(100 * now.saturation, 1),
        "predicted_species": round(seen / now.saturation, 1) if now.saturation else float(seen),
        "is_saturated": is_saturated,
    }
    if candidate.strategy not in params["strategies"] or now.saturation <= params["some"]:
        return 1.0, why, signals
    return params["strong" if is_saturated else "moderate"], why, signals


def _contrast_opportunity(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    if candidate.strategy not in params["strategies"]:
        return 1.0, "not for contrasts", {"opportunity_checked": False}
    contradicts = bool(now.signals(params).get("contradiction", {}).get("present"))
    dense = _density(candidate, now)
    nodes = candidate.focus.nodes
    is_opposed = any(now.graph.are_opposed(node, other) for node in nodes for other in nodes if node < other)
    signals = {"has_opposite_stance": is_opposed, "local_cluster_density": dense, "opportunity_checked": True}
    is_strong = dense > params["density"] or contradicts
    return params["strong" if is_strong else "moderate"], "opposite stances", signals


def _density(candidate: QuestionCandidate, now: Situation) -> float:
    """Return the highest density around a concept of the focus, 0 to 1; 0 for a focus without concepts."""
    return round(max((now.graph.density(index) for index in candidate.focus.nodes), default=0.0), 4)


def _peripheral_readiness(candidate: QuestionCandidate, now: Situation, params: Params) -> Scored:
    count = len(now.peripheral)
    applies = candidate.strategy in params["strategies"]
    density = _density(candidate, now) if applies else 0.0
    signals = {"peripheral_count": count, "local_cluster_density": density, "peripheral_checked": applies}
    is_strong = count >= params["many"] and density > params["density"]
    raw = params["strong" if is_strong else "moderate"] if applies and count >= params["count"] else 1.0
    return raw, "%d loosely linked concepts" % count, signals


SCORERS: dict[str, Callable[[QuestionCandidate, Situation, Params], Scored]] = {
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
