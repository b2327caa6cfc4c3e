"""What kind of message the user sent, told by rules; the threshold that a reply is held to depends on it."""

from __future__ import annotations

from .data import load_table
from .phrases import Phrases
from .prose import BREAK, read_prose
from .rules import POSITIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .prose import Prose

__all__ = ["AMBIGUOUS", "QUERY_TYPES", "QueryTypes", "load_query_types"]

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


class QueryTypes:
    """The rules that tell kinds of messages."""

    __slots__ = ("_levels", "_looked_at", "_most", "_order", "_owners", "_phrases", "_weights", "_with_code")

    def __init__(self, table: dict[str, Any]) -> None:
        classes = {name: frozenset(words.split()) for name, words in table["classes"].items()}
        entries = [(kind["id"], pair) for kind in table["types"] for pair in kind["patterns"]]
        entries += [(_DRAFTING, pair) for pair in table["drafting"]["patterns"]]
        self._phrases = Phrases([pattern for _, (_, pattern) in entries], classes)
        self._levels = [POSITIONS[position] for _, (position, _) in entries]
        self._owners = [owner for owner, _ in entries]
        self._order = [kind["id"] for kind in table["types"]]
        self._weights = {kind["id"]: kind["weight"] for kind in table["types"]}
        self._with_code = {kind["id"]: kind.get("with_code", 0) for kind in table["types"]}
        self._looked_at: int = table["looked_at"]
        self._most: int = table["most_counted"]

    def classify(self, prompt: str) -> tuple[str, bool]:
        """The kind of a message, `ambiguous` when no rule speaks; and whether a text in somebody's voice was asked for."""
        prose = read_prose(prompt[: self._looked_at])
        counts = self._counts(prose)
        points = {kind: self._weights[kind] * min(counts.get(kind, 0), self._most) for kind in self._order}
        if BREAK in prose.words or "```" in prompt:
            for kind, more in self._with_code.items():
                points[kind] += more
        best = max(self._order, key=lambda kind: (points[kind], -self._order.index(kind)))
        return (best if points[best] > 0 else AMBIGUOUS), counts.get(_DRAFTING, 0) > 0

    def _counts(self, prose: Prose) -> dict[str, int]:
        counts: dict[str, int] = {}
        first_words = self._phrases.first_words
        for at in [at for at, word in enumerate(prose.words) if word in first_words]:
            owners = {
                self._owners[number]
                for number in self._phrases.beginning(prose, at)
                if self._levels[number] <= prose.level(at) and self._phrases.match(number, prose, at) >= 0
            }
            for owner in owners:
                counts[owner] = counts.get(owner, 0) + 1
        return counts


def load_query_types() -> QueryTypes:
    """The rules that the plugin ships with."""
    return QueryTypes(load_table("query_types"))
