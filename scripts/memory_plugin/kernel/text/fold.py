"""Unicode folding: one spelling for texts that readers take for the same."""

from __future__ import annotations

# Letters that decompose into nothing.
_LETTERS = {"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "\u0131": "i", "þ": "th", "ð": "d", "ħ": "h"}
_APOSTROPHES = "\u2018\u2019\u02bc\u2032"


def fold(text: str) -> str:
    """The text in compatibility form (NFKC), case kept, without the diacritics of Latin, Greek and Cyrillic letters.

    Marks of other scripts stay: dropping a Devanagari vowel sign or a Japanese voicing mark makes another word.  Case stays because
    the border between two words of an identifier may be nothing but a capital.
    """
    if text.isascii():
        return text
    from unicodedata import normalize

    folded: list[str] = []
    for char in normalize("NFKC", text):
        code = ord(char)
        if code < 0xC0:
            folded.append(char)
        elif char in _APOSTROPHES:
            folded.append("'")
        elif code < 0x530 or 0x1E00 <= code < 0x2000:
            folded.append(_bare(char, normalize("NFD", char)[0]))
        else:
            folded.append(char)
    return "".join(folded)


def _bare(char: str, base: str) -> str:
    if 0x300 <= ord(base) < 0x370:
        return ""
    if base in _LETTERS or char.lower() in _LETTERS:
        return _LETTERS.get(char.lower(), base)
    return base
