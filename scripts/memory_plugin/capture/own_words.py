"""Extract the sentences of a prompt that the user wrote, without pasted, quoted, fenced, tagged or private text.

This is an approximation that leaves out too much rather than too little: a page that the user pastes may say "always" too.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from ..kernel.data import load_data
from ..kernel.text.tags import without_private
from .hints import LONG_PROMPT, MIN_SENTENCE

if TYPE_CHECKING:
    from typing import Any

_MAX_PROMPT = 20_000
_MAX_PARAGRAPH = 900
_MAX_SENTENCE = 320
_MAX_LIST_ITEMS = 12
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"<([a-zA-Z][\w:-]*)\b[^<>]*>.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]{25,}\"|\u201c[^\u201d\n]{25,}\u201d|`[^`\n]{60,}`")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')]*\s+(?=[^\s])|\n+|\s+(?:\u2014|--|-)\s+(?=(?:we|always|never|use|don't|do not)\b)"
)
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|cf)\.$", re.IGNORECASE)


def own_sentences(prompt: str) -> list[str]:
    """Return the user's own sentences in order, each on one line; empty if the whole prompt seems pasted."""
    text = without_private(prompt[:_MAX_PROMPT]).replace("\r\n", "\n").replace("\u2019", "'")
    text = _TAGGED.sub("\n", _FENCED.sub("\n", text))
    paragraphs = [part for part in re.split(r"\n[ \t]*\n", text) if part.strip()]
    if len(prompt) > LONG_PROMPT:
        ends = dict.fromkeys([*paragraphs[:1], *paragraphs[-1:]])
        paragraphs = [paragraph for paragraph in ends if _is_short(paragraph)]
    sentences: list[str] = []
    for paragraph in paragraphs:
        lines, continues = _own_lines(paragraph)
        sentences += _sentences("\n".join(lines))
        if not continues:
            break
    return sentences


def _is_short(paragraph: str) -> bool:
    return len(paragraph) <= _MAX_PARAGRAPH // 2 and not _BULLET.match(paragraph)


def _own_lines(paragraph: str) -> tuple[list[str], bool]:
    """Return the lines of a paragraph that the user wrote, and whether the next paragraphs may be theirs too.

    A line such as "Address these comments:" introduces other people's text, so everything after it is left out.
    """
    if len(paragraph) > _MAX_PARAGRAPH:
        return [], True
    own: list[str] = []
    lines = paragraph.split("\n")
    lists_rules = False
    for line in lines:
        if _pasted().search(line):
            continue
        if _BULLET.match(line):
            if lists_rules and len(own) < _MAX_LIST_ITEMS:
                own.append(_BULLET.sub("", line))
            continue
        announcement = _announcing().search(line)
        if announcement and not _listing().search(line):
            own.append(line[: announcement.start()])
            return own, False
        lists_rules = bool(_listing().search(line))
        own.append(line)
    return own, True


def _sentences(text: str) -> list[str]:
    pieces: list[str] = []
    for piece in _SENTENCE_END.split(text):
        if pieces and _ABBREVIATED.search(pieces[-1]):
            pieces[-1] += " " + piece
        else:
            pieces.append(piece)
    sentences = (" ".join(_QUOTED.sub('"..."', piece).split()) for piece in pieces)
    return [sentence for sentence in sentences if MIN_SENTENCE <= len(sentence) <= _MAX_SENTENCE]


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
