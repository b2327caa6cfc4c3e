"""Analyze the words of answers and questions: phrases, stems, signals by rule, and the similarity of two questions.

The similarity was tuned on one half of `tests/interview/question_pairs.jsonl`. Character n-grams were tried too, and found only copies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from ..kernel.text.words import fold, is_compound_name, stem, tokenize
from .interview_store import Signals

_cached_stem = cache(stem)


def normalize(text: str) -> str:
    """Return the text in lower case, its words separated and enclosed by single spaces, without apostrophes."""
    folded = fold(text).lower().replace("'", "")
    return " %s " % " ".join("".join(char if char.isalnum() else " " for char in folded).split())


def count_phrases(text: str, phrases: Iterable[str]) -> int:
    """Return how often any of some phrases occurs in a normalized text, as whole words."""
    return sum(text.count(" %s " % phrase) for phrase in phrases)


def content_stems(text: str, function_words: Collection[str]) -> list[str]:
    """Return the stems of a text's words in order, without function words unless it has no others."""
    all_words = [word for word in tokenize(text) if not is_compound_name(word)]
    content = [word for word in all_words if word not in function_words]
    return [_cached_stem(word) for word in content or all_words]


def contains_run(run: list[str], stems: list[str]) -> bool:
    """Return whether the stems of `run` occur consecutively in `stems`; False for an empty run."""
    size = len(run)
    return size > 0 and any(stems[start : start + size] == run for start in range(len(stems) - size + 1))


def signals_by_rule(answer: str, patterns: dict[str, list[str]], *, has_concepts: bool = True) -> Signals:
    """Return the signals found by phrases in an answer.

    An answer without concepts that ends in a question mark is a question in return.
    """
    text = normalize(answer)
    found = {name: count_phrases(text, phrases) for name, phrases in patterns.items()}
    signals: Signals = {}
    is_exploratory = bool(found["exploratory"])
    if found["terminal"]:
        response = "exploratory" if is_exploratory else "terminal"
        signals["knowledge_ceiling"] = {"terminal": not is_exploratory, "response": response}
    is_plain = not has_concepts and not is_exploratory and not found["terminal"]
    if found["confused"] or (is_plain and answer.rstrip().endswith("?")):
        signals["uncertainty"] = {"type": "conceptual_clarity", "severity": 0.6}
    elif found["terminal"]:
        signals["uncertainty"] = {"type": "knowledge_gap", "severity": 0.4 if is_exploratory else 0.9}
    elif found["hedge"] >= 2:
        severity = min(1.0, found["hedge"] / 4)
        signals["uncertainty"] = {"type": "confidence_qualification", "severity": severity}
    if found["causal"]:
        signals["reasoning"] = {"quality": "causal"}
    if found["reversal"]:
        signals["contradiction"] = {"present": True, "kind": "stance_reversal"}
    if found["positive"] != found["negative"]:
        is_strong = max(found["positive"], found["negative"]) >= 2 or found["intensifier"]
        direction = "positive" if found["positive"] > found["negative"] else "negative"
        signals["emotional"] = {"intensity": ("high_" if is_strong else "moderate_") + direction}
    return signals


def wants_to_stop(answer: str, patterns: dict[str, list[str]]) -> bool:
    """Return whether an answer only asks to stop, unlike "stop the build when a test fails"."""
    text = normalize(answer)
    has_phrase = False
    # The longest phrase first, because removing "stop" alone would leave the rest of "let's stop here".
    for phrase in sorted(patterns["stop"], key=len, reverse=True):
        if " %s " % phrase in text:
            text, has_phrase = text.replace(" %s " % phrase, "  "), True
    return has_phrase and all(word in patterns["filler"] for word in text.split())


def is_terminal(signals: Signals) -> bool:
    """Return whether the user does not know and has no more to say, unlike "not sure yet, maybe ..."."""
    ceiling = signals.get("knowledge_ceiling", {})
    return bool(ceiling.get("terminal")) and ceiling.get("response", "terminal") == "terminal"


