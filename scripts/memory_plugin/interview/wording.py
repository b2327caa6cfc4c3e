"""Texts as the rules see them: phrases in what was said, and the stems that tell one concept or question from another."""

from __future__ import annotations

from ..kernel.text.fold import fold
from ..kernel.text.stem import stem
from ..kernel.text.tokens import is_whole, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["content_stems", "count", "first_of", "holds", "spoken", "within"]

_KNOWN: dict[str, str] = {}
_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}


def spoken(text: str) -> str:
    """The text in lower case, its words parted by one space, with a space at both ends; an apostrophe vanishes."""
    kept = fold(text).lower().replace("'", "")
    if kept.isascii():
        return " %s " % " ".join(kept.translate(_BLANKS).split())
    return " %s " % " ".join("".join(c if c.isalnum() else " " for c in kept).split())


def holds(said: str, phrases: Iterable[str]) -> bool:
    """Whether a spoken text holds one of some phrases, word by word."""
    return first_of(said, phrases) != ""


def first_of(said: str, phrases: Iterable[str]) -> str:
    """The first of some phrases that a spoken text holds; empty for none."""
    return next((phrase for phrase in phrases if " %s " % phrase in said), "")


def count(said: str, phrases: Iterable[str]) -> int:
    """How often phrases come up in a spoken text, all together."""
    return sum(said.count(" %s " % phrase) for phrase in phrases)


def stemmed(word: str) -> str:
    """The stem of one word, remembered."""
    if word not in _KNOWN:
        _KNOWN[word] = stem(word)
    return _KNOWN[word]


def content_stems(text: str, idle: Collection[str]) -> list[str]:
    """The stems of a text's words, in order, without the idle ones; of a text of idle words alone, all its stems."""
    found = [word for word in words(text) if not is_whole(word)]
    return [stemmed(word) for word in found if word not in idle] or [stemmed(word) for word in found]


def within(part: list[str], whole: list[str]) -> bool:
    """Whether some stems stand in a row in others; no stems stand nowhere."""
    size = len(part)
    return size > 0 and any(whole[at : at + size] == part for at in range(len(whole) - size + 1))
