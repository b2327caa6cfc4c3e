"""What a stored memory says about a candidate: it covers it, it contradicts it, or neither."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.text.stem import stem
from ..kernel.text.tokens import words
from ..memories.record import body_text
from .candidate import key_words

if TYPE_CHECKING:
    from ..memories.record import Memory
    from .candidate import Candidate

__all__ = ["CONTRADICTED", "COVERED", "Checked", "compare"]

COVERED, CONTRADICTED = "covered", "contradicted"
_SHARE = 0.85  # of the telling words of a candidate that a memory must hold to cover it
_LEAST_WORDS = 2
_NOT = frozenset(
    [
        "not",
        "never",
        "no",
        "dont",
        "stop",
        "avoid",
        "without",
        "nor",
        "neither",
        "quit",
        "doesnt",
        "isnt",
    ]
)
_CHOICE = re.compile(r"([\w@./+#-]+),? (?:and not|not|instead of|rather than|over) ([\w@./+#-]+)")


class Checked(NamedTuple):
    """What stored memories say about candidates: by id None if one covers it, the name of one that it contradicts, else an empty text.

    `hints` are candidates that follow from that: memories that Claude was told, and corrected all the same.
    """

    said: dict[str, str | None]
    hints: list[Candidate]


def compare(candidate: Candidate, memory: Memory) -> str:
    """Return COVERED if a memory says what a candidate says, CONTRADICTED if it says the opposite, else an empty text."""
    told = key_words(candidate.quote if candidate.kind != "solved_error" else candidate.title)
    text = "%s\n%s" % (memory.title, body_text(memory))
    held = frozenset(stem(word) for word in words(text))
    if len(told) < _LEAST_WORDS or len(told & held) < _SHARE * len(told):
        return ""
    return CONTRADICTED if _opposed(candidate.quote, text, told) else COVERED


def _opposed(text: str, other: str, told: frozenset[str]) -> bool:
    """Return whether two texts about the same things choose the other way round, or one forbids what the other asks for."""
    ours, theirs = _choices(text), _choices(other)
    if ours & {(second, first) for first, second in theirs}:
        return True
    if ours or theirs:
        return bool(ours and not theirs and _is_refused(other, {first for first, _ in ours}))
    return _forbids(text, told) != _forbids(other, told)


def _choices(text: str) -> set[tuple[str, str]]:
    return {(first.strip("."), second.strip(".")) for first, second in _CHOICE.findall(text.lower())}


def _forbids(text: str, told: frozenset[str]) -> bool:
    """Return whether the sentence of a text that holds most of the telling words says not to do something."""
    sentences = [words(sentence) for sentence in re.split(r"[.!?;\n]", text.lower())]
    nearest = max(sentences, key=lambda found: len(told & {stem(word) for word in found}))
    return not _NOT.isdisjoint(nearest)


def _is_refused(text: str, chosen: set[str]) -> bool:
    found = re.findall(r"(?:not|never|no|don't use|avoid) (?:use )?([\w@./+#-]+)", text.lower())
    return not chosen.isdisjoint(found)
