"""Shadow copies of a text without disguises, with the place of each part in the original.

A shadow holds only the surroundings of each change, so most texts have none. `folded` undoes spellings: look-alike letters, invisible
characters, escapes, concatenated strings, base64, cells of tables. `joined` undoes line breaks inside a token. It is only for rules with a
recognizable form, because any two words may follow each other on two lines.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from bisect import bisect_right
from functools import cache
from itertools import accumulate, groupby
from unicodedata import category, normalize

from ..text.tags import LOOKALIKES
from .filters import words as word_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_HIDDEN = "\0"  # replaces what the scanner has already found
_PERCENT = re.compile(r"%(?:25){0,3}[2-7][0-9A-Fa-f]")
_ENTITY = re.compile(
    r"&(?:amp;){0,3}(?:#\d{2,7}|#[xX][0-9A-Fa-f]{2,6}|amp|quot|apos|lt|gt|nbsp|colon|equals|shy|num|dollar);"
)
_ESCAPE = re.compile(
    r"\\(?:(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,20}m|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U000[0-9A-Fa-f]{5}"
    r"|x[2-7][0-9A-Fa-f]|\r?\n[ \t]{0,40}|(?<=\w\\)[!#$%&*+_~])"
)
_COLOR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_VALUE = r"[\w+/=.~!#$%^&*-]"
_LINE = r"[ \t]{0,20}(?:\\?\r?\n[ \t]{0,40})?"
# The first lookahead is redundant, but cheap: few quotes pass it.
_CONCATENATION = re.compile(
    r"[\"'`](?=[ \t+.&\\\r\n])(?<=%s([\"'`]))(?:%s[+.&]%s|[ \t]{0,20}\\?\r?\n[ \t]{0,40})[bfru]?\1(?=%s)"
    % (_VALUE, _LINE, _LINE, _VALUE)
)
# Dashes, dots, arrows and frames, which are common in plain text.
_COMMON = "\u2013\u2014\u2026\u2190-\u21ff\u2500-\u259f\u2713\u2714\u25cf"
# Searching one range is three times as fast as searching a set of several.
_FOREIGN = re.compile("[^\x00-\x7f](?<![%s])[^\x00-\x7f%s]*" % (_COMMON, _COMMON))
_SPELLED = {"\u0142": "l", "\u00f8": "o", "\u0111": "d", "\u0131": "i", "\u00df": "ss"}
_SPELLED.update(
    dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u2033", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u2032", "'"),
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,8000}={0,2}")
_MIN_BASE64 = 20
_SPACE_CATEGORIES = ("Zs", "Zl", "Zp")
_ROW = re.compile(r"\|[^\n]{3,2000}\|[ \t]{0,20}\r?(?=\n|\Z)")
_ROW_MARGIN = 20  # characters before a row: indentation, quotation marks
_RULE = re.compile(r"[\s>|:-]+\Z")
_NAME_CELL = re.compile(r"(?i)pass|pwd|secret|token|key|cred|pin\b|kennwort|contrase|clave|senha")
_CELL = re.compile(r"[^|]+")
_MAX_NAMES = 4  # columns that are named like secrets
_AROUND = 400  # characters kept on each side of a change, up to the end of a word
_WORD_END = 100
_GAP = "\n\n\n\0\0\n\n\n"  # no finding spans or touches it
_BREAK = re.compile(r"\n(?<=[A-Za-z0-9_+/\\\r \t-]\n)[ \t>*#|]{0,20}(?=[A-Za-z0-9_+/=-]{4})")
_TAIL = 60  # characters at the end of a line that show whether a key continues on the next line
_MIN_PART = 8


class Change:
    """A passage of a text and its meaning in plain ASCII."""

    __slots__ = ("end", "start", "text")

    def __init__(self, start: int, end: int, text: str) -> None:
        self.start, self.end, self.text = start, end, text


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


def spellings(text: str) -> Iterator[Change]:
    """Yield a change for each disguised passage: escapes, concatenated strings, letters outside ASCII. Changes may overlap."""
    for mark, pattern, plain in _ESCAPES:
        if mark in text:
            for match in pattern.finditer(text):
                yield Change(match.start(), match.end(), plain(match[0]))
    if '"' in text or "'" in text or "`" in text:
        for match in _CONCATENATION.finditer(text):
            yield Change(match.start(), match.end(), "")
    if not text.isascii():
        for match in _FOREIGN.finditer(text):
            yield from _plain_letters(match[0], match.start())


def decoded(text: str, words: Iterable[str]) -> Iterator[list[tuple[str, int, int]]]:
    """Yield the pieces of decoded base64 that is printable; `words` are the text's distinct words."""
    long = [word for word in words if len(word) >= _MIN_BASE64]
    for run in sorted(set(_BASE64.findall("\n".join(long)))):
        plain = _from_base64(run)
        place = text.find(run) if plain else -1
        while place >= 0:
            yield [(plain, place, place + len(run))]
            place = text.find(run, place + len(run))


