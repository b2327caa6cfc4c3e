"""What the rules of a pack find in one text: folded to one spelling, cut into sentences, matched, exceptions applied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.text.clean import block
from ..kernel.text.tokens import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .lexicon import TaggedSentence
    from .packs import PackRule, RulePack, UnlessPattern

__all__ = [
    "MAX_SENTENCE",
    "RuleMatch",
    "find_matches",
    "fold_text",
    "rules_for",
    "split_sentences",
    "without_quotes",
]

MAX_SENTENCE = 600  # characters; a longer one is read in pieces, which bounds every pattern's work
MAX_TEXT = 2_000_000

# Letters of other scripts that look like Latin ones (Unicode TR 39, confusables), for words that mix them.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0405\u0408"
    "\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c5\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03a5",
    "aeopcyxijshdqwABEKMHOPCTXISJoaeikvpuABEHIKMNOPTXY",
)
# Removed with nothing in their place: `block` would keep joiners that some scripts need.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_SPACES = re.compile(r"[^\S\n]+")
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTE = re.compile(
    r"\"[^\"\n]{1,400}\"|\u201c[^\u201d\n]{1,400}\u201d|\u00ab[^\u00bb\n]{1,400}\u00bb"
    r"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){3,300}'(?!\w)"
)
_WORD = re.compile(r"\w")
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")


class RuleMatch(NamedTuple):
    """A rule that a sentence breaks; `sentence` is the text as it was matched, `start` and `end` are places in it."""

    rule: PackRule
    sentence: str
    start: int
    end: int


def fold_text(text: str) -> str:
    """Return the text in one spelling: compatibility form, plain apostrophes, no invisible characters, no look-alike letters.

    Cut to 2,000,000 characters. Case stays.
    """
    text = text[:MAX_TEXT]
    if not text.isascii():
        text = fold(block(_INVISIBLE.sub("", text), MAX_TEXT))
        latin = sum(c.isascii() for c in text if c.isalpha())
        if latin * 2 >= sum(map(str.isalpha, text)):  # a Russian or Greek text keeps its letters
            text = text.translate(_LOOKALIKES)
    return text


def without_quotes(text: str) -> str:
    """Return the text with each quotation replaced by `"_"`; a sentence that ends inside one still ends."""

    def replaced(quote: re.Match[str]) -> str:
        last = quote[0][-2]
        return '"_"' + (last if last in ".!?" and _begins_sentence(text, quote.end()) else "")

    return _QUOTE.sub(replaced, text)


def _begins_sentence(text: str, at: int) -> bool:
    return text[at : at + 1].isspace() and text[at : at + 40].lstrip()[:1].isupper()


def split_sentences(text: str, *, quotes: bool) -> list[str]:
    """Return the sentences of a text, folded, without code blocks and quoted lines; without quotations unless `quotes`."""
    text = _QUOTED_LINE.sub("", _FENCE.sub("\n", fold_text(text)))
    if not quotes:
        text = _INLINE_CODE.sub("`_`", without_quotes(text))
    text = _SPACES.sub(" ", text)
    found = (piece.strip(" \n*_#-\u2022") for piece in _END.split(text))
    return [part for piece in found if _WORD.search(piece) for part in _pieces(piece)]


def _pieces(sentence: str) -> list[str]:
    if len(sentence) <= MAX_SENTENCE:
        return [sentence]
    step = MAX_SENTENCE // 2  # pieces overlap, so that nothing is lost at a border
    return [sentence[at : at + MAX_SENTENCE] for at in range(0, len(sentence) - step, step)]


def rules_for(pack: RulePack, gate: str, speaker: str) -> list[PackRule]:
    """Return the rules of a gate that apply to one side's words."""
    return [rule for rule in pack.rules if rule.gate == gate and rule.speaker in (speaker, "both")]


def find_matches(pack: RulePack, rules: Sequence[PackRule], text: str) -> list[RuleMatch]:
    """Return the matches in text order, at most one per rule and sentence; rules that read quotations come last."""
    found = []
    for quotes in (False, True):
        asked = [rule for rule in rules if rule.quotes is quotes]
        for sentence in split_sentences(text, quotes=quotes) if asked else ():
            # "no doubt" and "if you ask me" look like a negation or a report and are neither.
            read = pack.neutral.sub(" ", sentence) if pack.neutral else sentence
            tagged = pack.lexicon.tag(read) if any(rule.frames for rule in asked) else None
            found += [match for rule in asked for match in _match_sentence(pack, rule, read, tagged)]
    return found


def _match_sentence(
    pack: RulePack, rule: PackRule, sentence: str, tagged: TaggedSentence | None
) -> list[RuleMatch]:
    """Return the first place at which a rule matches and no exception applies, as a list of at most one."""
    for start, end in _places(rule, sentence, tagged):
        if not any(_applies(unless, pack, sentence, start, end) for unless in rule.unless):
            return [RuleMatch(rule, sentence, start, end)]
    return []


def _places(rule: PackRule, sentence: str, tagged: TaggedSentence | None) -> Iterator[tuple[int, int]]:
    if rule.pattern is not None:
        yield from (match.span() for match in rule.pattern.finditer(sentence))
    if tagged is not None and not (rule.hints and rule.hints.isdisjoint(tagged.classes)):
        for frame in rule.frames:
            yield from frame.find(tagged)


def _applies(unless: UnlessPattern, pack: RulePack, sentence: str, start: int, end: int) -> bool:
    if unless.where == "sentence":
        return unless.pattern.search(sentence) is not None
    if unless.where == "after":
        return unless.pattern.search(sentence, end) is not None
    return unless.pattern.search(_clause_before(pack, sentence[:start])) is not None


def _clause_before(pack: RulePack, text: str) -> str:
    """Return what stands before a match, from the last "but" or "however" on: a refusal before it excuses nothing after it."""
    if pack.contrast is None:
        return text
    start = 0
    for contrast in pack.contrast.finditer(text):
        start = contrast.end()
    return text[start:]
