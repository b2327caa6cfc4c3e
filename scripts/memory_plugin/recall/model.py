"""The ranking model as the index file keeps it, so that a prompt reads no configuration."""

from __future__ import annotations

from ..kernel.native import loads
from .index.file import IndexUnusable, meta_get
from .trees import Trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.sqlite import Connection


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
    """The model this index was made with.  Raises IndexUnusable when it holds none."""
    text = meta_get(connection, "model")
    try:
        found = loads(text or "")
        return Model(**found)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise IndexUnusable("the index holds no ranking model") from None
