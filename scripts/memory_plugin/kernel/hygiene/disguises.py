"""The shadows of a text: copies without disguises, with the place of each part in the original.

A shadow holds only the lines around each change, so most texts have none. `folded` undoes look-alike letters, invisible characters,
escapes, concatenated strings, base64 and cells of tables; `joined` undoes line breaks inside a token.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import accumulate
from unicodedata import category, normalize

from ..text import LOOKALIKES
from .filters import words as word_list

Piece = tuple[str, int, int]  # a text in plain ASCII, and the span in the original that it stands for

HIDDEN = "\0"  # replaces what the scanner has already found
_PERCENT = re.compile(r"%(?:25){0,3}[2-7][0-9A-Fa-f]")
_ENTITY = re.compile(
    r"&(?:amp;){0,3}(?:#\d{2,7}|#[xX][0-9A-Fa-f]{2,6}|amp|quot|apos|lt|gt|nbsp|colon|equals|shy|num|dollar);"
)
_ESCAPE = re.compile(
    r"\\(?:(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,20}m|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U000[0-9A-Fa-f]{5}"
    r"|x[2-7][0-9A-Fa-f]|\r?\n[ \t]{0,40}|(?<=\w\\)[!#$%&*+_~])"
)
_VALUE = r"[\w+/=.~!#$%^&*-]"
_LINE = r"[ \t]{0,20}(?:\\?\r?\n[ \t]{0,40})?"
_TAG = r"/?(?:span|b|i|u|em|strong|code|wbr|br|font|mark)(?: [^<>]{0,60})?/?>"
# Both begin with a character, which is searched faster than what must come before it.
_INLINE = re.compile(r"<(?<=[\w+/=-]<)%s(?:<%s){0,3}(?=[\w+/=-])" % (_TAG, _TAG))
_CONTROL = re.compile("[\x01-\x08\x0e-\x1f\x7f]")
_BOLD = re.compile(r"\*\*(?<=[A-Za-z0-9_]\*\*)(?=[A-Za-z0-9_])")
# The first lookahead is redundant, but cheap: few quotes pass it.
_CONCATENATION = re.compile(
    r"[\"'`](?=[ \t+.&\\\r\n])(?<=%s([\"'`]))(?:%s[+.&]%s|[ \t]{1,3}|[ \t]{0,20}\\?\r?\n[ \t]{0,40})[bfru]?\1(?=%s)"
    % (_VALUE, _LINE, _LINE, _VALUE)
)
_COLOR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
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
_HEX = re.compile(r"(?:[2-7][0-9A-Fa-f]){20,400}")  # printable characters
# Strings that a format or `join` puts together, and what occurs in such code.
_SIGNS = ("%s%s", "{}{}", "{0}{1}", '"".join', "''.join")
_PART = r"[\"'](?:[\w+/=.-]{3,120})[\"']"
_STRING = re.compile(_PART)
_ASSEMBLED = re.compile(
    r"(?:(?:%%s|\{\d?\}){2,8}[\"'][ ]?(?:%%|\.format)|[\"']{2}\.join) ?[\[(]{1,2}(%s(?:, ?%s){1,7})"
    % (_PART, _PART)
)
_ROW = re.compile(r"^[ \t>]{0,20}\|[^\n]{3,2000}\|[ \t]{0,20}\r?$", re.MULTILINE)
_RULE = re.compile(r"[\s>|:-]+\Z")
_NAME_CELL = re.compile(r"(?i)pass|pwd|secret|token|key|cred|pin\b|kennwort|contrase|clave|senha")
_CELL = re.compile(r"(?<=\|)[^|\r]+")
_MAX_NAMES = 4  # columns that are named like secrets
_AROUND = 400  # characters kept on each side of a change, up to the end of a line
_BREAK = re.compile(r"\n(?<=[A-Za-z0-9_+/\\\r \t-]\n)(?:[ \t>*#|;]|//(?= )){0,20}(?=[A-Za-z0-9_+/=-]{4})")
_TAIL = 60  # characters at the end of a line that show whether a key continues on the next line
_GAP = "\n\n\n\0\0\n\n\n"  # no finding spans or touches it


class Shadow:
    """A shadow text; `original` maps its places back."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        """Build the shadow from (text, start, end): each piece with its span in the original."""
        self._pieces = [piece for piece in pieces if piece[0]]
        texts = [text for text, _, _ in self._pieces]
        self.text = "".join(texts)
        self._offsets = list(accumulate(map(len, texts), initial=0))

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original from which `text[start:end]` was made; it must not be empty."""
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._offsets, at) - 1
        text, start, end = self._pieces[number]
        if end - start != len(text):
            return start, end  # a change: its characters have no places of their own
        start += at - self._offsets[number]
        return start, start + 1


