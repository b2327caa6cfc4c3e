"""What the rules find in one text: sentence by sentence, with the exceptions that make a match none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .sentences import sentences

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from .packs import Pack, Rule

__all__ = ["Match", "find", "rules_for"]


class Match(NamedTuple):
    """A rule that a sentence breaks; `sentence` is the text as it was read."""

    rule: Rule
    sentence: str
    start: int
    end: int


def rules_for(pack: Pack, gate: str, speaker: str) -> list[Rule]:
    """The rules of a gate that look at what one side says."""
    return [rule for rule in pack.rules if rule.gate == gate and rule.speaker in (speaker, "both")]


def find(pack: Pack, rules: Sequence[Rule], text: str) -> list[Match]:
    """The matches in order of the text, at most one a rule and sentence."""
    found = []
    for quotes in (False, True):
        asked = [rule for rule in rules if rule.quotes is quotes]
        for sentence in sentences(text, quotes=quotes) if asked else ():
            read = _neutralised(pack, sentence)
            found += [match for rule in asked for match in _in_sentence(pack, rule, read)]
    return found


def _neutralised(pack: Pack, sentence: str) -> str:
    """The sentence without phrases that look like a negation or a report and are none: 'no doubt', 'if you ask me'."""
    return pack.neutral.sub(" ", sentence) if pack.neutral else sentence


def _in_sentence(pack: Pack, rule: Rule, sentence: str) -> list[Match]:
    for match in rule.pattern.finditer(sentence):
        if not any(_applies(unless.where, unless.pattern, pack, sentence, match) for unless in rule.unless):
            return [Match(rule, sentence, match.start(), match.end())]
    return []


def _applies(where: str, pattern: re.Pattern[str], pack: Pack, sentence: str, match: re.Match[str]) -> bool:
    if where == "sentence":
        return pattern.search(sentence) is not None
    if where == "after":
        return pattern.search(sentence, match.end()) is not None
    return pattern.search(_clause_before(pack, sentence[: match.start()])) is not None


def _clause_before(pack: Pack, text: str) -> str:
    """What stands before, back to the last 'but' or 'however': a refusal before it does not excuse what comes after."""
    if pack.contrast is None:
        return text
    start = 0
    for contrast in pack.contrast.finditer(text):
        start = contrast.end()
    return text[start:]
