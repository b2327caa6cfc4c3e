"""Find lasting statements in the user's own sentences: corrections, rules, decisions, and facts about the project.

A rule finds a statement by itself unless the statement model is nearly certain that it is none. Without a rule, the model decides alone,
and such a statement ranks below those that a rule found.
"""

from __future__ import annotations

from typing import NamedTuple

from .own_words import own_sentences
from .sentence_rules import cues_in, is_vetoed, possible_rules, strongest_cue
from .statement_model import RULE_THRESHOLD, log_odds, threshold, upper_bound

_MAX_STATEMENTS = 4  # of one prompt; a prompt with more rules is a document
_KIND_WITHOUT_CUE = ("fact", "constraint", "words")
# Strength of a statement without a rule, from its log-odds above the threshold.
_MIN_STRENGTH, _MAX_STRENGTH, _STRENGTH_STEP = 0.5, 0.75, 0.05


class Statement(NamedTuple):
    """A statement with its kind and category, the id of the rule or cue that decided them, and its strength from 0 to 1."""

    text: str
    kind: str
    category: str
    rule: str
    strength: float


def find_statements(prompt: str) -> list[Statement]:
    """Return the lasting statements of a typed prompt in order, at most four."""
    sentences = own_sentences(prompt)
    min_log_odds = threshold(len(sentences))
    statements = (_statement(sentence, min_log_odds) for sentence in sentences)
    return [statement for statement in statements if statement is not None][:_MAX_STATEMENTS]


def _statement(sentence: str, min_log_odds: float) -> Statement | None:
    """Return the statement that a sentence makes; None if it is only about the task at hand."""
    candidates = possible_rules(sentence)
    # The bound needs no pattern, and rules out most sentences.
    if upper_bound(sentence, has_rule=bool(candidates)) < (RULE_THRESHOLD if candidates else min_log_odds):
        return None
    if is_vetoed(sentence):
        return None
    rules = [rule for rule in candidates if rule.pattern.matches(sentence)]
    cues = cues_in(sentence)
    value = log_odds(sentence, [cue.id for cue in cues], has_rule=bool(rules))
    if value < (RULE_THRESHOLD if rules else min_log_odds):
        return None
    if rules:
        best = max(rules, key=lambda rule: rule.strength)
        return Statement(sentence, best.kind, best.category, best.id, best.strength)
    cue = strongest_cue(cues)
    kind, category, source = (cue.kind, cue.category, cue.id) if cue else _KIND_WITHOUT_CUE
    strength = min(_MAX_STRENGTH, _MIN_STRENGTH + _STRENGTH_STEP * (value - min_log_odds))
    return Statement(sentence, kind, category, source, strength)
