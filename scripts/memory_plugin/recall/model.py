"""The ranking model: trees, weights and words from `config/recall/`, stored in the index file so that a prompt reads no configuration."""

from __future__ import annotations

from ..kernel.fastjson import loads
from .index_file import meta_get, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.sqlite import Connection

UNIT = 10_000


class Trees:
    """A boosted model of `config/recall/trees.json`.

    A tree is a leaf's value, or `[signal, threshold, tree up to the threshold, tree above it]`, where `signal` is an index into `signals`.
    Values are integers in units of 1/10,000: JSON reads them ten times faster than fractions, on every prompt.
    """

    __slots__ = ("intercept", "signals", "trees")

    def __init__(self, signals: list[str], intercept: float, trees: list[Any]) -> None:
        self.signals = signals
        self.intercept = intercept
        self.trees = trees

    def log_odds(self, signals: dict[str, float]) -> float:
        """Return the model's log-odds for these signals."""
        values = [signals[name] * UNIT for name in self.signals]
        total = 0
        for tree in self.trees:
            node = tree
            while node.__class__ is list:
                node = node[2] if values[node[0]] <= node[1] else node[3]
            total += node
        return self.intercept + total / UNIT


class Model:
    """The ranking model of one index.

    Stop words by language, intents, their passages by first word, trees, and the values of `ranking.json` and `confidence.json`.
    """

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
        for words in ("session_words", "qualifiers"):
            self.confidence[words] = frozenset(confidence[words].split())


def load_model(connection: Connection) -> Model:
    """Return the model stored in this index. Raises IndexUnavailable if there is none."""
    text = meta_get(connection, "model") or ""
    return value_of(lambda: Model(**loads(text)), "ranking model")  # type: ignore[arg-type]
