"""What the rules find in one text: sentence by sentence, with the exceptions that make a match none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .lexicon import Tagged
    from .packs import Pack, Rule, Unless

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
            tagged = pack.lexicon.tag(read) if any(rule.frames for rule in asked) else None
            found += [match for rule in asked for match in _in_sentence(pack, rule, read, tagged)]
    return found


def _neutralised(pack: Pack, sentence: str) -> str:
    """The sentence without phrases that look like a negation or a report and are none: 'no doubt', 'if you ask me'."""
    return pack.neutral.sub(" ", sentence) if pack.neutral else sentence


def _in_sentence(pack: Pack, rule: Rule, sentence: str, tagged: Tagged | None) -> list[Match]:
    for start, end in _places(rule, sentence, tagged):
        if not any(_applies(unless, pack, sentence, start, end) for unless in rule.unless):
            return [Match(rule, sentence, start, end)]
    return []


def _places(rule: Rule, sentence: str, tagged: Tagged | None) -> Iterator[tuple[int, int]]:
    """Where a rule's patterns and frames stand in a sentence."""
    if rule.pattern is not None:
        yield from (match.span() for match in rule.pattern.finditer(sentence))
    if tagged is not None and not (rule.hints and rule.hints.isdisjoint(tagged.classes)):
        for frame in rule.frames:
            yield from frame.find(tagged)


def _applies(unless: Unless, pack: Pack, sentence: str, start: int, end: int) -> bool:
    if unless.where == "sentence":
        return unless.pattern.search(sentence) is not None
    if unless.where == "after":
        return unless.pattern.search(sentence, end) is not None
    return unless.pattern.search(_clause_before(pack, sentence[:start])) is not None


def _clause_before(pack: Pack, text: str) -> str:
    """What stands before, back to the last 'but' or 'however': a refusal before it does not excuse what comes after."""
    if pack.contrast is None:
        return text
    start = 0
    for contrast in pack.contrast.finditer(text):
        start = contrast.end()
    return text[start:]
