"""Statements that are meant to last, in the user's own sentences: corrections, rules, decisions, and facts about the surroundings."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from ..kernel.data import load_data
from .cues import cues_in, heaviest
from .hints import RULED, holds
from .own_words import own_sentences
from .worth import least_worth, most_worth, worth

__all__ = ["CORRECTION", "Rule", "Statement", "find_statements", "is_ruled", "rules"]

CORRECTION = "correction"
_MOST = 4  # of one prompt: who writes more rules than that writes a file
_PLAIN = ("fact", "constraint", "words")  # of a sentence that only its words speak for
_LEAST_SURE, _SUREST, _STEP = 0.5, 0.75, 0.05  # strength of a sentence without a rule, and of each point more


class Rule(NamedTuple):
    """One rule: the kind and category of what it finds, how sure it is (0 to 1), and its pattern."""

    id: str
    kind: str
    category: str
    strength: float
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None


class Statement(NamedTuple):
    """A sentence that was found: its kind and category, the rule or the heaviest cue, and how sure that is (0 to 1)."""

    text: str
    kind: str
    category: str
    rule: str
    strength: float


def find_statements(prompt: str) -> list[Statement]:
    """Return the lasting statements of a typed prompt, at most four, in their order."""
    sentences = own_sentences(prompt)
    least = least_worth(len(sentences))
    found = (_statement(sentence, least) for sentence in sentences)
    return [one for one in found if one is not None][:_MOST]


def _statement(sentence: str, least: float) -> Statement | None:
    """Return what the strongest rule says of a sentence, or else its heaviest cue; None where it only holds for the work at hand.

    A rule is not heard where nearly all else speaks against it. Without one, the sentence has to be worth `least`.
    """
    hinted = _hinted(sentence)
    if most_worth(sentence, is_ruled=bool(hinted)) < (RULED if hinted else least):
        return None
    if any(veto.search(sentence) for veto in _vetoes()):
        return None
    matching = [rule for rule in hinted if _applies(rule, sentence)]
    cues = cues_in(sentence)
    value = worth(sentence, [cue.id for cue in cues], is_ruled=bool(matching))
    if value < (RULED if matching else least):
        return None
    if matching:
        best = max(matching, key=lambda rule: rule.strength)
        return Statement(sentence, best.kind, best.category, best.id, best.strength)
    cue = heaviest(cues)
    kind = (cue.kind, cue.category, cue.id) if cue else _PLAIN
    return Statement(sentence, *kind, min(_SUREST, _LEAST_SURE + _STEP * (value - least)))


def is_ruled(sentence: str) -> bool:
    """Return whether a rule finds a sentence."""
    return any(_applies(rule, sentence) for rule in _hinted(sentence))


def _hinted(sentence: str) -> list[Rule]:
    lower = " %s " % sentence.lower()
    return [rule for rule in rules() if any(holds(hint, lower) for hint in rule.hints)]


def _applies(rule: Rule, sentence: str) -> bool:
    return rule.pattern.search(sentence) is not None and not (rule.unless and rule.unless.search(sentence))


@cache
def _table() -> dict[str, Any]:
    return load_data("capture", "statements")


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules of `config/capture/statements.json`."""
    hints = load_data("capture", "hints")["rules"]
    return tuple(_rule(entry, hints[entry["id"]]) for entry in _table()["rules"])


def _rule(entry: dict[str, Any], hints: list[str]) -> Rule:
    unless = entry.get("unless")
    return Rule(
        entry["id"],
        entry["kind"],
        entry["category"],
        entry["strength"],
        tuple(hints),
        _compiled(entry["pattern"]),
        _compiled(unless) if unless else None,
    )


@cache
def _vetoes() -> tuple[re.Pattern[str], ...]:
    return tuple(_compiled(entry["pattern"]) for entry in _table()["vetoes"])


def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern in which `{name}` stands for a part that several rules share."""
    for name, part in _table()["parts"].items():
        pattern = pattern.replace("{%s}" % name, "(?:%s)" % part)
    return re.compile(pattern, re.IGNORECASE)
