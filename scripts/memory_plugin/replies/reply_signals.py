"""Measure one reply by rules: filler phrases, words before the answer, and the share of content words."""

from __future__ import annotations

from typing import Any

from ..kernel.paths import load_data
from .phrases import FillerMatch, FillerRules, PhraseIndex, find_filler, word_classes
from .prose import BREAK, CROSS_SIGN, SENTENCE, Prose

_MAX_CHARACTERS = 300_000  # more than a model writes in one reply
_GREETING = "greeting"  # in a draft it is part of the letter
_MAX_LEADS = 6
_MAX_LEAD_START = 200  # words; a phrase further on cannot belong to the preamble
_SENTENCE_CATEGORIES = ("validation", "rapport", "affect")  # their whole sentence belongs to the preamble


class WordLists:
    """The word lists for density and preamble, from `config/replies/density.json` and `preamble.json`."""

    __slots__ = ("function_words", "language", "lead_scopes", "leads", "minimum_words")

    def __init__(self) -> None:
        density, preamble = load_data("replies", "density"), load_data("replies", "preamble")
        self.function_words = frozenset(density["function_words"].split())
        self.minimum_words: int = density["minimum_words"]
        self.language: dict[str, Any] = density["language"]
        pairs = [(pattern, lead["scope"]) for lead in preamble["leads"] for pattern in lead["patterns"]]
        self.leads = PhraseIndex([pattern for pattern, _ in pairs], word_classes(preamble))
        self.lead_scopes = [scope for _, scope in pairs]


class ReplySignals:
    """The measures of one reply.

    `words` counts the words of the prose, `symbols` its single letters that are no words, as in formulas, `masked` the passages that are
    no prose, and `preamble` the words before the answer. `density` is content words over words, or None if the
    reply is not scored; `unscored` then says why: `empty`, `code_only`, `too_short`, `other_script` or `other_language`.
    """

    __slots__ = ("density", "masked", "matches", "preamble", "symbols", "unscored", "words")

    def __init__(self) -> None:
        self.matches: list[FillerMatch] = []
        self.preamble = 0
        self.words = self.symbols = self.masked = 0
        self.density: float | None = None
        self.unscored = ""

    @property
    def padding(self) -> int:
        """Return the number of filler phrases."""
        return len(self.matches)

    @property
    def density_with_masked(self) -> float:
        """Return the density if each symbol and each masked passage counts as a content word."""
        content = (self.density or 0.0) * self.words + self.symbols + self.masked
        return content / max(1, self.words + self.masked)


def measure_reply(text: str, rules: FillerRules, lists: WordLists, drafting: bool = False) -> ReplySignals:
    """Return the signals of a reply, in linear time; only its first 300,000 characters count.

    `drafting` means that the user asked for a text in someone's voice. Then only the words around that text can be filler.
    """
    signals = ReplySignals()
    text = text[:_MAX_CHARACTERS]
    prose = Prose(text)
    signals.matches = find_filler(prose, rules)
    if drafting:
        signals.matches = _around_draft(prose, signals.matches)
    signals.masked = prose.words.count(BREAK)
    signals.symbols = sum(len(word) == 1 and word.isalnum() for word in prose.words if word not in "ai")
    signals.words, other_script, content = _count_words(prose, lists.function_words)
    signals.unscored = _unscored(text, prose, signals.words, other_script, content, lists)
    if signals.unscored not in ("empty", "code_only", "other_script"):
        signals.preamble = _preamble_words(text, prose, signals.matches, lists)
    if not signals.unscored:
        signals.density = round(content / signals.words, 3)
    return signals


def _around_draft(prose: Prose, matches: list[FillerMatch]) -> list[FillerMatch]:
    """Return the matches in the first line and the offers in the last one; the draft is between them."""
    first_line_end = prose.masked.find("\n", prose.starts[0]) if prose.starts else -1
    last_line_start = prose.masked.rstrip().rfind("\n")
    around = []
    for match in matches:
        at, rule = prose.starts[match.first_word], match.rule
        is_before = (first_line_end < 0 or at < first_line_end) and rule.id != _GREETING
        if is_before or (at > last_line_start and rule.category == "offer"):
            around.append(match)
    return around


def _count_words(prose: Prose, function_words: frozenset[str]) -> tuple[int, int, int]:
    """Return the numbers of words, of letters in other scripts (a Chinese or Japanese one counts three), and of content words."""
    words = len(prose.words) - prose.words.count(BREAK) - prose.words.count(CROSS_SIGN)
    content = [word for word in prose.words if word not in function_words and len(word) > 1]
    other_script = 0
    if not prose.masked.isascii():
        for word in prose.words:
            if not word.isascii() and word not in function_words:
                other_script += sum(3 if char >= "\u2e80" else 1 for char in word if char >= "\u0370")
    return words, other_script, len(content)