def folded(text: str) -> Shadow:
    """Return the plain spelling of a text around each disguise; an empty one if there is none."""
    changes: list[Piece] = []
    for change in sorted(spellings(text), key=lambda piece: (piece[1], -piece[2])):
        if not changes or change[1] >= changes[-1][2]:  # of two that begin together, the longer one
            changes.append(change)
    pieces = _surroundings(text, changes)
    for extra in (*decoded(text), *assembled(text), *cells(text)):
        pieces += (*extra, (_GAP, 0, 0))
    return Shadow(pieces)


def joined(text: str) -> Shadow:
    """Return the lines whose last word looks like a part of a key, joined with the next line; an empty shadow if there are none."""
    changes: list[Piece] = []
    for match in _BREAK.finditer(text):
        line = text[max(0, match.start() - _TAIL) : match.start()]
        part = line.rstrip("\\ \t\r")
        word = part.rpartition(" ")[2]
        if len(word) >= 8 and any(map(str.isdigit, word)) and any(map(str.isalpha, word)):
            changes.append(("", match.start() - len(line) + len(part), match.end()))
    return Shadow(_surroundings(text, changes))


def _surroundings(text: str, changes: list[Piece]) -> list[Piece]:
    """Return the pieces of the changed text near the changes, with a gap wherever lines are left out."""
    pieces: list[Piece] = []
    position = end = 0
    for change in changes:
        _, first, last = change
        start = text.rfind("\n", end, max(end, first - _AROUND))
        if start >= 0:
            pieces += ((text[position:end], position, end), (_GAP, end, end))
            position = start
        pieces += ((text[position:first], position, first), change)
        position = last
        if position + _AROUND > end:
            end = text.find("\n", position + _AROUND)
            end = end if end >= 0 else len(text)
    if changes:
        pieces += ((text[position:end], position, end), (_GAP, end, end))
    return pieces


def spellings(text: str) -> Iterator[Piece]:
    """Yield a change for each disguised passage: escapes, concatenated strings, letters outside ASCII. Changes may overlap."""
    for mark, pattern, plain in _ESCAPES:
        if mark in text:
            for match in pattern.finditer(text):
                yield plain(match[0]), match.start(), match.end()
    for pattern in (_CONCATENATION, _INLINE, _BOLD, _CONTROL):
        for match in pattern.finditer(text):
            yield "", match.start(), match.end()
    if not text.isascii():
        for match in _FOREIGN.finditer(text):
            yield from _plain_letters(match[0], match.start())


def decoded(text: str) -> Iterator[list[Piece]]:
    """Yield the pieces of decoded base64 and hexadecimal digits that are printable; base64 of base64 is decoded twice."""
    long = {word for word in text.split() if len(word) >= 20}
    for run in sorted(set(_BASE64.findall("\n".join(long)))):
        plain = _from_hex(run) or _from_base64(run)
        plain = (_BASE64.fullmatch(plain.strip()) and _from_base64(plain.strip())) or plain
        for place in re.finditer(re.escape(run), text) if plain else ():
            yield [(plain, *place.span())]


