"""Match the rules of a pack against one text: fold it to one spelling, split it into sentences, match, and apply exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import sqrt
from typing import Any, NamedTuple

from ..kernel.paths import load_data
from ..kernel.text import IN_WORDS, LOOKALIKES, character_class
from ..kernel.text.clean import block
from ..kernel.text.words import fold
from .frames import Frame, Lexicon, TaggedSentence

# Without quotations and code, with code, with both, and the whole turn with both.
READS = ("sentences", "code", "quotes", "whole")
MAX_SENTENCE = 600  # characters; a longer one is read in pieces, which bounds every pattern's work

# Removed without a replacement, joiners included, which `block` would keep for the scripts that need them.
_INVISIBLE = re.compile("[%s]" % character_class(IN_WORDS))
_SPACES = re.compile(r"[^\S\n]+")
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_BOLD = re.compile(r"(?<![\w*/])\*\*(?=[^\s*])|(?<=[^\s*])\*\*(?![\w*/])")
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_PROSE = re.compile(r"[\"'!]|[A-Z]\w* \w+ \w+")  # in code: words that are quoted
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTE = re.compile(
    r"\"[^\"\n]{1,400}\"|\u201c[^\u201c\u201d\n]{1,400}\u201d|\u00ab[^\u00ab\u00bb\n]{1,400}\u00bb"
    r"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){3,300}'(?!\w)"
)
_WORD = re.compile(r"\w")
_HINT_WORD = re.compile(r"[a-z']+")
_MAX_HINT = 400  # characters; the weights come from messages of a few sentences
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")


class UnlessPattern(NamedTuple):
    """An exception: a match does not count if this pattern matches before it in the clause, after it, in its sentence or in the text."""

    where: str
    pattern: re.Pattern[str]


class PackRule(NamedTuple):
    """One rule: patterns, frames or both. `needs` names the evidence that a claim requires, or is empty. `reads` is one of READS.

    If `against`, a match counts only where the last evidence contradicts it. If `any_of` is not empty, the pattern is tried only in
    sentences that contain one of its texts.

    `hint` is the least score of a message's letters at which the rule counts, in hundredths of log odds; None for any. A rule with neither
    pattern nor frames matches every such message.
    """

    gate: str
    reason: str
    hit: list[str]
    miss: list[str]
    patterns: re.Pattern[str] | None
    frames: tuple[Frame, ...]
    unless: tuple[UnlessPattern, ...]
    id: str = ""
    speaker: str = "assistant"
    reads: str = READS[0]
    needs: str = ""
    against: bool = False
    hint: int | None = None
    any_of: Sequence[str] = ()

    @property
    def is_hint(self) -> bool:
        """Return whether the rule goes by the score of letters alone."""
        return self.patterns is None and not self.frames

    def counts(self, score: float | None) -> bool:
        """Return whether the rule counts in a message with this score, or without one."""
        if score is None:
            return not self.is_hint
        return self.hint is None or score >= self.hint


class ClaimEvidence(NamedTuple):
    """What proves a claim: its flags, and by name a pattern or None for each of these parts.

    With `note`, its lack is only a note. One call proves it with `suffices`; also one that failed with `attempts`, as for a bug that was
    reproduced. With `each`, a number of times needs as many calls, whatever an output lists.

    | patterns | what |
    | --- | --- |
    | `call`, `output` | the calls that the claim is about; outputs of others that show it |
    | `maybe` | calls that may have shown it |
    | `against` | outputs that contradict it, without what matches `titles` |
    | `further` | calls that continue after the command, so that their failure may be another's |
    | `stale_after` | calls after which earlier outputs prove nothing |
    | `passed_over` | calls that never count |
    | `admits` | words of a reply that say what failed |
    | `supposed` | words of a reply that admit nothing: what might be, what was not looked at |
    | `left_out` | what a call was told not to run, as `-x integrationTest` |
    | `others` | calls that may have run anything: scripts, other agents |
    | `commands` | calls that run something; among many of them, one may have shown it |
    | `reran` | words of a claim that say that it was shown after the last change |
    | `told` | words of the user that report something |
    | `own` | words of a claim that say that the assistant did it |
    | `names` | what a claim names; it must occur in a call or output, outside `left_out` |
    | `times` | how often it was run; so many calls, or that number in one |
    | `counts` | a number and its noun; false if outputs count the noun, but no recent one, nor all in total, has that number |
    """

    flags: frozenset[str]
    patterns: Mapping[str, re.Pattern[str] | None]

    def has(self, part: str, text: str) -> bool:
        """Return whether a part occurs in a text."""
        return any(self.find(part, text))

    def find(self, part: str, text: str) -> Iterator[re.Match[str]]:
        """Return the places of a part in a text."""
        pattern = self.patterns[part]
        return iter(()) if pattern is None else pattern.finditer(text)

    def without(self, part: str, text: str) -> str:
        """Return a text without a part."""
        pattern = self.patterns[part]
        return text if pattern is None else pattern.sub("", text)


class RulePack(NamedTuple):
    """One pack, merged with the packs that it extends. `disclosure` is due after so many replies; `leaks` are kinds by side."""

    id: str
    gates: Mapping[str, Mapping[str, Any]]
    rules: tuple[PackRule, ...]
    neutral: re.Pattern[str] | None
    contrast: re.Pattern[str] | None
    answers: Mapping[str, re.Pattern[str]]
    evidence: Mapping[str, ClaimEvidence]
    disclosure: tuple[int, re.Pattern[str]]
    leaks: Mapping[str, Sequence[str]]
    lexicon: Lexicon
    contradictions: Mapping[str, re.Pattern[str]]

    def rules_for(self, gate: str, speaker: str) -> list[PackRule]:
        """Return the rules of a gate that apply to one side's words."""
        return [rule for rule in self.rules if rule.gate == gate and rule.speaker in (speaker, "both")]


