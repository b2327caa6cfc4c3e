"""Whether two questions ask for the same: content words by stem, weighed; n-grams of letters know copies only.

Calibrated on the tuned half of `tests/interview/question_pairs.jsonl`.
"""

from __future__ import annotations

from .wording import content_stems, spoken, stemmed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["Likeness", "prepared_table"]


def prepared_table(table: dict[str, Any]) -> dict[str, Any]:
    """The table of `config/interview/redundancy.json` with its words stemmed once and for all, JSON throughout."""
    groups = [(word, name) for name, members in table["groups"].items() for word in members.split()]
    return dict(
        table,
        function_words=table["function_words"].split(),
        light_words=[stemmed(word) for word in table["light_words"].split()],
        groups={stemmed(word): "=" + name for word, name in groups},
        kinds=[[said, name] for name, all_said in table["kinds"].items() for said in all_said],
        opposites=[pair.split() for pair in table["opposites"]],
        phrases=[[said, name] for name, all_said in table["phrases"].items() for said in all_said],
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
        "_opposites",
        "_other_word",
        "_phrases",
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
        # Absent from interviews that began before there were any.
        self._kinds: list[list[str]] = table.get("kinds", [])
        self._opposites: list[list[str]] = table.get("opposites", [])
        self._phrases: list[list[str]] = table.get("phrases", [])
        self._seen: dict[str, tuple[frozenset[str], str, frozenset[str]]] = {}

    def alike(self, first: str, second: str) -> float:
        """How much two questions ask for the same, from 0 to 1.

        Twice the weight of what they share over the weight of both (Dice, 1945); less where each holds a word of its own, and where
        one asks who and the other why, or one for the contrary of the other.
        """
        (mine, my_kind, my_words), (yours, your_kind, your_words) = self._read(first), self._read(second)
        whole = self._weight(mine) + self._weight(yours)
        if not whole:
            return 0.0
        score = 2 * self._weight(mine & yours) / whole
        own = self._heavy(mine - yours) or (my_kind and not your_kind)
        if own and (self._heavy(yours - mine) or (your_kind and not my_kind)):
            score -= self._both_sides
        if (my_kind and your_kind and my_kind != your_kind) or self._opposed(my_words, your_words):
            score -= self._other_word
        return max(0.0, score)

    def _opposed(self, mine: frozenset[str], yours: frozenset[str]) -> bool:
        """Whether one question holds a word and the other, in its stead, the word for the contrary."""
        only, other = mine - yours, yours - mine
        return any((a in only and b in other) or (b in only and a in other) for a, b in self._opposites)

    def repeated(self, question: str, asked: Iterable[str]) -> tuple[str, float]:
        """The earlier question that this one repeats, and how alike they are; an empty text and the best likeness when it is new."""
        nearest, most = "", 0.0
        for other in asked:
            score = self.alike(question, other)
            if score > most:
                nearest, most = other, score
        return (nearest, most) if most >= self.threshold else ("", most)

    def _read(self, question: str) -> tuple[frozenset[str], str, frozenset[str]]:
        """What a question asks about, by stems and groups; what it asks for, empty for what and how; and its words."""
        if question not in self._seen:
            said = spoken(question)
            every = frozenset(said.split())
            said, kind = self._kind(question, said)
            stems = []
            for phrase, name in self._phrases:
                if " %s " % phrase in said:
                    said = said.replace(" %s " % phrase, "  ")
                    stems += [name] if name else []
            stems += content_stems(said, self._idle)
            self._seen[question] = (frozenset(self._groups.get(one, one) for one in stems), kind, every)
        return self._seen[question]

    def _kind(self, question: str, said: str) -> tuple[str, str]:
        """The spoken question without its words for what it asks for, and what that is: who, when, why, how many, ...

        A single word counts only where a clause begins: "what happens when it fails" asks for no time.
        """
        for mark in ",;:.?!":
            question = question.replace(mark, "\n")
        openings = "|".join(" %s " % " ".join(spoken(clause).split()[:2]) for clause in question.split("\n"))
        for phrase, kind in self._kinds:
            marked = " %s " % phrase
            if marked in said and (" " in phrase or marked in openings):
                return said.replace(marked, " ", 1), kind
        return said, ""

    def _weight(self, stems: frozenset[str]) -> float:
        return sum(self._light if one in self._light_words else 1.0 for one in stems)

    def _heavy(self, stems: frozenset[str]) -> bool:
        return any(one not in self._light_words for one in stems)
