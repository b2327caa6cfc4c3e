"""Whether two questions ask for the same: content words by stem, weighed; n-grams of letters know copies only.

Calibrated on the tuned half of `tests/interview/question_pairs.jsonl`.
"""

from __future__ import annotations

from .wording import content_stems, stemmed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["Likeness", "prepared_table"]


def prepared_table(table: dict[str, Any]) -> dict[str, Any]:
    """The table of `config/interview/redundancy.json` with its words stemmed once and for all, JSON throughout."""
    groups, kinds = (
        [(word, name) for name, members in table[key].items() for word in members.split()]
        for key in ("groups", "question_words")
    )
    return dict(
        table,
        function_words=table["function_words"].split(),
        light_words=[stemmed(word) for word in table["light_words"].split()],
        groups={stemmed(word): "=" + name for word, name in groups},
        question_words=dict(kinds),
    )


class Likeness:
    """The comparison of questions, made from a prepared table."""

    __slots__ = (
        "_both_sides",
        "_groups",
        "_idle",
        "_kinds",
        "_light",
        "_light_words",
        "_other_word",
        "_seen",
        "threshold",
    )

    def __init__(self, table: dict[str, Any]) -> None:
        self.threshold: float = table["threshold"]
        self._light: float = table["light"]
        self._both_sides: float = table["both_sides"]
        self._other_word: float = table["other_word"]
        self._idle = frozenset(table["function_words"])
        self._light_words = frozenset(table["light_words"])
        self._groups: dict[str, str] = table["groups"]
        self._kinds: dict[str, str] = table["question_words"]
        self._seen: dict[str, tuple[frozenset[str], str]] = {}

    def alike(self, first: str, second: str) -> float:
        """How much two questions ask for the same, from 0 to 1.

        Twice the weight of what they share over the weight of both (Dice, 1945); less where each holds a word of its own, and where
        one asks who and the other why.
        """
        (mine, my_kind), (yours, your_kind) = self._words(first), self._words(second)
        whole = self._weight(mine) + self._weight(yours)
        if not whole:
            return 0.0
        score = 2 * self._weight(mine & yours) / whole
        if self._heavy(mine - yours) and self._heavy(yours - mine):
            score -= self._both_sides
        if my_kind and your_kind and my_kind != your_kind:
            score -= self._other_word
        return max(0.0, score)

    def repeated(self, question: str, asked: Iterable[str]) -> tuple[str, float]:
        """The earlier question that this one repeats, and how alike they are; an empty text and the best likeness when it is new."""
        nearest, most = "", 0.0
        for other in asked:
            score = self.alike(question, other)
            if score > most:
                nearest, most = other, score
        return (nearest, most) if most >= self.threshold else ("", most)

    def _words(self, question: str) -> tuple[frozenset[str], str]:
        if question not in self._seen:
            stems = content_stems(question, self._idle)
            first = (question.lower().split() or [""])[0]
            kind = self._kinds.get(first.strip(",.:;?!"), "")
            self._seen[question] = (frozenset(self._groups.get(one, one) for one in stems), kind)
        return self._seen[question]

    def _weight(self, stems: frozenset[str]) -> float:
        return sum(self._light if one in self._light_words else 1.0 for one in stems)

    def _heavy(self, stems: frozenset[str]) -> bool:
        return any(one not in self._light_words for one in stems)
