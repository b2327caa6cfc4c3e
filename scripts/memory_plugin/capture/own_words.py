"""The sentences of a prompt that the user wrote, without what was pasted, quoted, fenced, tagged or marked private.

An approximation, made to leave out too much rather than too little: a page that a user pastes may say "always" as well.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from ..kernel.data import load_data
from ..kernel.text.tags import without_private
from .hints import LONG_PROMPT, SHORTEST_SENTENCE

if TYPE_CHECKING:
    from typing import Any

__all__ = ["own_sentences"]

_LOOKED_AT = 20_000
_LONGEST_PARAGRAPH = 900
_LONGEST_SENTENCE = 320
_MOST_LISTED = 12
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"<([a-zA-Z][\w:-]*)\b[^<>]*>.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]{25,}\"|\u201c[^\u201d\n]{25,}\u201d|`[^`\n]{60,}`")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')]*\s+(?=[^\s])|\n+|\s+(?:\u2014|--|-)\s+(?=(?:we|always|never|use|don't|do not)\b)"
)
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|cf)\.$", re.IGNORECASE)


def own_sentences(prompt: str) -> list[str]:
    """Return the user's own sentences in order, each on one line; none for a prompt that seems pasted as a whole."""
    text = without_private(prompt[:_LOOKED_AT]).replace("\r\n", "\n").replace("\u2019", "'")
    text = _TAGGED.sub("\n", _FENCED.sub("\n", text))
    paragraphs = [part for part in re.split(r"\n[ \t]*\n", text) if part.strip()]
    if len(prompt) > LONG_PROMPT:
        paragraphs = [
            fromkey for fromkey in dict.fromkeys([*paragraphs[:1], *paragraphs[-1:]]) if _is_short(fromkey)
        ]
    found: list[str] = []
    for paragraph in paragraphs:
        lines, goes_on = _own_lines(paragraph)
        found += _sentences("\n".join(lines))
        if not goes_on:
            break
    return found


def _is_short(paragraph: str) -> bool:
    return len(paragraph) <= _LONGEST_PARAGRAPH // 2 and not _BULLET.match(paragraph)


def _own_lines(paragraph: str) -> tuple[list[str], bool]:
    """Return the lines of a paragraph that the user wrote, and whether what follows may be theirs as well."""
    if len(paragraph) > _LONGEST_PARAGRAPH:
        return [], True
    kept: list[str] = []
    lines = paragraph.split("\n")
    lists_rules = False
    for line in lines:
        if _pasted().search(line):
            continue
        if _BULLET.match(line):
            if lists_rules and len(kept) < _MOST_LISTED:
                kept.append(_BULLET.sub("", line))
            continue
        announced = _announcing().search(line)
        if announced and not _listing().search(line):
            kept.append(line[: announced.start()])
            return kept, False
        lists_rules = bool(_listing().search(line))
        kept.append(line)
    return kept, True


def _sentences(text: str) -> list[str]:
    pieces: list[str] = []
    for piece in _SENTENCE_END.split(text):
        if pieces and _ABBREVIATED.search(pieces[-1]):
            pieces[-1] += " " + piece
        else:
            pieces.append(piece)
    found = (" ".join(_QUOTED.sub('"..."', piece).split()) for piece in pieces)
    return [sentence for sentence in found if SHORTEST_SENTENCE <= len(sentence) <= _LONGEST_SENTENCE]


@cache
def _table() -> dict[str, Any]:
    return load_data("capture", "own_words")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile("|".join("(?:%s)" % entry["pattern"] for entry in _table()[name]), re.IGNORECASE)


def _pasted() -> re.Pattern[str]:
    return _pattern("pasted")


def _announcing() -> re.Pattern[str]:
    return _pattern("announcing")


def _listing() -> re.Pattern[str]:
    return _pattern("listing")
