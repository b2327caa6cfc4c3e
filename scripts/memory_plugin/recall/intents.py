"""What a prompt is after, by its form: passages that people type in several languages, listed in `config/recall/intents.json`."""

from __future__ import annotations

from ..kernel.text.tokens import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["QUESTION", "found_intents", "spaced"]

QUESTION = "question"
_START = "^"
_GAP = "*"
# A gap of a passage is at most this long: "which * do we" spans a name, not two sentences.
_LONGEST_GAP = 40
_QUESTION_MARKS = "?\uff1f"
# Quotation marks, dashes, the signs of Spanish, and those of scripts without spaces; no words hold them.
_SIGNS = "\u00bf\u00a1\u00ab\u00bb\u201e\u201c\u201d\u2013\u2014\u2026\u3002\u3001\uff0c\uff01\uff1f\uff1a\uff1b\u300c\u300d\uff08\uff09"
_SPACES = {code: chr(code) if chr(code).isalnum() else " " for code in range(128)}
_SPACES[ord("'")] = ""
_SPACES.update(dict.fromkeys(map(ord, _SIGNS), " "))


def spaced(text: str) -> str:
    """Return the text folded, in lower case, its words separated and surrounded by single spaces, without punctuation."""
    return " %s " % " ".join(fold(text).lower().translate(_SPACES).split())


def found_intents(text: str, intents: dict[str, list[str]]) -> set[str]:
    """Return the ids of the intents whose passages a prompt holds.

    `intents` has the passages by id. A passage matches whole words, or any place in a script without spaces; `*` stands for up to 40
    characters, `^` for the prompt's beginning. A question mark makes a question.
    """
    plain = spaced(text)
    found = {name for name, passages in intents.items() if _holds_any(plain, passages)}
    if any(mark in text for mark in _QUESTION_MARKS):
        found.add(QUESTION)
    return found


def _holds_any(plain: str, passages: Iterable[str]) -> bool:
    return any(_holds(plain, passage) for passage in passages)


def _holds(plain: str, passage: str) -> bool:
    if passage.startswith(_START):
        return plain.startswith(" %s " % passage[1:])
    if _GAP not in passage:
        return (" %s " % passage if passage.isascii() else passage) in plain
    head, _, tail = passage.partition(_GAP)
    head, tail = (" %s " % part.strip() if part.isascii() else part for part in (head, tail))
    at = plain.find(head)
    while at >= 0:
        start = at + len(head) - 1
        if plain.find(tail, start, start + _LONGEST_GAP + len(tail)) >= 0:
            return True
        at = plain.find(head, at + 1)
    return False