def assembled(text: str) -> Iterator[list[Piece]]:
    """Yield the pieces of strings that a format or `join` puts together."""
    for sign in _SIGNS:
        place = text.find(sign)
        while place >= 0:
            match = _ASSEMBLED.match(text, place)
            if match:
                parts = _STRING.finditer(text, *match.span(1))
                yield [(part[0][1:-1], part.start() + 1, part.end() - 1) for part in parts]
            place = text.find(sign, match.end() if match else place + len(sign))


def _from_hex(value: str) -> str:
    """Return the text that hexadecimal digits stand for if all of it is printable ASCII, else ""."""
    is_text = _HEX.fullmatch(value) and len(value) % 2 == 0
    return bytes.fromhex(value).decode("ascii") if is_text else ""


def _from_base64(value: str) -> str:
    """Return the decoded base64 if it is printable ASCII, else ""."""
    value = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = a2b_base64(value + "=" * (-len(value) % 4)).decode("ascii")
    except ValueError:
        return ""
    return plain if "".join(plain.split()).isprintable() else ""


def cells(text: str) -> Iterator[list[Piece]]:
    """Yield the pieces of `name: cell` for each cell of a Markdown table below one that may name a secret."""
    names: list[tuple[int, int, int]] = []
    spans: list[tuple[int, int]] = []
    end = -1
    for row in _ROW.finditer(text) if "|" in text else ():
        if row.start() > end + 1:  # another table
            names, spans = [], []
        end = row.end()
        if _RULE.match(row[0]):
            named = [(n, *span) for n, span in enumerate(spans) if _NAME_CELL.search(text, *span)]
            names = named[:_MAX_NAMES]
            continue
        spans = [_trimmed(text, *cell.span()) for cell in _CELL.finditer(text, *row.span())]
        for n, first, last in names:
            if n < len(spans):
                start, stop = spans[n]
                name = text[first:last].replace(" ", "_")
                yield [(name, first, last), (": ", start, start), (text[start:stop], start, stop)]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    cell = text[start:end]
    return start + len(cell) - len(cell.lstrip(" \t`*")), start + len(cell.rstrip(" \t`*"))


def _plain_letters(run: str, start: int) -> Iterator[Piece]:
    for match in _password_words().finditer(run):
        yield "password", start + match.start(), start + match.end()
    plain = {character: _plain_character(character) for character in set(run)}
    if all(len(text) == 1 and text != character for character, text in plain.items()):
        yield "".join(map(plain.__getitem__, run)), start, start + len(run)
        return
    for at, character in enumerate(run, start):
        if plain[character] != character:
            yield plain[character], at, at + 1


@cache
def _password_words() -> re.Pattern[str]:
    words = sorted(word_list("password_words"), key=len, reverse=True)
    return re.compile("|".join(words), re.IGNORECASE)


@cache
def _plain_character(character: str) -> str:
    """Return the ASCII text that a reader sees in a character, "" for an invisible one, or the character itself."""
    kind = category(character)
    if kind in ("Zs", "Zl", "Zp"):
        return " "
    if kind in ("Cf", "Mn", "Cc") or character in "\u3164\uffa0\u115f\u1160":
        return ""
    plain = _SPELLED.get(character) or character.translate(LOOKALIKES)
    if plain == character:
        plain = "".join(c for c in normalize("NFKD", character) if category(c) != "Mn")
    return plain if plain.isascii() else character


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
    return "".join(map(_plain_character, plain.replace(HIDDEN, " "))) if plain.isprintable() else " "


_ESCAPES: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("%", _PERCENT, lambda escaped: chr(int(escaped[-2:], 16)).replace("\x7f", " ")),
    ("&", _ENTITY, _entity),
    ("\\", _ESCAPE, _escape),
    ("\x1b", _COLOR, lambda _: ""),
)
