"""One spelling for what readers take for the same, one character for one, so that offsets still lead into the original text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MARK", "Folded", "fold"]

MARK = (
    "\x02"  # stands for a sign of refusal such as a red cross, which says that what follows is a bad example
)
_GONE = "\x00"
_REFUSALS = "\u274c\u274e\u2717\u2718\u26d4\U0001f6ab\U0001f6d1\U0001f44e"
_ONE_FOR_ONE = {
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2032": "'", "\uff07": "'", "\u00b4": "'",
    "\u2013": "\u2014", "\u2015": "\u2014", "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2026": ".", "\u3002": ".",
    "\uff01": "!", "\uff0c": ",", "\uff1f": "?", "\uff1a": ":", "\u2014": "\u2014", "\u201c": "\u201c", "\u201d": "\u201d",
}  # fmt: skip
# Nobody sees these, and one inside a word makes another word of it: zero width, directions, joiners, soft hyphen, selectors.
_UNSEEN = frozenset(
    [
        0xAD,
        0x34F,
        0x61C,
        0x180E,
        0xFEFF,
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE10),
    ]
)


class _Table(dict[int, str]):
    """What `str.translate` looks up; each character beyond ASCII is worked out once."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _folded(code)
        return found


def _folded(code: int) -> str:
    char = chr(code)
    if char in _ONE_FOR_ONE:
        return _ONE_FOR_ONE[char]
    if code in _UNSEEN or 0x300 <= code < 0x370 or 0xE0000 <= code < 0xE1000:
        return _GONE
    if char in _REFUSALS:
        return MARK
    if 0x2190 <= code < 0x2C00 or 0x1F000 <= code < 0x1FB00 or char.isspace() or 0xD800 <= code < 0xE000:
        return " "
    return char if code >= 0x3000 and not 0xFF00 <= code < 0xFF60 and code < 0x1D400 else _bare(char)


def _bare(char: str) -> str:
    """A letter in lower case, in its compatibility form and without diacritics, where that is one character."""
    from unicodedata import combining, normalize

    if combining(char):
        return _GONE
    base = normalize("NFKD", char)[:1].lower()
    return base if len(base) == 1 and base != _GONE else char


_TABLE = _Table({code: chr(code).lower() for code in range(128)})
_TABLE[0] = " "
_TABLE[1] = _TABLE[2] = " "
_TABLE[13] = " "


class Folded:
    """A folded text, and where each of its characters stands in the original."""

    __slots__ = ("_gone", "text")

    def __init__(self, text: str, gone: Sequence[int] = ()) -> None:
        self.text = text
        self._gone = gone

    def origin(self, at: int) -> int:
        """The offset in the original of the character at `at`; for the text's end, the end of what was kept."""
        low, high = 0, len(self._gone)
        while low < high:
            middle = (low + high) // 2
            if self._gone[middle] <= at:
                low = middle + 1
            else:
                high = middle
        return at + low

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The offsets in the original of a stretch that is not empty."""
        return self.origin(start), self.origin(end - 1) + 1


def fold(text: str) -> Folded:
    """The text in lower case with plain apostrophes and without diacritics and invisible characters; linear in its length."""
    if (
        text.isascii()
        and "\x00" not in text
        and "\x01" not in text
        and "\x02" not in text
        and "\r" not in text
    ):
        return Folded(text.lower())
    text = text.translate(_TABLE)
    if _GONE not in text:
        return Folded(text)
    gone: list[int] = []
    length = 0
    parts = text.split(_GONE)
    for part in parts[:-1]:
        length += len(part)
        gone.append(length)
    return Folded("".join(parts), gone)
