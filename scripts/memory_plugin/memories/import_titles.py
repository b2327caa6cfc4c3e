"""Make titles for imported memories: from what a text says, never from a number or a general word in its heading."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from ..kernel.data import load_data
from .record import MAX_TITLE

if TYPE_CHECKING:
    from typing import Any

_KIND = r"(?:ADR|RFC|DR|Decision(?: record)?|Runbook)"
_NUMBER = re.compile(
    r"\A(?:%s[\s#-]*\d+[\s.:)\u2013\u2014-]+|%s\s*[:\u2013\u2014]\s*|0\d{1,4}[\s.:)\u2013\u2014-]+|\d{1,5}(?:[.:)]|\s+[\u2013\u2014-])\s+)"
    % (_KIND, _KIND),
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\]\n]*)\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_MARK = re.compile(r"\A\s*(?:[-*+](?:\s+\[[ xX]\])?|\d{1,3}[.)]|>+|#{1,6})\s+")
_STRONG = re.compile(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=[^\s*_])([^*_\n]+?)\1(?![\w*])")
_COMMENT = re.compile(r"<!--.*?-->|</?[a-z][^>\n]{0,200}>", re.DOTALL | re.IGNORECASE)
_SENTENCE_END = re.compile(
    r"(?<![A-Z.])(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?](?=\s+(?:`|[\"'(]?[^\Wa-z_]))|[\uff1f\u3002]"
)
_CLAUSE = re.compile(r"[;:]\s|,\s|\s[-\u2013\u2014]\s|\s\(")
_WORD = re.compile(r"[^\W_]+")
_MIN_WORDS = 3
_MIN_CUT = 40  # characters of a title before it may be cut
_MAX_GENERAL_WORDS = 2


def without_markdown(text: str) -> str:
    """Return a text as one line without Markdown's marks; code keeps its backticks."""
    text = _LINK.sub(r"\1", _COMMENT.sub(" ", text))
    lines = (_MARK.sub("", line).strip() for line in text.splitlines())
    text = " ".join(line for line in lines if line and not line.startswith(("```", "~~~", "|--", "---")))
    for _ in range(2):
        text = _EMPHASIS.sub(r"\2", _STRONG.sub(r"\2", text))
    return " ".join(text.split())


def first_sentence(text: str) -> str:
    """Return the first sentence of a text without its period; it also ends with a list item or a paragraph.

    A short question is returned with its answer.
    """
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d{1,3}[.)])\s)|\n(?=```)", text.strip()):
        line = without_markdown(part)
        if line:
            match = _SENTENCE_END.search(line)
            if match and match[0] == "?" and match.end() <= _MIN_CUT:
                match = _SENTENCE_END.search(line, match.end())
            return (line[: match.end()] if match else line).rstrip(" .:;,")
    return ""


def shortened(text: str, limit: int = MAX_TITLE) -> str:
    """Return a text of at most `limit` characters, cut at the end of a clause, or else of a word."""
    if len(text) <= limit:
        return text
    ends = [match.start() for match in _CLAUSE.finditer(text, 0, limit) if match.start() >= _MIN_CUT]
    balanced = [
        end
        for end in ends
        if text.count("`", 0, end) % 2 == 0 and text.count("(", 0, end) == text.count(")", 0, end)
    ]
    if balanced:
        return text[: balanced[-1]].rstrip()
    return text[: limit - 1].rpartition(" ")[0].rstrip(" ,;:(`") + "\u2026"


def without_number(title: str) -> str:
    """Return a title without the number or the word "ADR 7:" in front of it; unchanged when nothing would be left."""
    return _NUMBER.sub("", title, count=1).strip() or title


def is_general(heading: str) -> bool:
    """Return whether a heading is too general for a title: only numbers and words such as "testing", "decision", "notes 3"."""
    words = [word for word in _WORD.findall(heading.lower()) if not word.isdigit()]
    return len(words) <= _MAX_GENERAL_WORDS and all(word in _general() for word in words)


def is_usable_title(heading: str) -> bool:
    """Return whether a heading can be the title of the text below it."""
    return len(_WORD.findall(heading)) >= _MIN_WORDS and not is_general(heading)


def title_for(text: str, heading: str = "") -> str:
    """Return the title of a text: its first sentence, after the heading if the sentence alone is too short."""
    sentence = first_sentence(text)
    heading = without_markdown(heading)
    is_short = len(_WORD.findall(sentence)) < _MIN_WORDS
    if not sentence:
        return shortened(heading)
    return shortened("%s: %s" % (heading, sentence) if is_short and heading else sentence)


def subject_of(heading: str) -> str:
    """Return a heading without an introduction such as "Notes on"."""
    subject = _pattern("introductions", "pattern").sub("", heading)
    return subject[:1].upper() + subject[1:]


def without_self_description(text: str) -> str:
    """Return a text without a first sentence about the document itself, such as "This file provides guidance to Claude Code"."""
    paragraph = re.split(r"\n\s*\n", text, maxsplit=1)[0]
    end = _SENTENCE_END.search(paragraph)
    sentence = paragraph[: end.end()] if end else paragraph
    plain = without_markdown(sentence)
    if not _pattern("self_descriptions", "pattern").search(plain):
        return text
    if _pattern("self_descriptions", "unless").search(plain):
        return text
    return text[len(sentence) :].lstrip()


@cache
def _general() -> frozenset[str]:
    return frozenset(_table()["general"])


@cache
def _pattern(table: str, name: str) -> re.Pattern[str]:
    return re.compile(_table()[table][name], re.IGNORECASE)


@cache
def _table() -> dict[str, Any]:
    return load_data("memories", "importing")
