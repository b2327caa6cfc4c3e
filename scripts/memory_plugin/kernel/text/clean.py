"""Sanitize untrusted text for a prompt: visible characters only, bounded, without forged delimiters."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, groupby, islice
from unicodedata import combining, normalize

from . import CONTROLS, FILLERS, FORMAT, OTHERS, character_class

_LINE_ENDS = re.compile("\r\n?|[\n\x0b\x0c\x85\u2028\u2029]")
_MAX_MARKS = 4  # on one letter; Hebrew with vowels and cantillation needs that many
_NO_WORDS = re.compile(r"[^\w\s\x00-\x7f]{%d,}" % (_MAX_MARKS + 1))  # matches every long run of marks
_INDEX_ARROW = re.compile(r"(?<!\S)->(?!\S)")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})

_INVISIBLE = character_class(CONTROLS + FORMAT + FILLERS + OTHERS)


@cache
def _invisible() -> re.Pattern[str]:
    # Not matched: a joiner between two letters of scripts that need it (RFC 5892, appendix A) or between emoji, and one variation selector
    # after a symbol.
    symbol = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
    joining = "\u0600-\u08ff\u0900-\u0dff" + symbol
    parts = "[%s]+|(?<![%s\ufe0f])[\u200c\u200d]+|[\u200c\u200d]+(?![%s])|(?<![%s#*0-9])[\ufe00-\ufe0f]+"
    return re.compile(parts % (_INVISIBLE, joining, joining, symbol))


def plain(text: str, limit: int) -> str:
    """Return the text as one line of at most `limit` characters (>= 1).

    The text is in NFC. Line breaks and runs of space become one space; controls, zero-width, direction, tag and stray joining characters
    are removed; lone surrogates become U+FFFD. A cut text ends with an ellipsis, and the cut never separates a letter from its marks.
    """
    if text.isascii() and text.isprintable() and "  " not in text:  # nothing to remove
        return _cut(text.strip(), limit)
    return _cut(" ".join(_visible(_LINE_ENDS.sub(" ", text).replace("\t", " ")).split()), limit)


def terminal_safe(text: str) -> str:
    """Return a text in printable ASCII, with escapes for all other characters."""
    text = text.encode("ascii", "backslashreplace").decode("ascii")
    return "".join(letter if letter.isprintable() else "\\x%02x" % ord(letter) for letter in text)


def block(text: str, limit: int) -> str:
    """Return the text as lines of at most `limit` characters (>= 1) in all, otherwise as `plain`.

    Line feeds, tabs and indentation are kept; space at line ends and blank lines at both ends are removed, and several blank lines become
    one.
    """
    lines = [line.rstrip() for line in _visible(_LINE_ENDS.sub("\n", text)).split("\n")]
    lines = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return _cut("\n".join(lines).strip("\n"), limit)


def escape(text: str) -> str:
    """Return the text with `& < > " '` as entities, so that it can forge neither tag nor attribute.

    The separator ` -> ` of index lines becomes an arrow character.
    """
    return _INDEX_ARROW.sub("\u2192", text).translate(_ENTITIES)


def _visible(text: str) -> str:
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    # Long runs of marks are cut before NFC, whose ordering step takes quadratic time on them, and again after it, because it decomposes
    # some characters.
    text = normalize("NFC", _NO_WORDS.sub(_limit_marks, _invisible().sub("", text)))
    return _NO_WORDS.sub(_limit_marks, text)


def _limit_marks(run: re.Match[str]) -> str:
    parts = groupby(run[0], lambda character: combining(character) > 0)
    return "".join(chain.from_iterable(islice(part, _MAX_MARKS if marks else None) for marks, part in parts))


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = limit - 1
    while end > 0 and _joined(text, end):
        end -= 1
    return text[:end].rstrip() + "\u2026"


def _joined(text: str, at: int) -> bool:
    """Return whether the character at `at` combines with the one before."""
    return bool(combining(text[at])) or "\ufe00" <= text[at] <= "\ufe0f" or "\u200d" in text[at - 1 : at + 1]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 memory`, `2 memories` or `3 files`."""
    return inflected(number, noun, noun[:-1] + "ies" if noun.endswith("ry") else noun + "s")


def inflected(number: int, singular: str, plural: str) -> str:
    """Return a number with a phrase that agrees with it, such as `1 title is` or `2 titles are`."""
    return "%d %s" % (number, singular if number == 1 else plural)