def stem_table(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table of `config/interview/redundancy.json` with its words stemmed, as plain JSON values."""
    groups = [(word, name) for name, members in table["groups"].items() for word in members.split()]
    return dict(
        table,
        function_words=table["function_words"].split(),
        light_words=[_cached_stem(word) for word in table["light_words"].split()],
        groups={_cached_stem(word): "=" + name for word, name in groups},
        kinds=[[phrase, name] for name, phrases in table["kinds"].items() for phrase in phrases],
        opposites=[pair.split() for pair in table["opposites"]],
        phrases=[[phrase, name] for name, phrases in table["phrases"].items() for phrase in phrases],
    )


class QuestionSimilarity:
    """Compares questions by a table that `stem_table` prepared."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.threshold: float = table["threshold"]
        self._table = table
        self._function_words = frozenset(table["function_words"])
        self._light_words = frozenset(table["light_words"])
        self._parsed: dict[str, tuple[frozenset[str], str, frozenset[str]]] = {}

    def score(self, first: str, second: str) -> float:
        """Return how similar two questions are, from 0 to 1.

        This is the Dice coefficient of their weighted stems (Dice, 1945). The score is lowered if each question has a word of its own,
        and if they ask for different things (who, why) or for opposites.
        """
        stems1, kind1, words1 = self._parse(first)
        stems2, kind2, words2 = self._parse(second)
        total = self._weight(stems1) + self._weight(stems2)
        if not total:
            return 0.0
        score = 2 * self._weight(stems1 & stems2) / total
        has_own1 = not self._light_words.issuperset(stems1 - stems2) or (kind1 and not kind2)
        has_own2 = not self._light_words.issuperset(stems2 - stems1) or (kind2 and not kind1)
        if has_own1 and has_own2:
            score -= self._table["both_sides"]
        only1, only2 = words1 - words2, words2 - words1
        has_opposites = any(
            (a in only1 and b in only2) or (b in only1 and a in only2) for a, b in self._table["opposites"]
        )
        if (kind1 and kind2 and kind1 != kind2) or has_opposites:
            score -= self._table["other_word"]
        return max(0.0, score)

    def find_repeated(self, question: str, earlier: Iterable[str]) -> tuple[str, float]:
        """Return the most similar earlier question (empty if it is below the threshold) and its score."""
        nearest, best = "", 0.0
        for other in earlier:
            score = self.score(question, other)
            if score > best:
                nearest, best = other, score
        return (nearest, best) if best >= self.threshold else ("", best)

    def _parse(self, question: str) -> tuple[frozenset[str], str, frozenset[str]]:
        """Return a question's stems (or their groups), the kind of thing it asks for (empty for what and how), and its words."""
        if question not in self._parsed:
            text = normalize(question)
            all_words = frozenset(text.split())
            text, kind = self._split_kind(question, text)
            stems = []
            for phrase, group in self._table["phrases"]:
                if " %s " % phrase in text:
                    text = text.replace(" %s " % phrase, "  ")
                    stems += [group] if group else []
            stems += content_stems(text, self._function_words)
            grouped = frozenset(self._table["groups"].get(word, word) for word in stems)
            self._parsed[question] = (grouped, kind, all_words)
        return self._parsed[question]

    def _split_kind(self, question: str, text: str) -> tuple[str, str]:
        """Return the normalized question without its question phrase, and the kind of thing this asks for: who, when, why, how many.

        A single word counts only where a clause begins: "what happens when it fails" does not ask for a time.
        """
        for mark in ",;:.?!":
            question = question.replace(mark, "\n")
        openings = "|".join(
            " %s " % " ".join(normalize(clause).split()[:2]) for clause in question.split("\n")
        )
        for phrase, kind in self._table["kinds"]:
            marked = " %s " % phrase
            if marked in text and (" " in phrase or marked in openings):
                return text.replace(marked, " ", 1), kind
        return text, ""

    def _weight(self, stems: frozenset[str]) -> float:
        return sum(self._table["light"] if word in self._light_words else 1.0 for word in stems)
