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
    add_word, add_start, add_level = prose.words.append, prose.starts.append, prose.levels.append
    known: dict[str, int] = {}  # most gaps are the same few signs
    at = last = 0
    for raw in masked.translate(_TABLE).split():
        at = masked.index(raw, at)
        word = raw.strip("'-")
        start = at
        at += len(raw)
        if word is not raw:
            if not word:
                continue
            start += raw.index(word)
        if start - last != 1:
            gap = masked[last:start]
            level = known.get(gap, -1)
            if level < 0:
                level = _level(gap)
                if len(gap) < 8:
                    known[gap] = level
        else:
            level = INSIDE
        add_word(word)
        add_start(start)
        add_level(level)
        last = start + len(word)
    if prose.levels:
        prose.levels[0] = LINE if _begins_with_bullet(masked) else REPLY
    prose.ends = list(map(int.__add__, prose.starts, map(len, prose.words)))
    return prose


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
