"""Compute the confidence of a match, comparable between prompts and between stores of any size.

Four small models over the signals of `signals.py`:

- `answers`, trees: is this memory relevant to the prompt?
- `wants`, trees over the first matches: does the prompt want anything stored here?
- `concerns`, logistic: is the prompt about what this store is about?
- `stands_out`, logistic: is this memory far ahead of the others? It covers long questions and long texts, which the trees rarely saw.

`confidence` is the larger of two log-odds: min(`answers`, `wants` - wants_margin) and min(`stands_out` scaled by `concerns`, `answers` +
ahead_ease). In the first, a memory with phrases has phrases_ease in addition to `answers`, and any other has plain_margin_ease in addition
to `wants`; in the second, one with a file that the prompt names has named_ease in addition. The result is capped at `concerns` +
concerns_ease, and below even odds it is scaled by `concerns`. `pointer_confidence` is max(`confidence`, min(`wants`, `answers` +
pointer_ease)); a memory without phrases has plain_ease in addition.

A match on another subject is never injected, and not pointed to either if other memories have the subject's word, or if the prompt is
hardly about this store.
"""

from __future__ import annotations

from math import exp, inf, log

from .query import PREFIX, Model, PromptTerms
from .signals import Match, log_improbability, match_signals, prompt_signals

_MAX_LOG_ODDS = 50.0
_EVEN = 0.5
_TINY = 1e-9
_ONE_TERM = log(1 + 1)  # the signal `matched`
# The number of matches from which `wants` is computed, and the signals whose maximum over them it takes.
_WANTS_MATCHES = 5
_WANTS_MAXIMA = ("phrase", "covered", "strong", "title_covered", "soft", "pairs", "concerns")


def rate(prompt: PromptTerms, matches: list[Match], documents: int, mean_length: float, model: Model) -> None:
    """Set the signals and both confidences of each match; there must be at least one. `mean_length` is that of the documents in terms.

    Matches too far down to be examined get no signals, and the lowest confidences of those above them.
    """
    shared = prompt_signals(prompt, documents, model)
    examined = matches[: model.confidence["looked_at"]]
    for match in examined:
        signals = match.signals = {**shared, **match_signals(match, matches, prompt)}
        signals.update(_subject_signals(match, prompt, model))
        signals["unlikely"] = log_improbability(
            match, prompt.terms, documents, mean_length, model.ranking["prior"]
        )
        signals["surprise"] = signals["unlikely"] - log(documents)
        signals["concerns"] = logistic(signals, model.confidence["concerns"])
        signals["stands_out"] = logistic(signals, model.confidence["stands_out"])
        signals["answers"] = model.answers.log_odds(signals)
    wants = model.wants.log_odds(wants_signals(shared, [match.signals for match in examined]))
    for match in examined:
        match.signals["wants"] = wants
        match.confidence, match.pointer_confidence = combine(match.signals, model)
    lowest = min(match.confidence for match in examined), min(match.pointer_confidence for match in examined)
    for match in matches[len(examined) :]:
        match.confidence, match.pointer_confidence = lowest


def wants_signals(shared: dict[str, float], examined: list[dict[str, float]]) -> dict[str, float]:
    """Return the inputs of `wants`: the prompt's signals, and a summary of those of its first matches."""
    first = examined[:_WANTS_MATCHES]
    signals = dict(shared)
    for name in _WANTS_MAXIMA:
        signals["most_" + name] = max((match[name] for match in first), default=0.0)
    signals["least_missed"] = min((match["missed"] for match in first), default=1.0)
    chances = sorted((sigmoid(match["answers"]) for match in first), reverse=True) + [0.0] * 3
    signals["first"], signals["second"], signals["third"] = chances[:3]
    signals["together"] = sum(chances)
    return signals


