"""A reply as words in place: what the rules are matched against, and what is counted."""

from __future__ import annotations

from .folding import MARK, fold
from .masking import BLOT, mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .folding import Folded

__all__ = ["BREAK", "INSIDE", "LINE", "REPLY", "SENTENCE", "Prose", "read_prose"]

INSIDE, SENTENCE, LINE, REPLY = 0, 1, 2, 3
BREAK = BLOT  # the word that stands for what is masked
_KEPT = frozenset("'-")
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

    `levels` says what a word begins: INSIDE nothing, SENTENCE a sentence, LINE a paragraph, a list item or a line after a full stop,
    REPLY the text.  A word may be `BREAK` for something masked, or MARK for a sign of refusal; neither counts.
    """

    __slots__ = ("ends", "folded", "levels", "masked", "starts", "words")

    def __init__(self, folded: Folded, masked: str) -> None:
        self.folded = folded
        self.masked = masked
        self.words: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.levels: list[int] = []

    def behind(self, number: int) -> str:
        """The first sign behind a word, marks of emphasis and space left out; empty at the end, a line feed at the end of a line."""
        at = self.ends[number]
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
    prose = Prose(folded, masked)
    at = last = 0
    level = LINE if _begins_with_bullet(masked) else REPLY
    for raw in masked.translate(_TABLE).split():
        at = masked.index(raw, at)
        word = raw.strip("'-")
        if word:
            start = at + raw.index(word) if word is not raw else at
            if prose.words:
                level = _level(masked, last, start)
            prose.words.append(word)
            prose.starts.append(start)
            prose.levels.append(level)
            last = start + len(word)
            prose.ends.append(last)
        at += len(raw)
    return prose


def _begins_with_bullet(masked: str) -> bool:
    """Whether a text is a list from its first line on: what an item begins with is content, no opening of the reply."""
    head = masked[:200].lstrip()[:2]
    return head[:1] in ("-", "*", "+", "\u2022") and head[1:] == " "


def _level(masked: str, last: int, start: int) -> int:
    """What begins at `start`, judged by what stands between it and the word that ended at `last`."""
    if start - last == 1:
        return INSIDE
    gap = masked[last:start]
    if "\n" in gap:
        head, _, tail = gap.partition("\n")
        ended = head.strip(" *_)\"'")[-1:]
        bullet = tail.lstrip()[:1]
        return (
            LINE if "\n" in tail or (ended and ended in _ENDS) or (bullet and bullet in _BULLETS) else INSIDE
        )
    for sign in gap:
        if sign in ".!?":
            return SENTENCE
    return INSIDE
