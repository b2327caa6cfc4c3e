"""Match the rules of a pack against one text: fold it to one spelling, split it into sentences, match, and apply exceptions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.text.clean import block
from ..kernel.text.invisible import IN_WORDS, character_class
from ..kernel.text.lookalikes import LOOKALIKES
from ..kernel.text.tokens import fold
from .frames import FrameSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .lexicon import TaggedSentence
    from .packs import PackRule, RulePack, UnlessPattern

MAX_SENTENCE = 600  # characters; a longer one is read in pieces, which bounds every pattern's work
MAX_TEXT = 2_000_000
# Characters that all patterns together may read in one turn. 200,000 characters of nothing but the rules' own examples need a quarter.
MAX_WORK = 3_000_000

# Removed without a replacement, joiners included, which `block` would keep for the scripts that need them.
_INVISIBLE = re.compile("[%s]" % character_class(IN_WORDS))
_SPACES = re.compile(r"[^\S\n]+")
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTE = re.compile(
    r"\"[^\"\n]{1,400}\"|\u201c[^\u201c\u201d\n]{1,400}\u201d|\u00ab[^\u00ab\u00bb\n]{1,400}\u00bb"
    r"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){3,300}'(?!\w)"
)
_WORD = re.compile(r"\w")
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")


class RuleMatch(NamedTuple):
    """A rule's match; `sentence` is the text as it was matched, and `start` and `end` are offsets in it."""

    rule: PackRule
    sentence: str
    start: int
    end: int


class TooMuchWork(Exception):
    """The rules would need more time for a text than a gate may take; an unread text cannot pass."""


class _WorkBudget:
    """The number of characters that patterns may still read in one turn."""

    __slots__ = ("_left",)

    def __init__(self, characters: int) -> None:
        self._left = characters

    def spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise TooMuchWork("the rules would read more than %d characters for one turn" % MAX_WORK)


class _Sentence(NamedTuple):
    """A folded sentence; `tagged` and `frames` are None if no rule has frames."""

    text: str
    lower: str
    tagged: TaggedSentence | None
    frames: FrameSearch | None
    spend: Callable[[int], None]


def fold_text(text: str) -> str:
    """Return the text in one spelling: compatibility form, plain apostrophes, no invisible characters, no look-alike letters.

    The case stays. At most 2,000,000 characters are returned.
    """
    text = text[:MAX_TEXT]
    if not text.isascii():
        text = fold(block(_INVISIBLE.sub("", text), MAX_TEXT))
        latin = sum(map(str.isascii, filter(str.isalpha, text)))
        if latin * 2 >= sum(map(str.isalpha, text)):  # a Russian or Greek text keeps its letters
            text = text.translate(LOOKALIKES)
    return text


def without_quotes(text: str) -> str:
    """Replace each quotation by `"_"`; a sentence that ends inside a quotation still ends."""

    def replacement(quote: re.Match[str]) -> str:
        last = quote[0][-2]
        return '"_"' + (last if last in ".!?" and _begins_sentence(text, quote.end()) else "")

    return _QUOTE.sub(replacement, text)


def _begins_sentence(text: str, at: int) -> bool:
    return text[at : at + 1].isspace() and text[at : at + 40].lstrip()[:1].isupper()


def split_sentences(text: str, *, quotes: bool) -> list[str]:
    """Return the sentences of a text, folded, without code blocks and quoted lines, and without quotations unless `quotes`."""
    text = _QUOTED_LINE.sub("", _FENCE.sub("\n", fold_text(text)))
    if not quotes:
        text = _INLINE_CODE.sub("`_`", without_quotes(text))
    text = _SPACES.sub(" ", text)
    sentences = (piece.strip(" \n*_#-\u2022") for piece in _END.split(text))
    return [piece for sentence in sentences if _WORD.search(sentence) for piece in _pieces(sentence)]


