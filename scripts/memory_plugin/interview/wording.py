"""Analyze the words of answers and questions: phrases, stems, and the similarity of two questions.

The similarity is tuned on one half of `tests/interview/question_pairs.jsonl`. Character n-grams were tried instead: they find copies only.
"""

from __future__ import annotations

from ..kernel.text.stem import stem
from ..kernel.text.tokens import fold, is_whole, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

__all__ = [
    "QuestionSimilarity",
    "contains_phrase",
    "contains_run",
    "content_stems",
    "count_phrases",
    "normalize",
    "stem_table",
]

_STEMS: dict[str, str] = {}
_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}


def normalize(text: str) -> str:
    """Return the text in lower case, its words separated and enclosed by single spaces, without apostrophes."""
    kept = fold(text).lower().replace("'", "")
    if kept.isascii():
        return " %s " % " ".join(kept.translate(_BLANKS).split())
    return " %s " % " ".join("".join(c if c.isalnum() else " " for c in kept).split())


def count_phrases(said: str, phrases: Iterable[str]) -> int:
    """Return how often phrases occur in a normalized text, all together."""
    return sum(said.count(" %s " % phrase) for phrase in phrases)


def contains_phrase(said: str, phrases: Iterable[str]) -> bool:
    """Return whether a normalized text contains one of some phrases, compared word by word."""
    return any(" %s " % phrase in said for phrase in phrases)


def cached_stem(word: str) -> str:
    """Return the stem of one word, cached."""
    if word not in _STEMS:
        _STEMS[word] = stem(word)
    return _STEMS[word]


def content_stems(text: str, idle: Collection[str]) -> list[str]:
    """Return the stems of a text's words in order, without idle words.

    A text of idle words alone gives all its stems.
    """
    found = [word for word in words(text) if not is_whole(word)]
    return [cached_stem(word) for word in found if word not in idle] or [cached_stem(word) for word in found]


def contains_run(part: list[str], whole: list[str]) -> bool:
    """Return whether some stems occur consecutively in others; False for no stems."""
    size = len(part)
    return size > 0 and any(whole[at : at + size] == part for at in range(len(whole) - size + 1))


def stem_table(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table of `config/interview/redundancy.json` with its words stemmed, JSON throughout."""
    groups = [(word, name) for name, members in table["groups"].items() for word in members.split()]
    return dict(
        table,
        function_words=table["function_words"].split(),
        light_words=[cached_stem(word) for word in table["light_words"].split()],
        groups={cached_stem(word): "=" + name for word, name in groups},
        kinds=[[said, name] for name, all_said in table["kinds"].items() for said in all_said],
        opposites=[pair.split() for pair in table["opposites"]],
        phrases=[[said, name] for name, all_said in table["phrases"].items() for said in all_said],
    )


class QuestionSimilarity:
    """The comparison of questions by a prepared table."""

    __slots__ = (
        "_both_sides", "_groups", "_idle", "_kinds", "_light", "_light_words", "_opposites", "_other_word",
        "_phrases", "_seen", "threshold",
    )  # fmt: skip

    def __init__(self, table: dict[str, Any]) -> None:
        self.threshold: float = table["threshold"]
        self._light: float = table["light"]
        self._both_sides: float = table["both_sides"]
        self._other_word: float = table["other_word"]
        self._idle = frozenset(table["function_words"])
        self._light_words = frozenset(table["light_words"])
        self._groups: dict[str, str] = table["groups"]
        # Interviews that started with an older version have none of these in their frozen table.
        self._kinds: list[list[str]] = table.get("kinds", [])
        self._opposites: list[list[str]] = table.get("opposites", [])
        self._phrases: list[list[str]] = table.get("phrases", [])
        self._seen: dict[str, tuple[frozenset[str], str, frozenset[str]]] = {}

    def score(self, first: str, second: str) -> float:
        """Return how similar two questions are, from 0 to 1.

        Twice the weight of what they share over the weight of both (Dice, 1945). The score is lowered where each holds a word of its
        own, and where they ask for different things (who, why) or for opposites.
        """
        (mine, my_kind, my_words), (yours, your_kind, your_words) = self._read(first), self._read(second)
        total = self._weight(mine) + self._weight(yours)
        if not total:
            return 0.0
        score = 2 * self._weight(mine & yours) / total
        own = self._has_heavy(mine - yours) or (my_kind and not your_kind)
        if own and (self._has_heavy(yours - mine) or (your_kind and not my_kind)):
            score -= self._both_sides
        if (my_kind and your_kind and my_kind != your_kind) or self._has_opposites(my_words, your_words):
            score -= self._other_word
        return max(0.0, score)

    def _has_opposites(self, mine: frozenset[str], yours: frozenset[str]) -> bool:
        """Return whether one question holds a word and the other its opposite in the same place."""
        only, other = mine - yours, yours - mine
        return any((a in only and b in other) or (b in only and a in other) for a, b in self._opposites)

    def find_repeated(self, question: str, asked: Iterable[str]) -> tuple[str, float]:
        """Return the earlier question that this one repeats and its score; an empty text and the best score for a new one."""
        nearest, most = "", 0.0
        for other in asked:
            score = self.score(question, other)
            if score > most:
                nearest, most = other, score
        return (nearest, most) if most >= self.threshold else ("", most)

    def _read(self, question: str) -> tuple[frozenset[str], str, frozenset[str]]:
        """Return the stems and groups of a question, the kind of thing it asks for (empty for what and how), and its words."""
        if question not in self._seen:
            said = normalize(question)
            every = frozenset(said.split())
            said, kind = self._kind(question, said)
            stems = []
            for phrase, name in self._phrases:
                if " %s " % phrase in said:
                    said = said.replace(" %s " % phrase, "  ")
                    stems += [name] if name else []
            stems += content_stems(said, self._idle)
            self._seen[question] = (frozenset(self._groups.get(word, word) for word in stems), kind, every)
        return self._seen[question]

    def _kind(self, question: str, said: str) -> tuple[str, str]:
        """Return the normalized question without the words for what it asks for, and that kind: who, when, why, how many ...

        A single word counts only where a clause begins: "what happens when it fails" does not ask for a time.
        """
        for mark in ",;:.?!":
            question = question.replace(mark, "\n")
        openings = "|".join(
            " %s " % " ".join(normalize(clause).split()[:2]) for clause in question.split("\n")
        )
        for phrase, kind in self._kinds:
            marked = " %s " % phrase
            if marked in said and (" " in phrase or marked in openings):
                return said.replace(marked, " ", 1), kind
        return said, ""

    def _weight(self, stems: frozenset[str]) -> float:
        return sum(self._light if word in self._light_words else 1.0 for word in stems)

    def _has_heavy(self, stems: frozenset[str]) -> bool:
        return any(word not in self._light_words for word in stems)
