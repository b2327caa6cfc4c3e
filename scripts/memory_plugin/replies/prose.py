"""Convert a reply to folded words with their positions, which the rules match and count. What is not its own prose is masked.

Folding gives one spelling to variants that readers consider the same (curly apostrophes, accents, invisible characters). It maps each
character to one or none, so that every word can be traced to its position in the original text. Masking hides code, quotations, tables
and addresses, and keeps all offsets. Every pass takes linear time, even for hostile text: an opening mark without an end has no effect
beyond its line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, compress, repeat

from ..kernel.text import tags

MASK = "\x01"
INSIDE, SENTENCE, LINE, REPLY = 0, 1, 2, 3  # the boundary before a word, weakest first
POSITIONS = {
    "anywhere": INSIDE,
    "sentence": SENTENCE,
    "line": LINE,
    "reply": REPLY,
}  # by their names in rules
BREAK = MASK  # the word that stands for a masked passage
CROSS_SIGN = "\x02"  # for a red cross and the like: a bad example follows
_REMOVED = "\x00"
_ONE_FOR_ONE = {
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2032": "'", "\uff07": "'", "\u00b4": "'",
    "\u2013": "\u2014", "\u2015": "\u2014", "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2026": ".", "\u3002": ".",
    "\uff01": "!", "\uff0c": ",", "\uff1f": "?", "\uff1a": ":", "\u2014": "\u2014", "\u201c": "\u201c", "\u201d": "\u201d",
    **dict.fromkeys("\u274c\u274e\u2717\u2718\u26d4\U0001f6ab\U0001f6d1\U0001f44e", CROSS_SIGN),
    **dict.fromkeys("\x00\x01\x02\r", " "),  # a reply must not contain our own marks
}  # fmt: skip
_INVISIBLE = tags.code_points(tags.IN_WORDS)
_IN_WORDS = "'-"
_ENDS = ".!?:;"
_BULLETS = "-*+#\u2022"
_FENCES = ("```", "~~~")
_MASKED_LINES = tuple(">|\u2502\u251c\u2514\u250c\u2570\u256d")  # of block quotes and tables
_PAIRS = {
    "\u201c": "\u201d", "\u201e": "\u201c", "\u00ab": "\u00bb", "\u300c": "\u300d", "\u300e": "\u300f", "\u2039": "\u203a",
}  # fmt: skip
_MAX_QUOTE = 600
_MAX_SINGLE_QUOTE = 120
_BEFORE_QUOTE = " \t([{-*_/:=\u2014>,"
_AFTER_QUOTE = " \t.,;:!?)]}*_-/\u2014|"


class _FoldTable(dict[int, str]):
    """The table for `str.translate`; each character beyond ASCII is computed once."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(code)
        return folded


def _fold_character(code: int) -> str:
    char = chr(code)
    if code in _INVISIBLE or 0x300 <= code < 0x370 or 0xE0000 <= code < 0xE1000:
        return _REMOVED
    if 0x2190 <= code < 0x2C00 or 0x1F000 <= code < 0x1FB00 or char.isspace() or 0xD800 <= code < 0xE000:
        return " "
    if code >= 0x3000 and not 0xFF00 <= code < 0xFF60 and code < 0x1D400:
        return char
    from unicodedata import combining, normalize

    # A letter in lower case, in its compatibility form and without diacritics, where that is one character.
    if combining(char):
        return _REMOVED
    base = normalize("NFKD", char)[:1].lower()
    return base if len(base) == 1 and base != _REMOVED else char


_FOLDED = _FoldTable({code: chr(code).lower() for code in range(128)})
_FOLDED.update(str.maketrans(_ONE_FOR_ONE))


