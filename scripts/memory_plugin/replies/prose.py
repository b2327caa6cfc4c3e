"""Convert a reply to folded words with their positions, which the rules match and count.

Folding gives one spelling to variants that readers consider the same (curly apostrophes, accents, invisible characters). It maps each
character to one or none, so that every word can be traced to its position in the original text.
"""

from __future__ import annotations

from itertools import accumulate, compress, repeat

from ..kernel.text import invisible
from .masking import MASK, mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INSIDE, SENTENCE, LINE, REPLY = 0, 1, 2, 3  # the boundary before a word, weakest first
BREAK = MASK  # the word that stands for a masked passage
CROSS_SIGN = "\x02"  # for a red cross and the like: a bad example follows
_REMOVED = "\x00"
_CROSS_SIGNS = "\u274c\u274e\u2717\u2718\u26d4\U0001f6ab\U0001f6d1\U0001f44e"
_ONE_FOR_ONE = {
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2032": "'", "\uff07": "'", "\u00b4": "'",
    "\u2013": "\u2014", "\u2015": "\u2014", "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2026": ".", "\u3002": ".",
    "\uff01": "!", "\uff0c": ",", "\uff1f": "?", "\uff1a": ":", "\u2014": "\u2014", "\u201c": "\u201c", "\u201d": "\u201d",
}  # fmt: skip
_INVISIBLE = invisible.code_points(invisible.IN_WORDS)
_IN_WORDS = "'-"
_ENDS = ".!?:;"
_BULLETS = "-*+#\u2022"


class _FoldTable(dict[int, str]):
    """The table for `str.translate`; each character beyond ASCII is computed once."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(code)
        return folded


def _fold_character(code: int) -> str:
    char = chr(code)
    if char in _ONE_FOR_ONE:
        return _ONE_FOR_ONE[char]
    if code in _INVISIBLE or 0x300 <= code < 0x370 or 0xE0000 <= code < 0xE1000:
        return _REMOVED
    if char in _CROSS_SIGNS:
        return CROSS_SIGN
    if 0x2190 <= code < 0x2C00 or 0x1F000 <= code < 0x1FB00 or char.isspace() or 0xD800 <= code < 0xE000:
        return " "
    return char if code >= 0x3000 and not 0xFF00 <= code < 0xFF60 and code < 0x1D400 else _base_letter(char)


def _base_letter(char: str) -> str:
    """Return a letter in lower case, in its compatibility form and without diacritics, where that is one character."""
    from unicodedata import combining, normalize

    if combining(char):
        return _REMOVED
    base = normalize("NFKD", char)[:1].lower()
    return base if len(base) == 1 and base != _REMOVED else char


_FOLDED = _FoldTable({code: chr(code).lower() for code in range(128)})
# A reply must not contain our own marks; a carriage return is a space.
_FOLDED[0] = _FOLDED[1] = _FOLDED[2] = _FOLDED[13] = " "


class FoldedText:
    """A folded text with the original offset of each character."""

    __slots__ = ("_removed", "text")

    def __init__(self, text: str, removed: Sequence[int] = ()) -> None:
        self.text = text
        self._removed = removed

    def original_offset(self, at: int) -> int:
        """Return the original offset of the character at `at`; `at` may be the end of the text."""
        low, high = 0, len(self._removed)
        while low < high:
            middle = (low + high) // 2
            if self._removed[middle] <= at:
                low = middle + 1
            else:
                high = middle
        return at + low

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the original of a passage that is not empty."""
        return self.original_offset(start), self.original_offset(end - 1) + 1


def fold(text: str) -> FoldedText:
    """Return the text in lower case with plain apostrophes, without diacritics and invisible characters, in linear time."""
    if text.isascii() and not any(mark in text for mark in "\x00\x01\x02\r"):
        return FoldedText(text.lower())
    text = text.translate(_FOLDED)
    if _REMOVED not in text:
        return FoldedText(text)
    parts = text.split(_REMOVED)
    return FoldedText("".join(parts), list(accumulate(map(len, parts[:-1]))))


