"""What a prompt asks for: its words, and those of the turn before it."""

from __future__ import annotations

from ..kernel.text.tokens import words

# A prompt longer than this is asked by its head and its tail, where people put what they want; the middle is mostly pasted output.
MOST_CHARACTERS = 6000


class Query:
    """The words of a prompt in order, the words of the turn before that it does not hold itself, and the prompt's text."""

    __slots__ = ("extra", "text", "words")

    def __init__(self, words: list[str], extra: list[str], text: str) -> None:
        self.words = words
        self.extra = extra
        self.text = text


def analyse(text: str, extra: str = "") -> Query:
    """The query that a prompt makes; `extra` is the turn before it, which counts for less.  Any text will do."""
    text = _ends(text)
    found = words(text)
    own = set(found)
    return Query(found, [word for word in words(_ends(extra)) if word not in own], text)


def _ends(text: str) -> str:
    half = MOST_CHARACTERS // 2
    return text if len(text) <= MOST_CHARACTERS else text[:half] + " " + text[-half:]
