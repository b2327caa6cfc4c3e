"""Classify the user's message by rules. The reply's expected density depends on the kind of message."""

from __future__ import annotations

from ..kernel.data import load_data
from .filler import POSITIONS
from .phrases import PhraseIndex
from .prose import BREAK, read_prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .prose import Prose

AMBIGUOUS = "ambiguous"
QUERY_TYPES = (
    "code",
    "diagnostic",
    "claim",
    "emotional",
    "meta",
    "directive",
    "factual",
    "conversational",
    AMBIGUOUS,
)
_DRAFTING = "drafting"


class QueryClassifier:
    """The rules of `config/replies/query_types.json`, applied to a message."""

    __slots__ = (
        "_extra_with_code",
        "_levels",
        "_max_characters",
        "_max_counted",
        "_order",
        "_owners",
        "_phrases",
        "_weights",
    )

    def __init__(self, table: dict[str, Any]) -> None:
        classes = {name: frozenset(words.split()) for name, words in table["classes"].items()}
        entries = [(kind["id"], pair) for kind in table["types"] for pair in kind["patterns"]]
        entries += [(_DRAFTING, pair) for pair in table["drafting"]["patterns"]]
        self._phrases = PhraseIndex([pattern for _, (_, pattern) in entries], classes)
        self._levels = [POSITIONS[position] for _, (position, _) in entries]
        self._owners = [owner for owner, _ in entries]
        self._order = [kind["id"] for kind in table["types"]]
        self._weights = {kind["id"]: kind["weight"] for kind in table["types"]}
        self._extra_with_code = {kind["id"]: kind.get("with_code", 0) for kind in table["types"]}
        self._max_characters: int = table["looked_at"]
        self._max_counted: int = table["most_counted"]

    def classify(self, prompt: str) -> tuple[str, bool]:
        """Return a message's kind (`ambiguous` if no rule matches), and whether it asks for a draft in somebody's voice."""
        prose = read_prose(prompt[: self._max_characters])
        counts = self._count_matches(prose)
        points = {
            kind: self._weights[kind] * min(counts.get(kind, 0), self._max_counted) for kind in self._order
        }
        if BREAK in prose.words or "```" in prompt:
            for kind, extra in self._extra_with_code.items():
                points[kind] += extra
        best = max(self._order, key=lambda kind: (points[kind], -self._order.index(kind)))
        return (best if points[best] > 0 else AMBIGUOUS), counts.get(_DRAFTING, 0) > 0

    def _count_matches(self, prose: Prose) -> dict[str, int]:
        """Return at how many words a pattern of each kind begins."""
        counts: dict[str, int] = {}
        first_words = self._phrases.first_words
        for at, word in enumerate(prose.words):
            if word not in first_words:
                continue
            owners = {
                self._owners[number]
                for number in self._phrases.starting_at(prose, at)
                if self._levels[number] <= prose.boundary(at) and self._phrases.match(number, prose, at) >= 0
            }
            for owner in owners:
                counts[owner] = counts.get(owner, 0) + 1
        return counts


def load_query_classifier() -> QueryClassifier:
    """Return the classifier with the rules that the plugin ships."""
    return QueryClassifier(load_data("replies", "query_types"))