class RuleMatch(NamedTuple):
    """A rule's match; `sentence` is the text as it was matched, and `start` and `end` are offsets in it."""

    rule: PackRule
    sentence: str
    start: int
    end: int


def fold_text(text: str) -> str:
    """Return the text in one spelling: compatibility form, plain apostrophes, no invisible characters, no look-alike letters.

    The case stays.
    """
    if not text.isascii():
        text = fold(block(_INVISIBLE.sub("", text), len(text)))
        latin = sum(map(str.isascii, filter(str.isalpha, text)))
        if latin * 2 >= sum(map(str.isalpha, text)):  # a Russian or Greek text keeps its letters
            text = text.translate(LOOKALIKES)
    return text


def split_sentences(text: str, reads: str) -> list[str]:
    """Return the sentences of a folded text, without code blocks and quoted lines, and without quotations and code as `reads` says.

    With "whole", the text stays in one piece of at most MAX_SENTENCE characters.
    """
    text = _BOLD.sub("", _QUOTED_LINE.sub("", _FENCE.sub("\n", text)))
    if reads == "code":
        text = _INLINE_CODE.sub(lambda code: "`_`" if _PROSE.search(code[0]) else code[0], text)
        text = _QUOTE.sub(_without_quote, text)
    elif reads == "sentences":
        text = _INLINE_CODE.sub("`_`", _QUOTE.sub(_without_quote, text))
    text = _SPACES.sub(" ", text)
    split = [text.replace("\n", " ")] if reads == "whole" else _END.split(text)
    sentences = (piece.strip(" \n*_#-\u2022") for piece in split)
    return [piece for sentence in sentences if _WORD.search(sentence) for piece in _pieces(sentence)]


def _without_quote(quote: re.Match[str]) -> str:
    """Return what replaces a quotation; a sentence that ends inside it still ends."""
    last, after = quote[0][-2], quote.string[quote.end() : quote.end() + 40]
    ends = last in ".!?" and after[:1].isspace() and after.lstrip()[:1].isupper()
    return '"_"' + (last if ends else "")


def _pieces(sentence: str) -> list[str]:
    if len(sentence) <= MAX_SENTENCE:
        return [sentence]
    step = MAX_SENTENCE // 2  # the pieces overlap, so a match at a border is not lost
    return [sentence[at : at + MAX_SENTENCE] for at in range(0, len(sentence) - step, step)]


def find_matches(pack: RulePack, rules: Sequence[PackRule], text: str) -> list[RuleMatch]:
    """Return the matches in text order, at most one per rule and sentence; matches of rules that read quotations come last."""
    matches: list[RuleMatch] = []
    text = fold_text(text)
    score = hint_score(text) if any(rule.hint is not None for rule in rules) else None
    for reads in READS:
        selected = [rule for rule in rules if rule.reads == reads and rule.counts(score)]
        sentences = split_sentences(text, reads) if selected else []
        by_sentence = {one: _match_all(pack, selected, one, text) for one in dict.fromkeys(sentences)}
        matches += [match for sentence in sentences for match in by_sentence[sentence]]
    return matches


def _match_all(pack: RulePack, rules: Sequence[PackRule], sentence: str, whole: str) -> list[RuleMatch]:
    """Return each rule's first match to which no exception applies."""
    # "no doubt" and "if you ask me" look like a negation or a report, but are neither.
    text = pack.neutral.sub(" ", sentence) if pack.neutral else sentence
    tagged = pack.lexicon.tag(text if any(rule.frames for rule in rules) else "")
    matches = []
    for rule in rules:
        for start, end in _spans(rule, text, tagged):
            places = {"before": text[:start], "after": text[end:], "sentence": text, "text": whole}
            if pack.contrast is not None:  # a refusal before the last "but" excuses nothing after it
                places["before"] = pack.contrast.split(text[:start])[-1]
            if not any(unless.pattern.search(places[unless.where]) for unless in rule.unless):
                matches.append(RuleMatch(rule, text, start, end))
                break
    return matches


def _spans(rule: PackRule, text: str, tagged: TaggedSentence) -> Iterator[tuple[int, int]]:
    """Yield the rule's matches as start and end, before exceptions."""
    lower = text.lower() if rule.any_of else ""
    if rule.patterns is not None and (not rule.any_of or any(part in lower for part in rule.any_of)):
        yield from (match.span() for match in rule.patterns.finditer(text))
    for frame in rule.frames:
        yield from frame.find(tagged)
    if rule.is_hint:
        yield 0, len(text)


def hint_features(text: str) -> set[str]:
    """Return all sequences of two to six letters of a folded text, also over the spaces between words."""
    letters = " %s " % " ".join(_HINT_WORD.findall(text.lower()))
    return {letters[at : at + size] for size in range(2, 7) for at in range(len(letters) - size + 1)}


@cache
def _weights() -> dict[str, int]:
    weights: dict[str, int] = load_data("evaluation", "hints")["weights"]
    return weights


def hint_score(text: str) -> float | None:
    """Return how much the letters of a folded message hint at a crisis, in hundredths of log odds; None for a long one."""
    if len(text) > _MAX_HINT:
        return None
    weights, features = _weights(), hint_features(text)
    return weights[""] + sum(weights.get(feature, 0) for feature in features) / sqrt(len(features) + 1)