def _unscored(text: str, prose: Prose, words: int, other_script: int, content: int, lists: WordLists) -> str:
    """Return why density cannot be measured, or ""."""
    if not text.strip():
        return "empty"
    if not words:
        return "code_only" if BREAK in prose.words else "empty"
    if other_script and other_script * 2 > sum(len(word) for word in prose.words):
        return "other_script"
    if words < lists.minimum_words:
        return "too_short"
    is_measurable = words >= lists.language["least_words"]
    is_other = is_measurable and words - content < lists.language["least_function_share"] * words
    return "other_language" if is_other else ""


def _preamble_words(text: str, prose: Prose, matches: list[FillerMatch], lists: WordLists) -> int:
    """Return the number of words in the original before the answer begins; headings do not count.

    A preamble is a chain of leads: affirmation, praise, "here is", "let me", the question repeated.
    """
    begin = at = _after_headings(prose)
    openers = {match.first_word: match for match in matches if match.first_word < begin + _MAX_LEAD_START}
    for _ in range(_MAX_LEADS):
        after = _after_lead(prose, at, openers, lists)
        if after <= at:
            break
        at = after
        if at >= len(prose) or _ends_with_colon(prose, at):
            break
    if at <= begin:
        return 0
    start = prose.folded.original_offset(prose.starts[begin])
    end = prose.folded.original_offset(prose.starts[at]) if at < len(prose) else len(text)
    return sum(1 for word in text[start:end].split() if any(char.isalnum() for char in word))


def _after_headings(prose: Prose) -> int:
    """Return the index of the first word that is not in a heading."""
    at = 0
    while at < len(prose):
        line = prose.masked.rfind("\n", 0, prose.starts[at]) + 1
        if prose.masked[line : prose.starts[at]].strip(" *")[:1] != "#":
            break
        end = prose.masked.find("\n", prose.starts[at])
        while at < len(prose) and (end < 0 or prose.starts[at] < end):
            at += 1
    return at


def _after_lead(prose: Prose, at: int, openers: dict[int, FillerMatch], lists: WordLists) -> int:
    """Return the index of the word after a lead that begins at word `at`; `at` itself if none does."""
    end = _sentence_end(prose, at)
    if at in openers:
        match = openers[at]
        return max(end, match.end_word) if match.rule.category in _SENTENCE_CATEGORIES else match.end_word
    if at >= len(prose):
        return at
    lead_end = at
    for number in lists.leads.first_words.get(prose.words[at], ()):
        after = lists.leads.match(number, prose, at)
        if after >= 0:
            lead_end = max(lead_end, _scope_end(prose, lists.lead_scopes[number], after, at, end))
    return lead_end


def _scope_end(prose: Prose, scope: str, after: int, at: int, end: int) -> int:
    """Return the index of the word after a lead's scope, or `at` if it is no lead here.

    `after` is the word after the lead's pattern, `end` the word after its sentence. The scopes:

    alone: the pattern is the whole sentence.
    sign: as alone, or a comma or dash follows the pattern.
    sentence: the whole sentence.
    colon: the whole sentence if a colon follows it.
    comma: up to the next comma or dash; without one, the whole sentence if a colon follows it.
    lead: the whole sentence if a colon follows it, else up to the next comma or dash; without one, the whole sentence.
    clause: as lead, but no lead without a colon, comma or dash.
    """
    clause_end = _clause_end(prose, after, end)
    if scope == "alone":
        return after if after == end else at
    if scope == "sign":
        return after if after in (end, clause_end) else at
    if scope == "sentence":
        return end
    if scope == "comma" and clause_end < end:
        return clause_end
    if _ends_with_colon(prose, end):
        return end
    return clause_end if scope == "lead" or (scope == "clause" and clause_end < end) else at


def _sentence_end(prose: Prose, at: int) -> int:
    end = at + 1
    while end < len(prose) and prose.boundary(end) < SENTENCE and not _ends_with_colon(prose, end):
        end += 1
    return min(end, len(prose))


def _clause_end(prose: Prose, at: int, end: int) -> int:
    """Return the word after the next comma or dash from `at` on, or `end`."""
    while at < end:
        if prose.next_sign(at - 1) in (",", "\u2014", "-"):
            return at
        at += 1
    return end


def _ends_with_colon(prose: Prose, end: int) -> bool:
    """Return whether there is a colon between the word before `end` and `end`."""
    until = prose.starts[end] if end < len(prose) else len(prose.masked)
    return ":" in prose.masked[prose.end(end - 1) : until]