class _WordTable(dict[int, str]):
    """The table for `str.translate`: letters and digits stay, every other character separates words."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = kept = char if char.isalnum() or char in _IN_WORDS or char in (MASK, CROSS_SIGN) else " "
        return kept


_WORDS = _WordTable()


class Prose:
    """The words of a text in order, each with its position in the masked text.

    A word may be BREAK for a masked passage, or CROSS_SIGN; neither counts as a word.
    """

    __slots__ = ("_boundaries", "folded", "masked", "starts", "words")

    def __init__(self, folded: FoldedText, masked: str, words: list[str], starts: list[int]) -> None:
        self.folded = folded
        self.masked = masked
        self.words = words
        self.starts = starts
        self._boundaries = {0: LINE if _begins_with_bullet(masked) else REPLY}

    def boundary(self, number: int) -> int:
        """Return what a word begins: INSIDE nothing, SENTENCE a sentence, LINE a paragraph or the like, REPLY the text.

        LINE includes list items, and lines after a full stop. Computed on demand, because few words need it.
        """
        boundary = self._boundaries.get(number, -1)
        if boundary < 0:
            last, start = self.end(number - 1), self.starts[number]
            boundary = _boundary(self.masked[last:start]) if start - last > 1 else INSIDE
            self._boundaries[number] = boundary
        return boundary

    def end(self, number: int) -> int:
        """Return the offset at which a word ends in the masked text."""
        return self.starts[number] + len(self.words[number])

    def next_sign(self, number: int) -> str:
        """Return the first character after a word, skipping emphasis and space.

        That is a line feed at the end of a line, a space if the next word follows directly, and empty at the end of the text.
        """
        at = self.end(number)
        limit = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.masked)
        while at < limit and self.masked[at] in " *_~)":
            at += 1
        if at < limit and self.masked[at] != MASK:
            return self.masked[at]
        return "" if at >= len(self.masked) else " "

    def is_preceded_by(self, word: int, signs: str) -> bool:
        """Return whether one of `signs` precedes the word number `word`; the end of the text counts as a full stop."""
        sign = self.next_sign(word - 1)
        return sign in signs if sign else "." in signs

    def __len__(self) -> int:
        return len(self.words)


def read_prose(text: str) -> Prose:
    """Return a text's prose, in linear time."""
    folded = fold(text)
    masked = mask(folded.text)
    # Every separator became one space, so the lengths of the pieces give each word's place.
    pieces = masked.translate(_WORDS).split(" ")
    places = accumulate(map((1).__add__, map(len, pieces)), initial=0)
    starts = list(compress(places, pieces))
    words = list(filter(None, pieces))
    bare = list(map(str.strip, words, repeat(_IN_WORDS)))
    if bare != words:
        starts = [start + len(word) - len(word.lstrip(_IN_WORDS)) for start, word in zip(starts, words)]
        starts, words = list(compress(starts, bare)), list(filter(None, bare))
    return Prose(folded, masked, words, starts)


def _begins_with_bullet(masked: str) -> bool:
    """Return whether a text begins with a list item, which is content and not the opening of a reply."""
    head = masked[:200].lstrip()[:2]
    return head[:1] in ("-", "*", "+", "\u2022") and head[1:] == " "


def _boundary(gap: str) -> int:
    """Return what begins after a gap of more than one character between two words."""
    if "\n" not in gap:
        return SENTENCE if "." in gap or "!" in gap or "?" in gap else INSIDE
    head, _, tail = gap.partition("\n")
    last = head.strip(" *_)\"'")[-1:]
    bullet = tail.lstrip()[:1]
    begins_line = "\n" in tail or (last and last in _ENDS) or (bullet and bullet in _BULLETS)
    return LINE if begins_line else INSIDE