def combine(signals: dict[str, float], model: Model) -> tuple[float, float]:
    """Return confidence and pointer confidence from the models' outputs: `answers` and `wants` as log-odds, the others as probabilities.

    The pointer confidence is at least the confidence.
    """
    settings = model.confidence
    answers, wants, concerns = signals["answers"], signals["wants"], signals["concerns"]
    base = settings["base"]
    lead_log_odds = _log_odds(concerns * (base + (1 - base) * signals["stands_out"]))
    if _is_thin_match(signals, settings["thin"]):
        lead_log_odds = -inf
    eased = answers + settings["phrases_ease"] * (1 - signals["unasked"])
    margin = settings["wants_margin"] - settings["plain_margin_ease"] * signals["unasked"]
    by_relevance = -inf if _is_half_a_title(signals, model) else min(eased, wants - margin)
    named_ease = settings["named_ease"] * signals["named"] * signals["in_files"]
    by_lead = min(lead_log_odds, answers + settings["ahead_ease"] + named_ease)
    chance = sigmoid(min(max(by_relevance, by_lead), _log_odds(concerns) + settings["concerns_ease"]))
    confidence = _scaled(chance, concerns, base)
    ease = settings["pointer_ease"] + settings["plain_ease"] * signals["unasked"]
    pointer = sigmoid(min(wants, answers + ease))
    if _is_other_subject(signals, model):
        confidence = min(confidence, sigmoid(settings["subject_cap"]))
        if signals["lacks_known"] > signals["best"] or concerns < settings["subject_concerns"]:
            pointer = min(pointer, confidence)
    return confidence, max(confidence, pointer)


def _subject_signals(match: Match, prompt: PromptTerms, model: Model) -> dict[str, float]:
    """Return what a match lacks of the words that may be the subject of a short prompt; all 0 for a long one, or a follow-up.

    shared: the number of them that it has
    lacks_subject: the largest mass among them over the prompt's largest; lacks_known: the largest among those that other memories have
    """
    if len(prompt.words) > model.confidence["subject_words"] or prompt.follows:
        return {"shared": 0.0, "lacks_subject": 0.0, "lacks_known": 0.0}
    qualifiers = model.confidence["qualifiers"]
    words = [term for term in prompt.terms if qualifiers.isdisjoint(term.words)]
    missing = [
        term
        for term in words
        if term.stem not in match.matched
        and not (len(term.stem) >= PREFIX and " " + term.stem[:PREFIX] in match.text)
    ]
    return {
        "shared": float(sum(term.stem in match.matched for term in words)),
        "lacks_subject": max((term.mass() for term in missing), default=0.0) / prompt.max_mass,
        "lacks_known": max((term.mass() for term in missing if term.strong), default=0.0),
    }


def _is_other_subject(signals: dict[str, float], model: Model) -> bool:
    """Return whether a match shares the frame of a title, as in "fix the ... bug", but not the word that the prompt is about."""
    settings = model.confidence
    if signals["named"] or signals["phrase_covered"] >= _EVEN or signals["shared"] >= settings["frame_words"]:
        return False
    subject: float = settings["subject"]
    frame: float = settings["frame_asked"] if signals["asks_what_holds"] else settings["frame"]
    return signals["lacks_subject"] >= subject and signals["title_covered"] >= frame


def _is_thin_match(signals: dict[str, float], terms: int) -> bool:
    """Return whether a match has at most this many terms, without the word that the prompt is about."""
    return signals["missed"] >= 1 - _TINY and not signals["named"] and signals["matched"] <= log(1 + terms)


def _is_half_a_title(signals: dict[str, float], model: Model) -> bool:
    """Return whether a match is too little of a title whose memory says more: one word, or a thin match if the prompt asks nothing."""
    if signals["opening_held"] or signals["phrase"] or not signals["has_opening"]:
        return False
    is_question = signals["question"] or signals["asks_what_holds"]
    is_word = signals["matched"] <= _ONE_TERM and not signals["named"]
    return is_word or (not is_question and _is_thin_match(signals, model.confidence["half_a_title"]))


def _scaled(chance: float, concerns: float, base: float) -> float:
    """Return a probability unchanged from even odds up; below, scaled down by `concerns`, continuous at even odds."""
    if chance >= _EVEN:
        return chance
    return _EVEN * concerns * (base + (1 - base) * chance) / (base + (1 - base) * _EVEN)


def logistic(signals: dict[str, float], weights: dict[str, float]) -> float:
    """Return the probability in (0, 1) from a logistic model; `weights` has the weight of each signal it takes, and "intercept"."""
    weighed = sum(weight * signals[name] for name, weight in weights.items() if name != "intercept")
    return sigmoid(weights["intercept"] + weighed)


def sigmoid(log_odds: float) -> float:
    """Return the probability in (0, 1) for log-odds, clamped to ±50 so that exp cannot overflow."""
    return 1 / (1 + exp(-max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, log_odds))))


def _log_odds(chance: float) -> float:
    return log(max(chance, _TINY) / max(1 - chance, _TINY))
