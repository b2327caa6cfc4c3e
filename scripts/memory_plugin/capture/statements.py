"""Statements that are meant to last, in the user's own sentences: corrections, rules, decisions, and facts about the surroundings."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from .cues import score
from .hints import holds
from .own_words import own_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CORRECTION", "Rule", "Statement", "find_statements", "rules"]

CORRECTION = "correction"
_MOST = 4  # of one prompt: who writes more rules than that writes a file


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
    found = (_statement(sentence) for sentence in own_sentences(prompt))
    return [one for one in found if one is not None][:_MOST]


def _statement(sentence: str) -> Statement | None:
    """Return what the strongest rule says of a sentence, or else what the cues say; None where it only holds for the work at hand."""
    if any(veto.search(sentence) for veto in _vetoes()):
        return None
    matching = [rule for rule in _hinted(" %s " % sentence.lower()) if _applies(rule, sentence)]
    if matching:
        best = max(matching, key=lambda rule: rule.strength)
        return Statement(sentence, best.kind, best.category, best.id, best.strength)
    scored = score(sentence)
    if scored is None:
        return None
    cue = scored.cue
    return Statement(sentence, cue.kind, cue.category, cue.id, scored.strength)


def _hinted(lower: str) -> Iterator[Rule]:
    return (rule for rule in rules() if any(holds(hint, lower) for hint in rule.hints))


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
