"""Analyze the words of answers and questions: phrases, stems, signals by rule, and the similarity of two questions.

The similarity was tuned on one half of `tests/interview/question_pairs.jsonl`. Character n-grams were tried too, and found only copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from ..kernel.paths import load_data
from ..kernel.text.words import fold, is_compound_name, stem, tokenize
from .interview_store import Signals

_cached_stem = cache(stem)


@cache
def normalize(text: str) -> str:
    """Return the text in lower case, its words separated and enclosed by single spaces, without apostrophes."""
    folded = fold(text).lower().replace("'", "")
    return " %s " % " ".join("".join(char if char.isalnum() else " " for char in folded).split())


@cache
def phrases() -> dict[str, list[str]]:
    """Return the normalized phrases of `config/interview/patterns.json` by group."""
    groups = load_data("interview", "patterns")["groups"]
    return {name: [normalize(phrase) for phrase in group["phrases"]] for name, group in groups.items()}


def count_phrases(text: str, group: str) -> int:
    """Return how often the phrases of a group occur in a text, as whole words."""
    return sum(map(normalize(text).count, phrases()[group]))


@cache
def content_stems(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words in order, without function words unless it has no others."""
    all_words = [word for word in tokenize(text) if not is_compound_name(word)]
    content = [word for word in all_words if word not in _redundancy()["function_words"]]
    return tuple(map(_cached_stem, content or all_words))


def contains_run(run: Sequence[str], stems: Sequence[str]) -> bool:
    """Return whether the stems of `run` occur consecutively in `stems`; False for an empty run."""
    size = len(run)
    return size > 0 and any(stems[start : start + size] == run for start in range(len(stems) - size + 1))


def signals_by_rule(answer: str) -> Signals:
    """Return the signals found by phrases in an answer."""
    found = {group: count_phrases(answer, group) for group in phrases()}
    signals: Signals = {}
    is_exploratory = bool(found["exploratory"])
    if found["terminal"]:
        response = "exploratory" if is_exploratory else "terminal"
        signals["knowledge_ceiling"] = {"terminal": not is_exploratory, "response": response}
    if found["confused"]:
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


def wants_to_stop(answer: str) -> bool:
    """Return whether an answer only asks to stop, unlike "stop the build when a test fails"."""
    text = rest = normalize(answer)
    # The longest phrase first, because removing "stop" alone would leave the rest of "let's stop here".
    for phrase in sorted(phrases()["stop"], key=len, reverse=True):
        rest = rest.replace(phrase, "  ")
    return rest != text and all(" %s " % word in phrases()["filler"] for word in rest.split())


def was_unclear(signals: Signals) -> bool:
    """Return whether the user did not understand the question, or asked back."""
    return signals.get("uncertainty", {}).get("type") == "conceptual_clarity"


def is_terminal(signals: Signals) -> bool:
    """Return whether the user does not know and has no more to say, unlike "not sure yet, maybe ..."."""
    ceiling = signals.get("knowledge_ceiling", {})
    return bool(ceiling.get("terminal")) and ceiling.get("response", "terminal") == "terminal"


@cache
def _redundancy() -> dict[str, Any]:
    """Return the table of `config/interview/redundancy.json` with its words stemmed."""
    table = load_data("interview", "redundancy")
    groups = [(word, name) for name, members in table["groups"].items() for word in members.split()]
    return dict(
        table,
        function_words=frozenset(table["function_words"].split()),
        light_words=frozenset(map(_cached_stem, table["light_words"].split())),
        groups={_cached_stem(word): "=" + name for word, name in groups},
        kinds=[(phrase, name) for name, phrases in table["kinds"].items() for phrase in phrases],
        opposites=[pair.split() for pair in table["opposites"]],
        phrases=[(" %s " % phrase, name) for name, phrases in table["phrases"].items() for phrase in phrases],
    )


def likeness(first: str, second: str) -> float:
    """Return how similar two questions are, from 0 to 1.

    This is the Dice coefficient of their weighted stems (Dice, 1945). The score is lowered if each question has a word of its own,
    and if they ask for different things (who, why) or for opposites.
    """
    stems1, kind1, words1 = _parse(first)
    stems2, kind2, words2 = _parse(second)
    total = _weight(stems1) + _weight(stems2)
    if not total:
        return 0.0
    table = _redundancy()
    score = 2 * _weight(stems1 & stems2) / total
    has_own1 = not table["light_words"].issuperset(stems1 - stems2) or (kind1 and not kind2)
    has_own2 = not table["light_words"].issuperset(stems2 - stems1) or (kind2 and not kind1)
    if has_own1 and has_own2:
        score -= table["both_sides"]
    new1, new2 = words1 - words2, words2 - words1
    has_opposites = any((a in new1 and b in new2) or (b in new1 and a in new2) for a, b in table["opposites"])
    if (kind1 and kind2 and kind1 != kind2) or has_opposites:
        score -= table["other_word"]
    return max(0.0, score)


def find_repeated(question: str, earlier: Iterable[str]) -> tuple[str, float]:
    """Return the most similar earlier question (empty if it is not similar enough) and its likeness."""
    likest, best = max(
        ((other, likeness(question, other)) for other in earlier), key=itemgetter(1), default=("", 0.0)
    )
    return (likest, best) if best >= _redundancy()["threshold"] else ("", best)


@cache
def _parse(question: str) -> tuple[frozenset[str], str, frozenset[str]]:
    """Return a question's stems (or their groups), the kind of thing it asks for (empty for what and how), and its words."""
    text = normalize(question)
    all_words = frozenset(text.split())
    text, kind = _split_kind(question, text)
    stems = []
    for phrase, group in _redundancy()["phrases"]:
        if phrase in text:
            text = text.replace(phrase, "  ")
            stems += [group] if group else []
    stems += content_stems(text)
    return frozenset(_redundancy()["groups"].get(word, word) for word in stems), kind, all_words


def _split_kind(question: str, text: str) -> tuple[str, str]:
    """Return the normalized question without its question phrase, and the kind of thing this asks for: who, when, why, how many.

    A single word counts only where a clause begins: "what happens when it fails" does not ask for a time.
    """
    clauses = re.split("[,;:.?!\n]", question)
    openings = "|".join(" %s " % " ".join(normalize(clause).split()[:2]) for clause in clauses)
    for phrase, kind in _redundancy()["kinds"]:
        marked = " %s " % phrase
        if marked in text and (" " in phrase or marked in openings):
            return text.replace(marked, " ", 1), kind
    return text, ""


def _weight(stems: frozenset[str]) -> float:
    table = _redundancy()
    return sum(table["light"] if word in table["light_words"] else 1.0 for word in stems)