def _pieces(sentence: str) -> list[str]:
    if len(sentence) <= MAX_SENTENCE:
        return [sentence]
    step = MAX_SENTENCE // 2  # the pieces overlap, so a match at a border is not lost
    return [sentence[at : at + MAX_SENTENCE] for at in range(0, len(sentence) - step, step)]


def rules_for(pack: RulePack, gate: str, speaker: str) -> list[PackRule]:
    """Return the rules of a gate that apply to one side's words."""
    return [rule for rule in pack.rules if rule.gate == gate and rule.speaker in (speaker, "both")]


def find_matches(pack: RulePack, rules: Sequence[PackRule], text: str) -> list[RuleMatch]:
    """Return the matches in text order, at most one per rule and sentence; matches of rules that read quotations come last.

    Raises TooMuchWork for a text that would keep the rules busy for too long.
    """
    rule_matches = []
    budget = _WorkBudget(MAX_WORK)
    for quotes in (False, True):
        selected = [rule for rule in rules if rule.quotes is quotes]
        sentences = split_sentences(text, quotes=quotes) if selected else []
        by_sentence = {
            sentence: _match_all(pack, selected, sentence, budget.spend)
            for sentence in dict.fromkeys(sentences)
        }
        rule_matches += [match for sentence in sentences for match in by_sentence[sentence]]
    return rule_matches


def _match_all(
    pack: RulePack, rules: Sequence[PackRule], sentence: str, spend: Callable[[int], None]
) -> list[RuleMatch]:
    # "no doubt" and "if you ask me" look like a negation or a report, but are neither.
    text = pack.neutral.sub(" ", sentence) if pack.neutral else sentence
    spend(len(text))
    tagged = pack.lexicon.tag(text) if any(rule.frames for rule in rules) else None
    frames = FrameSearch(tagged.text, spend) if tagged else None
    folded = _Sentence(text, text.lower(), tagged, frames, spend)
    matches = [_match_sentence(pack, rule, folded) for rule in rules if _may_match(rule, tagged)]
    return [match for match in matches if match is not None]


def _may_match(rule: PackRule, tagged: TaggedSentence | None) -> bool:
    """Return whether a rule must be tried: most rules have frames only, and few sentences contain the words of any."""
    return rule.pattern is not None or (tagged is not None and bool(rule.frames.candidates(tagged)))


def _match_sentence(pack: RulePack, rule: PackRule, sentence: _Sentence) -> RuleMatch | None:
    """Return the rule's first match to which no exception applies, or None."""
    for start, end in _spans(rule, sentence):
        sentence.spend(len(sentence.text) * len(rule.unless))
        if not any(_applies(unless, pack, sentence.text, start, end) for unless in rule.unless):
            return RuleMatch(rule, sentence.text, start, end)
    return None


def _spans(rule: PackRule, sentence: _Sentence) -> Iterator[tuple[int, int]]:
    """Yield the rule's matches as start and end, before exceptions."""
    text, tagged = sentence.text, sentence.tagged
    if rule.pattern is not None and (not rule.any_of or any(part in sentence.lower for part in rule.any_of)):
        sentence.spend(len(text))
        yield from (match.span() for match in rule.pattern.finditer(text))
    if tagged is not None:
        for frame in rule.frames.candidates(tagged):
            yield from frame.find(tagged, sentence.frames)


def _applies(unless: UnlessPattern, pack: RulePack, sentence: str, start: int, end: int) -> bool:
    if unless.where == "sentence":
        return unless.pattern.search(sentence) is not None
    if unless.where == "after":
        return unless.pattern.search(sentence, end) is not None
    return unless.pattern.search(_clause_before(pack, sentence[:start])) is not None


def _clause_before(pack: RulePack, text: str) -> str:
    """Return the text before a match, from the last "but" or "however" on; a refusal before that excuses nothing after it."""
    if pack.contrast is None:
        return text
    start = 0
    for contrast in pack.contrast.finditer(text):
        start = contrast.end()
    return text[start:]
