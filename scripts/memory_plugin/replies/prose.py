"""A reply as words in place: what the rules are matched against, and what is counted."""

from __future__ import annotations

from itertools import accumulate, compress, repeat

from .folding import MARK, fold
from .masking import BLOT, mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .folding import Folded

__all__ = ["BREAK", "INSIDE", "LINE", "REPLY", "SENTENCE", "Prose", "read_prose"]

INSIDE, SENTENCE, LINE, REPLY = 0, 1, 2, 3
BREAK = BLOT  # the word that stands for what is masked
_KEPT = "'-"
_ENDS = ".!?:;"
_BULLETS = "-*+#\u2022"


class _Words(dict[int, str]):
    """What `str.translate` looks up: letters and digits stay, every other character parts words."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = found = char if char.isalnum() or char in _KEPT or char in (BLOT, MARK) else " "
        return found


_TABLE = _Words()


class Prose:
    """The words of a text in order, each with its place in the masked text.

    A word may be `BREAK` for something masked, or MARK for a sign of refusal; neither counts.
    """

    __slots__ = ("_levels", "folded", "masked", "starts", "words")

    def __init__(self, folded: Folded, masked: str, words: list[str], starts: list[int]) -> None:
        self.folded = folded
        self.masked = masked
        self.words = words
        self.starts = starts
        self._levels = {0: LINE if _begins_with_bullet(masked) else REPLY}

    def level(self, number: int) -> int:
        """What a word begins: INSIDE nothing, SENTENCE a sentence, LINE a paragraph or the like, REPLY the text.

        LINE is also a list item and a line after a full stop.  Few words are ever asked for, so it is worked out then.
        """
        level = self._levels.get(number, -1)
        if level < 0:
            last, start = self.end(number - 1), self.starts[number]
            level = self._levels[number] = _level(self.masked[last:start]) if start - last > 1 else INSIDE
        return level

    def end(self, number: int) -> int:
        """Where a word ends."""
        return self.starts[number] + len(self.words[number])

    def behind(self, number: int) -> str:
        """The first sign behind a word, marks of emphasis and space left out; empty at the end, a line feed at the end of a line."""
        at = self.end(number)
        limit = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.masked)
        while at < limit and self.masked[at] in " *_~)":
            at += 1
        return (
            self.masked[at]
            if at < limit and self.masked[at] != BLOT
            else ""
            if at >= len(self.masked)
            else " "
        )

    def has_behind(self, end: int, signs: str) -> bool:
        """Whether one of some signs stands before the word `end`; the end of the text counts as a full stop."""
        sign = self.behind(end - 1)
        return sign in signs if sign else "." in signs

    def __len__(self) -> int:
        return len(self.words)


def read_prose(text: str) -> Prose:
    """The prose of a text; linear in its length."""
    folded = fold(text)
    masked = mask(folded.text)
    pieces = masked.translate(_TABLE).split(" ")
    places = accumulate(map((1).__add__, map(len, pieces)), initial=0)
    starts = list(compress(places, pieces))
    words = list(filter(None, pieces))
    bare = list(map(str.strip, words, repeat(_KEPT)))
    if bare != words:
        starts = [start + len(word) - len(word.lstrip(_KEPT)) for start, word in zip(starts, words)]
        starts, words = list(compress(starts, bare)), list(filter(None, bare))
    return Prose(folded, masked, words, starts)


def _begins_with_bullet(masked: str) -> bool:
    """Whether a text is a list from its first line on: what an item begins with is content, no opening of the reply."""
    head = masked[:200].lstrip()[:2]
    return head[:1] in ("-", "*", "+", "\u2022") and head[1:] == " "


def _level(gap: str) -> int:
    """What begins behind a gap between two words, which is longer than one character."""
    if "\n" in gap:
        head, _, tail = gap.partition("\n")
        ended = head.strip(" *_)\"'")[-1:]
        bullet = tail.lstrip()[:1]
        return (
            LINE if "\n" in tail or (ended and ended in _ENDS) or (bullet and bullet in _BULLETS) else INSIDE
        )
    return SENTENCE if "." in gap or "!" in gap or "?" in gap else INSIDE
