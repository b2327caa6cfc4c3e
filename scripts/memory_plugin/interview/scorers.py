"""Second tier: how good a question would be, one dimension each, from 0 over 1 (neutral) to 2; with the reason in words."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .focuses import Candidate
    from .situation import Situation

    Scored = tuple[float, str]

__all__ = ["SCORERS"]


def _coverage_gap(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    gaps = _gaps(asked, now, values)
    if gaps is None:
        return values["covered"], "nothing uncovered in it"
    raw = 1 + values["per_gap"] * gaps
    return max(values["least"], min(values["most"], raw)), "%g gap%s" % (gaps, "" if gaps == 1 else "s")


def _gaps(asked: Candidate, now: Situation, values: dict[str, Any]) -> float | None:
    """The gaps that a question may close; None for none.

    An element counts itself, and its group's other gaps a part, since an untouched group is a wider gap; an open question one while any
    element is untouched; a question on a concept counts its shallow elements half.
    """
    if asked.focus.kind == "open":
        return 1.0 if now.uncovered else None
    if asked.focus.kind == "uncovered":
        element = next(e for e in now.setup["elements"] if e["id"] == asked.focus.key)
        beside = [
            e for e in now.uncovered if e is not element and e["group"] and e["group"] == element["group"]
        ]
        own = max(0.5, now.gap(element["id"], values["shallow"]))
        return own + float(values["neighbour"]) * len(beside)
    names = sorted({name for at in asked.focus.nodes for name in now.graph.nodes[at]["elements"]})
    gaps: float = sum(now.gap(name, values["shallow"]) for name in names)
    return gaps or None


def _ambiguity(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    if asked.strategy not in values["strategies"] or not now.turns:
        return 1.0, "not for clarifying"
    found = _by_signal(now, values)
    if found is not None:
        return found
    hedges = sum(turn["hedges"] for turn in now.turns[-values["lookback"] :])
    confidence = min([now.graph.nodes[at]["confidence"] for at in asked.focus.nodes], default=0.7)
    if confidence < values["unsure_confidence"] or hedges >= values["hedges"]:
        return values["unsure"], "confidence %g, %d hedges" % (confidence, hedges)
    if confidence > values["sure_confidence"] and not hedges:
        return values["sure"], "said with confidence"
    return values["some"], "somewhat unsure"


def _by_signal(now: Situation, values: dict[str, Any]) -> Scored | None:
    signals = now.signals(values)
    if "uncertainty" in signals:
        kind = signals["uncertainty"]["type"]
        beside = values["other"] + values["severity"] * signals["uncertainty"].get("severity", 0.0)
        return values.get(kind, beside), kind
    if signals.get("reasoning", {}).get("quality") == "causal":
        return values["causal"], "gave a reason"
    return None


def _depth_breadth(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    wanted, why = _wanted(now, values)
    if not wanted:
        return values["balanced"], why
    if asked.category in values[wanted + "_categories"]:
        return values["favoured"], why
    other = "breadth" if wanted == "depth" else "depth"
    return (values["disfavoured"] if asked.category in values[other + "_categories"] else values["rest"]), why


def _wanted(now: Situation, values: dict[str, Any]) -> tuple[str, str]:
    """What the balance asks for: "breadth", "depth", or an empty text; and why."""
    signal = now.signals(values).get("concept_depth", {}).get("suggestion")
    if now.breadth < values["breadth"]:
        return "breadth", "%d %% of the elements seen" % round(100 * now.breadth)
    if signal is not None:
        wanted = {"deepen": "depth", "broaden": "breadth"}.get(signal, "")
        return wanted, "the last answer suggests to %s" % signal
    if now.has_ladder and now.chains.average < values["depth"]:
        return "depth", "chains of %.1f steps" % now.chains.average
    return "", "wide and deep enough"


def _engagement(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    momenta = now.momenta(values)
    deep = asked.category in values["depth_categories"]
    if sum(momentum < values["low"] for momentum in momenta) >= values["low_answers"]:
        return (values["depth"] if deep else values["other"]), "the last answers are short"
    mean = sum(momenta) / len(momenta) if momenta else 50.0
    if mean > values["high"] and deep:
        return values["eager_depth"], "momentum %d" % mean
    return 1.0, "momentum %d" % mean


def _strategy_diversity(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    uses = sum(turn["strategy"] == asked.strategy for turn in now.turns[-values["lookback"] :])
    return values["values"][min(uses, len(values["values"]) - 1)], "used %d times of late" % uses


def _novelty(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    mentions = now.mentions(asked.focus.label, values["lookback"])
    if mentions <= values["few"]:
        return values["fresh"], "hardly named yet"
    stale = mentions >= values["many"]
    return (values["stale"] if stale else values["known"]), "named in %d of the last turns" % mentions


def _cluster_saturation(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    why = "saturation %.2f" % now.saturation
    if asked.strategy not in values["strategies"] or now.saturation <= values["some"]:
        return 1.0, why
    return (values["strong"] if now.saturation > values["high"] else values["moderate"]), why


def _contrast_opportunity(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    if asked.strategy not in values["strategies"]:
        return 1.0, "not for contrasts"
    signal = now.signals(values).get("contradiction", {})
    dense = any(now.graph.density(at) > values["density"] for at in asked.focus.nodes)
    strong = dense or bool(signal.get("present"))
    return (values["strong"] if strong else values["moderate"]), "opposite stances"


def _peripheral_readiness(asked: Candidate, now: Situation, values: dict[str, Any]) -> Scored:
    count = len(now.peripheral)
    if asked.strategy not in values["strategies"] or count < values["count"]:
        return 1.0, "%d concepts at the edge" % count
    dense = any(now.graph.density(at) > values["density"] for at in asked.focus.nodes)
    strong = count >= values["many"] and dense
    return (values["strong"] if strong else values["moderate"]), "%d concepts at the edge" % count


SCORERS: dict[str, Callable[[Candidate, Situation, dict[str, Any]], Scored]] = {
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
