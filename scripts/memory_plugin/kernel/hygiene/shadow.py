"""Shadow copies of a text without disguises, with the place of each part in the original.

A shadow holds only the surroundings of each change, so most texts have none. `folded` undoes spellings: look-alike letters, invisible
characters, escapes, concatenated strings, base64, cells of tables. `joined` undoes line breaks inside a token. It is only for rules with a
recognizable form, because any two words may follow each other on two lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from .spellings import Change, cells, decoded, spellings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_AROUND = 400  # characters kept on each side of a change, up to the end of a word
_WORD_END = 100
_GAP = "\n\n\n\0\0\n\n\n"  # no finding spans or touches it
_BREAK = re.compile(r"\n(?<=[A-Za-z0-9_+/\\\r \t-]\n)[ \t>*#|]{0,20}(?=[A-Za-z0-9_+/=-]{4})")
_TAIL = 60  # characters at the end of a line that show whether a key continues on the next line
_MIN_PART = 8


class Shadow:
    """A shadow text; `original` maps its places back."""

    __slots__ = ("_ends", "_offsets", "_starts", "text")

    def __init__(self, pieces: Iterable[tuple[str, int, int]]) -> None:
        """Build the shadow from (text, start, end): each piece with its span in the original."""
        nonempty = [piece for piece in pieces if piece[0]]
        self.text = "".join(text for text, _, _ in nonempty)
        self._starts = [start for _, start, _ in nonempty]
        self._ends = [end for _, _, end in nonempty]
        self._offsets = [0]
        for text, _, _ in nonempty:
            self._offsets.append(self._offsets[-1] + len(text))

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original from which `text[start:end]` was made; it must not be empty."""
        return self._place(start)[0], self._place(end - 1)[1]

    def is_changed(self, start: int, end: int) -> bool:
        """Return whether `text[start:end]` differs in length from its span in the original."""
        first, last = self.original(start, end)
        return last - first != end - start

    def touches(self, spans: Iterable[tuple[int, int]]) -> bool:
        """Return whether one of the spans touches a part of the original from which the shadow was made."""
        sources = sorted(zip(self._starts, self._ends))
        starts = [start for start, _ in sources]
        ends = list(accumulate((end for _, end in sources), max))
        for start, end in spans:
            before = bisect_right(starts, end)
            if before and ends[before - 1] >= start:
                return True
        return False

    def _place(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._offsets, at) - 1
        start, end = self._starts[number], self._ends[number]
        if end - start != self._offsets[number + 1] - self._offsets[number]:
            return start, end  # a change: its characters have no places of their own
        start += at - self._offsets[number]
        return start, start + 1


def folded(text: str, words: Iterable[str]) -> Shadow | None:
    """Return the plain spelling of a text around each disguise; None if there is none. `words` are the text's distinct words."""
    pieces = _surroundings(text, _ordered(spellings(text)))
    for extra in (*decoded(text, words), *cells(text)):
        pieces += (*extra, (_GAP, 0, 0))
    return Shadow(pieces) if pieces else None


def joined(text: str) -> Shadow | None:
    """Return the words that may continue on the next line, joined with its first word; None if there are none."""
    changes = []
    for match in _BREAK.finditer(text):
        tail = text[max(0, match.start() - _TAIL) : match.start()]
        stripped = tail.rstrip("\\ \t\r")
        if _ends_in_part(stripped):
            changes.append(Change(match.start() - len(tail) + len(stripped), match.end(), ""))
    return Shadow(_surroundings(text, changes)) if changes else None


def _ends_in_part(line: str) -> bool:
    """Return whether the last word has both letters and digits, like a part of a key."""
    end = line[-_MIN_PART:]
    if len(end) < _MIN_PART or not end.isascii() or " " in end:
        return False
    word = line.rpartition(" ")[2]
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def _ordered(changes: Iterable[Change]) -> list[Change]:
    """Return the changes by place without overlaps; of two that begin together, the longer one."""
    ordered: list[Change] = []
    for change in sorted(changes, key=_by_place):
        if not ordered or change.start >= ordered[-1].end:
            ordered.append(change)
    return ordered


def _by_place(change: Change) -> tuple[int, int]:
    return change.start, -change.end


def _surroundings(text: str, changes: list[Change]) -> list[tuple[str, int, int]]:
    """Return the pieces of the changed text near the changes, with a gap wherever something is left out."""
    pieces: list[tuple[str, int, int]] = []
    position = end = 0
    for change in changes:
        start = change.start - _AROUND
        if start > end:
            start = max(end, _word_start(text, start))
            pieces += ((text[position:end], position, end), (_GAP, end, end))
            position = start
        pieces += (
            (text[position : change.start], position, change.start),
            (change.text, change.start, change.end),
        )
        position = change.end
        end = max(position, _word_end(text, position + _AROUND))
    if changes:
        pieces += ((text[position:end], position, end), (_GAP, end, end))
    return pieces


def _word_start(text: str, at: int) -> int:
    """Return the place after the last white space shortly before `at`, so that no token is cut; `at` itself if there is none."""
    low = max(0, at - _WORD_END)
    space = max(text.rfind(mark, low, max(0, at)) for mark in " \n\t")
    return space + 1 if space >= 0 else max(0, at if low else 0)


def _word_end(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    ends = [text.find(mark, at, at + _WORD_END) for mark in " \n\t"]
    return min((end for end in ends if end >= 0), default=at)