class FoldedText:
    """A text in lower case with plain apostrophes, without diacritics and invisible characters, and the original offset of each character.

    Folding takes linear time.
    """

    __slots__ = ("_removed", "text")

    def __init__(self, original: str) -> None:
        self._removed: Sequence[int] = ()
        if original.isascii() and not any(mark in original for mark in "\x00\x01\x02\r"):
            self.text = original.lower()
            return
        parts = original.translate(_FOLDED).split(_REMOVED)
        self.text = "".join(parts)
        self._removed = list(accumulate(map(len, parts[:-1])))

    def original_offset(self, at: int) -> int:
        """Return the original offset of the character at `at`; `at` may be the end of the text."""
        return at + bisect_right(self._removed, at)

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the original of a passage that is not empty."""
        return self.original_offset(start), self.original_offset(end - 1) + 1


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

    def __init__(self, text: str) -> None:
        """Read a text in linear time."""
        self.folded = FoldedText(text)
        self.masked = masked = mask(self.folded.text)
        # Every separator became one space, so the lengths of the pieces give each word's place.
        pieces = masked.translate(_WORDS).split(" ")
        places = accumulate(map((1).__add__, map(len, pieces)), initial=0)
        starts = list(compress(places, pieces))
        words = list(filter(None, pieces))
        bare = list(map(str.strip, words, repeat(_IN_WORDS)))
        if bare != words:
            starts = [start + len(word) - len(word.lstrip(_IN_WORDS)) for start, word in zip(starts, words)]
            starts, words = list(compress(starts, bare)), list(filter(None, bare))
        self.starts, self.words = starts, words
        # A list item is content and not the opening of a reply.
        is_item = masked[:200].lstrip().startswith(("- ", "* ", "+ ", "\u2022 "))
        self._boundaries = {0: LINE if is_item else REPLY}

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

    def __len__(self) -> int:
        return len(self.words)


def _boundary(gap: str) -> int:
    """Return what begins after a gap of more than one character between two words."""
    if "\n" not in gap:
        return SENTENCE if "." in gap or "!" in gap or "?" in gap else INSIDE
    head, _, tail = gap.partition("\n")
    last = head.strip(" *_)\"'")[-1:]
    bullet = tail.lstrip()[:1]
    begins_line = "\n" in tail or (last and last in _ENDS) or (bullet and bullet in _BULLETS)
    return LINE if begins_line else INSIDE


def mask(text: str) -> str:
    """Replace each passage of a folded text that is not prose by one `MASK` and spaces, with the same length."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        bare = line.lstrip(" \t")
        is_masked = bool(fence) or bare.startswith(_MASKED_LINES)
        if fence:
            rest = bare.rstrip(" \t")
            if len(rest) >= len(fence) and rest == fence[0] * len(rest):  # CommonMark 4.5
                fence = ""
        elif bare.startswith(_FENCES):
            info = bare.lstrip(bare[0])
            if bare[0] == "~" or "`" not in info:  # else it is inline code (CommonMark 4.5)
                fence, is_masked = bare[: len(bare) - len(info)], True
        lines.append(_masked(len(line)) if is_masked else _mask_line(line))
    return "\n".join(lines)


def _masked(length: int) -> str:
    return (" " + MASK if length > 2 else MASK[:length]).ljust(length)


def _mask_line(line: str) -> str:
    if "`" in line:
        line = _replace(line, _code_spans(line))
    if '"' in line:
        line = _replace(line, _quotes(line, '"'))
    if "'" in line:
        line = _replace(line, _quotes(line, "'"))
    if not line.isascii() and any(mark in line for mark in _PAIRS):
        line = _replace(line, _paired_quotes(line))
    if "/" in line or "www." in line or "\\" in line:
        line = _replace(line, _addresses(line))
    return line


def _replace(line: str, spans: Iterator[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [line[done:start], _masked(end - start)]
        done = end
    return "".join([*parts, line[done:]])


def _code_spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield the code spans: a run of backticks up to the next run of the same length (CommonMark 6.1)."""
    runs: list[tuple[int, int]] = []
    at = line.find("`")
    while at >= 0:
        end = at + 1
        while line[end : end + 1] == "`":
            end += 1
        runs.append((at, end))
        at = line.find("`", end)
    left: dict[int, int] = {}  # runs by length that are still to come
    for begin, end in runs:
        left[end - begin] = left.get(end - begin, 0) + 1
    start = length = -1
    for begin, end in runs:
        left[end - begin] -= 1
        if start >= 0 and end - begin == length:
            yield start, end
            start = -1
        elif start < 0 and left[end - begin]:
            start, length = begin, end - begin


def _quotes(line: str, mark: str) -> Iterator[tuple[int, int]]:
    """Yield the passages in straight quotes, double or single.

    A double quote after a letter or digit (inches) opens none, nor does an apostrophe within a word.
    """
    is_double = mark == '"'
    longest = _MAX_QUOTE if is_double else _MAX_SINGLE_QUOTE
    start, at = -1, line.find(mark)
    while at >= 0:
        before, after = line[at - 1 : at], line[at + 1 : at + 2]
        opens = not (before.isalnum() and before.isascii())
        closes = is_double
        if not is_double:
            opens = (not before or before in _BEFORE_QUOTE) and after.isalnum()
            closes = before not in ("", " ", "\t") and (not after or after in _AFTER_QUOTE)
        if start >= 0 and closes and at - start <= longest:
            yield start, at + 1
            start = -1
        elif opens:
            start = at
        at = line.find(mark, at + 1)


def _paired_quotes(line: str) -> Iterator[tuple[int, int]]:
    """Yield the passages between quotation marks that differ in opening and closing."""
    close = ""
    start = -1
    for at, char in enumerate(line):
        if close and char == close and at - start <= _MAX_QUOTE:
            yield start, at + 1
            close = ""
        elif char in _PAIRS and (not close or at - start > _MAX_QUOTE):
            close, start = _PAIRS[char], at


def _addresses(line: str) -> Iterator[tuple[int, int]]:
    """Yield URLs, paths, and other words with slashes, but not two words such as `and/or`."""
    at = 0
    for word in line.split():
        at = line.index(word, at)
        if _is_address(word.lstrip("([*_<")):
            yield at, at + len(word)
        at += len(word)


def _is_address(word: str) -> bool:
    inner = word.rstrip(".,;:!?)]*_>")
    is_path = "." in inner or word.startswith(("/", "~/", "@/"))
    return (
        "\\" in word
        or word.startswith("www.")
        or inner.count("/") > 1
        or ("/" in inner and len(inner) > 1 and is_path)
    )
