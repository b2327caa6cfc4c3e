"""What a prompt is after, by its form: passages that people type in several languages, listed in `config/recall/intents.json`."""

from __future__ import annotations

from ..kernel.text.tokens import fold

__all__ = ["QUESTION", "by_first_word", "found_intents", "spaced"]

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


def by_first_word(intents: dict[str, list[str]]) -> dict[str, str]:
    """Return lines "intent passage" by the first word of the passage, "" for scripts without spaces, given the passages by intent.

    One text a word is read four times faster than a list of pairs, and of most words nothing is wanted.
    """
    found: dict[str, list[str]] = {}
    for intent, passages in intents.items():
        for passage in passages:
            first = passage.lstrip(_START).split()[0] if passage.isascii() else ""
            found.setdefault(first, []).append("%s %s" % (intent, passage))
    return {first: "\n".join(lines) for first, lines in found.items()}


def found_intents(text: str, passages: dict[str, str]) -> set[str]:
    """Return the intents whose passages a prompt holds; `passages` as by `by_first_word`.

    A passage matches whole words, or any place in a script without spaces; `*` stands for up to 40 characters, `^` for the prompt's
    beginning. A question mark makes a question.
    """
    plain = spaced(text)
    found = {QUESTION} if any(mark in text for mark in _QUESTION_MARKS) else set()
    candidates = set(plain.split())
    if not plain.isascii():
        candidates.add("")
    for first in candidates & passages.keys():
        for line in passages[first].split("\n"):
            intent, _, passage = line.partition(" ")
            if intent not in found and _holds(plain, passage):
                found.add(intent)
    return found


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
