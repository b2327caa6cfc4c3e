"""Text as the gates read it: folded to one spelling, without code and quoted lines, sentence by sentence."""

from __future__ import annotations

import re

from ..kernel.text.clean import block
from ..kernel.text.fold import fold

__all__ = ["MAX_SENTENCE", "folded", "sentences", "without_quotes"]

MAX_SENTENCE = 600  # characters; a longer one is read in pieces, which bounds every pattern's work
MAX_TEXT = 2_000_000

# Letters of other scripts that look like Latin ones (Unicode TR 39, confusables), for words that mix them.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0405\u0408"
    "\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c5\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03a5",
    "aeopcyxijshdqwABEKMHOPCTXISJoaeikvpuABEHIKMNOPTXY",
)
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_SPACES = re.compile(r"[^\S\n]+")
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTE = re.compile(
    r"\"[^\"\n]{1,400}\"|\u201c[^\u201d\n]{1,400}\u201d|\u00ab[^\u00bb\n]{1,400}\u00bb"
    r"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){3,300}'(?!\w)"
)
_WORD = re.compile(r"\w")
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")


def folded(text: str) -> str:
    """The text in one spelling: compatibility form, plain apostrophes, no invisible characters, no look-alike letters.

    Cut to 2,000,000 characters. Case stays.
    """
    text = text[:MAX_TEXT]
    if not text.isascii():
        text = fold(block(_UNSEEN.sub("", text), MAX_TEXT))
        latin = sum(c.isascii() for c in text if c.isalpha())
        if latin * 2 >= sum(map(str.isalpha, text)):
            text = text.translate(_LOOKALIKES)
    return text


def without_quotes(text: str) -> str:
    """The text with `"_"` in place of what stands in quotation marks; a sentence that ends within them still ends."""
    return _QUOTE.sub(
        lambda quote: '"_"' + (quote[0][-2] if quote[0][-2] in ".!?" and _begins(text, quote.end()) else ""),
        text,
    )


def _begins(text: str, at: int) -> bool:
    """Whether a new sentence begins behind a place."""
    return text[at : at + 1].isspace() and text[at : at + 40].lstrip()[:1].isupper()


def sentences(text: str, *, quotes: bool) -> list[str]:
    """The sentences of a text, folded, without code blocks and quoted lines; without quotations unless `quotes`."""
    text = _QUOTED_LINE.sub("", _FENCE.sub("\n", folded(text)))
    if not quotes:
        text = _INLINE_CODE.sub("`_`", without_quotes(text))
    text = _SPACES.sub(" ", text)
    found = (piece.strip(" \n*_#-\u2022") for piece in _END.split(text))
    return [part for piece in found if _WORD.search(piece) for part in _pieces(piece)]


def _pieces(sentence: str) -> list[str]:
    if len(sentence) <= MAX_SENTENCE:
        return [sentence]
    step = MAX_SENTENCE // 2  # they overlap, so that nothing is lost at a border
    return [sentence[at : at + MAX_SENTENCE] for at in range(0, len(sentence) - step, step)]
