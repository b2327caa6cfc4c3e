"""The ranking model as the index file holds it, so that a prompt reads no configuration, and the decision trees in it."""

from __future__ import annotations

from math import exp

from ..kernel.fastjson import loads
from .index_file import IndexUnusable, meta_get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.sqlite import Connection

__all__ = ["UNIT", "Model", "Trees", "load_model", "logistic", "sigmoid"]

UNIT = 10_000
_STEEPEST = 50.0


class Model:
    """Stop words by language, intents, their passages by first word, trees, and the values of `ranking.json` and `confidence.json`."""

    __slots__ = ("answers", "confidence", "intents", "passages", "ranking", "stopwords", "wants")

    def __init__(
        self,
        stopwords: dict[str, str],
        ranking: dict[str, Any],
        confidence: dict[str, Any],
        intents: list[str],
        passages: dict[str, str],
        trees: dict[str, dict[str, Any]],
    ) -> None:
        self.stopwords = {language: frozenset(words.split()) for language, words in stopwords.items()}
        self.intents, self.passages = intents, passages
        self.answers, self.wants = Trees(**trees["answers"]), Trees(**trees["wants"])
        self.ranking = ranking
        self.confidence = confidence
        self.confidence["session_words"] = frozenset(confidence["session_words"].split())


def load_model(connection: Connection) -> Model:
    """Return the model that this index holds. Raises IndexUnusable when it holds none."""
    text = meta_get(connection, "model")
    try:
        found = loads(text or "")
        return Model(**found)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise IndexUnusable("the index holds no ranking model") from None


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
