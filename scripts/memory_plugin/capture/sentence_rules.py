"""The rules and cues that recognize a lasting statement, as compiled patterns from `config/capture/`.

A rule of `statements.json` describes one form of sentence and finds it by itself; a veto excludes a sentence. A cue of `cues.json` is a
weaker sign, such as a word for "every time", a reason or a contrast; the statement model weighs the cues of a sentence together.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from .hints import contains_hint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class SentencePattern(NamedTuple):
    """A pattern that a sentence has to match, and optionally one that it must not match."""

    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None

    def matches(self, sentence: str) -> bool:
        """Return whether the pattern matches a sentence and the exception does not."""
        return bool(self.pattern.search(sentence)) and not (self.unless and self.unless.search(sentence))


class StatementRule(NamedTuple):
    """One rule: the kind and category of the statements it finds, its strength from 0 to 1, and the substrings it needs."""

    id: str
    kind: str
    category: str
    strength: float
    hints: tuple[str, ...]
    pattern: SentencePattern


class Cue(NamedTuple):
    """One cue: a positive weight if it suggests a lasting statement, and then the kind and category that it suggests."""

    id: str
    weight: int
    kind: str
    category: str
    pattern: SentencePattern


@cache
def statement_rules() -> tuple[StatementRule, ...]:
    """Return the rules of `config/capture/statements.json`."""
    table = load_data("capture", "statements")
    hints = load_data("capture", "hints")["rules"]
    return tuple(
        StatementRule(
            entry["id"],
            entry["kind"],
            entry["category"],
            entry["strength"],
            tuple(hints[entry["id"]]),
            _sentence_pattern(entry, table["parts"]),
        )
        for entry in table["rules"]
    )


def possible_rules(sentence: str) -> list[StatementRule]:
    """Return the rules whose hints occur in a sentence; only these patterns can match it."""
    lowered = " %s " % sentence.lower()
    return [rule for rule in statement_rules() if any(contains_hint(lowered, hint) for hint in rule.hints)]


def matches_rule(sentence: str) -> bool:
    """Return whether any rule matches a sentence."""
    return any(rule.pattern.matches(sentence) for rule in possible_rules(sentence))


def is_vetoed(sentence: str) -> bool:
    """Return whether a veto excludes a sentence, whatever else matches."""
    return any(veto.matches(sentence) for veto in _vetoes())


@cache
def _vetoes() -> tuple[SentencePattern, ...]:
    table = load_data("capture", "statements")
    return tuple(_sentence_pattern(entry, table["parts"]) for entry in table["vetoes"])


@cache
def cues() -> tuple[Cue, ...]:
    """Return the cues of `config/capture/cues.json`."""
    table = load_data("capture", "cues")
    return tuple(
        Cue(
            entry["id"],
            entry["weight"],
            entry.get("kind", ""),
            entry.get("category", ""),
            _sentence_pattern(entry, table["parts"]),
        )
        for entry in table["cues"]
    )


def cues_in(sentence: str) -> list[Cue]:
    """Return the cues that match a sentence."""
    return [cue for cue in cues() if cue.pattern.matches(sentence)]


def strongest_cue(matches: Sequence[Cue]) -> Cue | None:
    """Return the cue with the highest positive weight; None if no weight is positive."""
    positive = [cue for cue in matches if cue.weight > 0]
    return max(positive, key=lambda cue: cue.weight, default=None)


def _sentence_pattern(entry: Mapping[str, Any], parts: Mapping[str, str]) -> SentencePattern:
    unless = entry.get("unless")
    return SentencePattern(_compile(entry["pattern"], parts), _compile(unless, parts) if unless else None)


def _compile(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Compile a pattern in which `{name}` stands for one of the table's shared parts."""
    for name, part in parts.items():
        pattern = pattern.replace("{%s}" % name, "(?:%s)" % part)
    return re.compile(pattern, re.IGNORECASE)