def _from_base64(value: str) -> str:
    """Return the decoded base64 if it is printable ASCII, else ""."""
    value = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = a2b_base64(value + "=" * (-len(value) % 4)).decode("ascii")
    except (Base64Error, UnicodeDecodeError):
        return ""
    return plain if "".join(plain.split()).isprintable() else ""


def cells(text: str) -> Iterator[list[tuple[str, int, int]]]:
    """Yield the pieces of `name: cell` for each cell of a Markdown table below one that may name a secret."""
    header: list[tuple[int, int, int]] = []
    before: list[tuple[int, int]] = []
    end = -1
    for row in _ROW.finditer(text):
        margin = text[max(0, row.start() - _ROW_MARGIN) : row.start()].rpartition("\n")[2]
        if margin.strip(" \t>"):
            continue
        if row.start() - len(margin) > end + 1:  # another table
            header, before = [], []
        end = row.end()
        if _RULE.match(row[0]):
            header = [(n, *cell) for n, cell in enumerate(before) if _NAME_CELL.search(text, *cell)][
                :_MAX_NAMES
            ]
            continue
        before = [
            _trimmed(text, row.start() + c.start(), row.start() + c.end())
            for c in _CELL.finditer(row[0].rstrip())
        ]
        yield from (_pair(text, (start, stop), before[n]) for n, start, stop in header if n < len(before))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    cell = text[start:end]
    return start + len(cell) - len(cell.lstrip(" \t`*")), start + len(cell.rstrip(" \t`*"))


def _pair(text: str, name: tuple[int, int], value: tuple[int, int]) -> list[tuple[str, int, int]]:
    return [
        (text[slice(*name)].replace(" ", "_"), *name),
        (": ", value[0], value[0]),
        (text[slice(*value)], *value),
    ]


def _plain_letters(run: str, start: int) -> Iterator[Change]:
    for match in _password_words().finditer(run):
        yield Change(start + match.start(), start + match.end(), "password")
    plain_of = {ord(character): _plain_character(character) for character in set(run)}
    if all(len(plain) == 1 and ord(plain) != code for code, plain in plain_of.items()):
        yield Change(start, start + len(run), run.translate(plain_of))
        return
    for same_length, group in groupby(enumerate(run), _keeps_length):
        places = list(group)
        plain = "".join([_plain_character(character) for _, character in places])
        begin = start + places[0][0]
        if same_length is None:
            continue
        if same_length:
            yield Change(begin, begin + len(places), plain)
        elif not plain:
            yield Change(begin, begin + len(places), "")
        else:
            for at, character in places:
                yield Change(start + at, start + at + 1, _plain_character(character))


def _keeps_length(numbered: tuple[int, str]) -> bool | None:
    """Return whether a character is replaced by exactly one; None if it is not replaced."""
    plain = _plain_character(numbered[1])
    return None if plain == numbered[1] else len(plain) == 1


@cache
def _password_words() -> re.Pattern[str]:
    return re.compile("|".join(sorted(word_list("password_words"), key=len, reverse=True)))


@cache
def _plain_character(character: str) -> str:
    """Return the ASCII text that a reader sees in a character, "" for an invisible one, or the character itself."""
    kind = category(character)
    if kind in _SPACE_CATEGORIES:
        return " "
    if kind in ("Cf", "Mn", "Cc") or character in "\u3164\uffa0\u115f\u1160":
        return ""
    plain = _SPELLED.get(character) or character.translate(LOOKALIKES)
    if plain == character:
        plain = "".join(c for c in normalize("NFKD", character) if category(c) != "Mn")
    return plain if plain.isascii() else character


def _percent(escaped: str) -> str:
    return chr(int(escaped[-2:], 16)).replace("\x7f", " ")


def _escape(escaped: str) -> str:
    """Return the character that an escape means; "" for a color and for a continued line."""
    code = escaped.lstrip("\\")
    if code in "!#$%&*+_~":  # of Markdown
        return code
    if code[0] not in "uUx" or "[" in code:
        return ""
    number = int(code[1:].strip("{}"), 16)
    if not 32 <= number < 0x110000 or 0xD800 <= number < 0xE000:
        return " "
    return _plain_character(chr(number)) if number > 127 else chr(number)


def _entity(escaped: str) -> str:
    from html import unescape  # its table takes two milliseconds, and few texts contain an entity

    plain = unescape(unescape("&" + escaped[1:].replace("amp;", "") if escaped != "&amp;" else escaped))
    return "".join(map(_plain_character, plain.replace(_HIDDEN, " "))) if plain.isprintable() else " "


def _nothing(_escaped: str) -> str:
    return ""


_ESCAPES: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("%", _PERCENT, _percent),
    ("&", _ENTITY, _entity),
    ("\\", _ESCAPE, _escape),
    ("\x1b", _COLOR, _nothing),
)
