"""Split a text into words after Unicode folding: identifiers give their parts and themselves, scripts without spaces give bigrams."""

from __future__ import annotations

_JOINERS = "._-/"
_WORD_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + _JOINERS
# Every other ASCII character separates words, except the apostrophe, which is removed: "user's" and "users" are one word.
_SEPARATORS = {code: chr(code) if chr(code) in _WORD_CHARACTERS else " " for code in range(128)}
_SEPARATORS[ord("'")] = ""
# Scripts without spaces between words, or with endings that fuse with the word: first and last code point.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip
# Letters that have no decomposition.
_LETTERS = {"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "\u0131": "i", "þ": "th", "ð": "d", "ħ": "h"}
_APOSTROPHES = "\u2018\u2019\u02bc\u2032"
_DEFAULT = "en"


def tokenize(text: str) -> list[str]:
    """Return the words of a text in order, lower case, unstemmed.

    An identifier, a path or a dotted name gives its parts and then itself (`userName.py` gives user, name, py, username.py); a run of
    a script without spaces gives its bigrams. Lone surrogates, control characters and punctuation give nothing.
    """
    result: list[str] = []
    for chunk in fold(text).translate(_SEPARATORS).split():
        if (
            chunk.isalpha()
            and chunk.isascii()
            and (chunk.islower() or chunk[1:].islower() or len(chunk) == 1)
        ):
            result.append(chunk.lower())
        elif chunk.isascii():
            result.extend(_identifier(chunk.strip(_JOINERS)))
        else:
            result.extend(_non_ascii(chunk))
    return result


def is_compound_name(word: str) -> bool:
    """Return whether a word is a complete name with joiners, such as `user_name` or `store.py`."""
    return not word.isalnum()


def _identifier(chunk: str) -> list[str]:
    parts: list[str] = []
    for piece in chunk.translate(_PARTS).split():
        parts.extend(_camel_case_parts(piece))
    if len(parts) > 1:
        whole = chunk.lower()
        name = whole.rpartition("/")[2]
        if name != whole and len(name) > 2 and name not in parts:
            parts.append(name)
        parts.append(whole)
    return parts


_PARTS = {ord(char): " " for char in _JOINERS}


def _camel_case_parts(piece: str) -> list[str]:
    """Return the parts of camelCase, PascalCase, HTTPServer and utf8, lower case."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(piece)):
        before, char = piece[at - 1], piece[at]
        after = piece[at + 1 : at + 2]
        if (
            char.isupper() and (before.islower() or (before.isupper() and after.islower()))
        ) or before.isdigit() != char.isdigit():
            parts.append(piece[start:at].lower())
            start = at
    if start < len(piece):
        parts.append(piece[start:].lower())
    return parts


def _non_ascii(chunk: str) -> list[str]:
    """Return the words of a chunk that is not ASCII: runs of one kind of script, those without spaces as bigrams."""
    result: list[str] = []
    run = ""
    run_kind = ""
    for char in chunk + " ":
        kind = _kind(char)
        if kind != run_kind:
            result.extend(_run_words(run, run_kind))
            run, run_kind = "", kind
        run += char
    return result


def _kind(char: str) -> str:
    code = ord(char)
    if code >= 0x0E00:
        for first, last in _UNSPACED:
            if first <= code <= last:
                return "unspaced" if char.isalnum() or _is_mark(char) else ""
    if char.isalnum() or char in _JOINERS or (code > 127 and _is_mark(char)):
        return "word"
    return ""


def _is_mark(char: str) -> bool:
    from unicodedata import category

    return category(char)[0] == "M"


def _run_words(run: str, kind: str) -> list[str]:
    if kind == "unspaced":
        return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    if kind == "word":
        return (
            _identifier(run.strip(_JOINERS))
            if run.isascii()
            else [part.casefold() for part in run.translate(_PARTS).split()]
        )
    return []


def fold(text: str) -> str:
    """Return the text in compatibility form (NFKC), case kept, without the diacritics of Latin, Greek and Cyrillic letters.

    Marks of other scripts stay, because without a Devanagari vowel sign or a Japanese voicing mark a word is another word. Case stays
    because a capital may be the only boundary between two words of an identifier.
    """
    if text.isascii():
        return text
    from unicodedata import normalize

    text = normalize("NFKC", text)
    table = {ord(char): char for char in set(text) if not char.isascii()}
    for code, char in table.items():
        if char in _APOSTROPHES:
            table[code] = "'"
        elif 0xC0 <= code < 0x530 or 0x1E00 <= code < 0x2000:
            table[code] = _base_letter(char, normalize("NFD", char)[0])
    return text.translate(table)


def _base_letter(char: str, base: str) -> str:
    if 0x300 <= ord(base) < 0x370:
        return ""
    if base in _LETTERS or char.lower() in _LETTERS:
        return _LETTERS.get(char.lower(), base)
    return base


def language(words: list[str], stopwords: dict[str, frozenset[str]]) -> str:
    """Return the language with the most stop words in the text; English for a draw or if there are none.

    `stopwords` has the stop words by language, including English.
    """
    best, best_count = _DEFAULT, sum(word in stopwords[_DEFAULT] for word in words)
    for name, stop in stopwords.items():
        count = sum(word in stop for word in words)
        if count > best_count:
            best, best_count = name, count
    return best
