"""Compute the confidence of a match, comparable between prompts and between stores of any size.

Four small models over the signals of `signals.py`:

- `answers`, trees: is this memory relevant to the prompt?
- `wants`, trees over the first matches: does the prompt want anything stored here?
- `concerns`, logistic: is the prompt about what this store is about?
- `stands_out`, logistic: is this memory far ahead of the others? It covers long questions and long texts, of which the trees saw few.

`confidence` is the output of `answers` if `wants` is likely, or else that of `concerns` and `stands_out` combined, unless `answers` is
very low. If `concerns` is below even odds it scales the confidence down, so that a prompt about something else stays far from the threshold
however well one of its words matches. `pointer_confidence` is the minimum of `wants` and, with a lower threshold, `answers`.
"""

from __future__ import annotations

from math import exp, inf, log

from .signals import Held, log_improbability, match_signals, prompt_signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .query import Query, Term
    from .ranking import Model
    from .scoring import Match

__all__ = ["UNIT", "Confidence", "Trees", "both", "confidences", "logistic", "sigmoid", "wants_signals"]

UNIT = 10_000
_STEEPEST = 50.0
_EVEN = 0.5
_TINY = 1e-9
# Matches that say whether the prompt wants anything stored here.
_FIRST = 5
# Of their signals the greatest counts, of how sure `answers` is the first three and the sum.
_GREATEST = ("phrase", "covered", "strong", "title_covered", "soft", "pairs", "concerns")


class Confidence:
    """The confidence and pointer confidence of one match, each in [0, 1], and the signals behind them."""

    __slots__ = ("confidence", "pointer_confidence", "signals")

    def __init__(self, confidence: float, pointer_confidence: float, signals: dict[str, float]) -> None:
        self.confidence = confidence
        self.pointer_confidence = pointer_confidence
        self.signals = signals


def confidences(
    query: Query,
    terms: list[Term],
    matches: list[Match],
    documents: int,
    mean_length: float,
    rarities: dict[str, float],
    model: Model,
) -> list[Confidence]:
    """Return the confidence of each match; `rarities` maps the words of their titles and phrases to their idf."""
    if not matches:
        return []
    shared = prompt_signals(query, terms, documents, model)
    held = Held(query, terms, rarities)
    found = []
    for match in matches[: model.confidence["looked_at"]]:
        signals = {**shared, **match_signals(match, matches, held)}
        signals["unlikely"] = log_improbability(match, terms, documents, mean_length, model.ranking["prior"])
        signals["surprise"] = signals["unlikely"] - log(documents)
        signals["concerns"] = logistic(signals, model.confidence["concerns"])
        signals["stands_out"] = logistic(signals, model.confidence["stands_out"])
        signals["answers"] = model.answers.log_odds(signals)
        found.append(signals)
    wants = model.wants.log_odds(wants_signals(shared, found))
    sure = [_confidence(signals, wants, model) for signals in found]
    return sure + [_least(sure)] * (len(matches) - len(sure))


def _least(sure: list[Confidence]) -> Confidence:
    """Return the confidence for matches too far down to be examined: the minimum of those above them."""
    least = min(sure, key=lambda confidence: confidence.confidence)
    pointer = min(confidence.pointer_confidence for confidence in sure)
    return Confidence(least.confidence, pointer, least.signals)


def wants_signals(shared: dict[str, float], found: list[dict[str, float]]) -> dict[str, float]:
    """Return the signals of whether a prompt wants anything stored here: its own and those of its first matches."""
    first = found[:_FIRST]
    signals = dict(shared)
    for name in _GREATEST:
        signals["most_" + name] = max((match[name] for match in first), default=0.0)
    signals["least_missed"] = min((match["missed"] for match in first), default=1.0)
    sure = sorted((sigmoid(match["answers"]) for match in first), reverse=True) + [0.0] * 3
    signals["first"], signals["second"], signals["third"] = sure[:3]
    signals["together"] = sum(sure)
    return signals


def _confidence(signals: dict[str, float], wants: float, model: Model) -> Confidence:
    signals["wants"] = wants
    confidence, pointer = both(signals, model.confidence)
    return Confidence(confidence, pointer, signals)


def both(signals: dict[str, float], settings: dict[str, Any]) -> tuple[float, float]:
    """Return confidence and pointer confidence from the models' outputs: `answers` and `wants` as log-odds, the others as probabilities.

    `settings` has the values of `config/recall/confidence.json`. The pointer confidence is high enough whenever the confidence is.
    """
    answers, wants, concerns = signals["answers"], signals["wants"], signals["concerns"]
    base = settings["base"]
    ahead = _log_odds(concerns * (base + (1 - base) * signals["stands_out"]))
    if (
        signals["missed"] >= 1 - _TINY
        and not signals["named"]
        and signals["matched"] <= log(1 + settings["thin"])
    ):
        ahead = -inf  # a few words of a title, without the word that the prompt is about
    sure = max(min(answers, wants - settings["wants_margin"]), min(ahead, answers + settings["ahead_ease"]))
    chance = sigmoid(min(sure, _log_odds(concerns) + settings["concerns_ease"]))
    confidence = _scaled(chance, concerns, base)
    return confidence, max(confidence, sigmoid(min(wants, answers + settings["pointer_ease"])))


def _log_odds(chance: float) -> float:
    return log(max(chance, _TINY) / max(1 - chance, _TINY))


def _scaled(chance: float, concerns: float, base: float) -> float:
    """Return a probability unchanged from even odds up; below, scaled down by `concerns`, continuous at even odds."""
    if chance >= _EVEN:
        return chance
    return _EVEN * concerns * (base + (1 - base) * chance) / (base + (1 - base) * _EVEN)


class Trees:
    """A boosted model of `config/recall/trees.json`.

    A tree is a leaf's number, or `[signal, threshold, tree up to the threshold, tree above it]`, the signal being a place in `signals`.
    Numbers are whole ten-thousandths: JSON reads them ten times faster than fractions, on every prompt.
    """

    __slots__ = ("intercept", "signals", "trees")

    def __init__(self, signals: list[str], intercept: float, trees: list[Any]) -> None:
        self.signals = signals
        self.intercept = intercept
        self.trees = trees

    def log_odds(self, signals: dict[str, float]) -> float:
        """Return the log-odds that the model gives for some signals."""
        values = [signals[name] * UNIT for name in self.signals]
        total = 0
        for tree in self.trees:
            node = tree
            while node.__class__ is list:
                node = node[2] if values[node[0]] <= node[1] else node[3]
            total += node
        return self.intercept + total / UNIT


def sigmoid(log_odds: float) -> float:
    """Return the probability in (0, 1) of some log-odds."""
    return 1 / (1 + exp(-max(-_STEEPEST, min(_STEEPEST, log_odds))))


def logistic(signals: dict[str, float], weights: dict[str, float]) -> float:
    """Return the probability in (0, 1) that a logistic model gives; `weights` names the signals it takes, and "intercept"."""
    return sigmoid(
        weights["intercept"]
        + sum(weight * signals[name] for name, weight in weights.items() if name != "intercept")
    )
