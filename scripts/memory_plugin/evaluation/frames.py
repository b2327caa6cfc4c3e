"""Frames: rules made of classes of words, such as `@advise STOP .. MEDICINE`, found in a sentence that a lexicon has read.

| in a frame | means |
| --- | --- |
| `STOP` | a word of that class; `STOP*` in any form, `A/B/word` one of several |
| `word` | that word |
| `X/$` | one of them, or the end |
| `X?` | or nothing |
| `!X` | not before this |
| `..` | at most four words none of which is of the class BREAK, phrases of the class FILL counted as one |
| `~` | as `..`, and no "the", "your", "her": what follows is not yet known |
| `...` | at most eight words and marks without negation |
| `^`, `$` | where the sentence begins and ends |
| `A & B` | both frames in one sentence, in any order |
| `@name` | one of the frames that the pack's `macros` hold under that name |
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from .lexicon import FORMS, LONGEST

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from .lexicon import Tagged

__all__ = ["Frame", "frame", "hints"]

_NESTING = 4
_SLOT = re.compile(r"(!?)([\w'*/-]+?)(/\$)?(\??)$")
# What follows a class in the tagged text, and the words that it takes up.
_REST = r"(?:\|[^ ]* |%s)" % "|".join(
    r":%d\|(?:[^ ]* ){%d}" % (words, words) for words in range(2, LONGEST + 1)
)
_FILL = r"[^ ]*?\|FILL" + _REST
_GAPS = {
    "..": r"(?:(?![^ ]*\|BREAK[-\w]*\|)\|[^ ]* |%s){0,4}?" % _FILL,
    "~": r"(?:(?![^ ]*\|(?:BREAK[-\w]*|KNOWN)\|)\|[^ ]* |%s){0,4}?" % _FILL,
    "...": r"(?:(?![^ ]*\|NOT[|:])\|[^ ]* ){0,8}?",
}
_ENDS = {"^": r"(?:^|(?<=\|PUNCT\| ))", "$": r"(?=(?:[^ ]*\|PUNCT\|[^ ]* )*$)"}


class Frame(NamedTuple):
    """A frame as written, its patterns over tagged text, all of which have to match, and what a sentence has to hold for that.

    `needs` are sets of words and classes; without one of each set the patterns need not be tried.
    """

    written: str
    patterns: tuple[str, ...]
    needs: tuple[frozenset[str], ...]

    def find(self, tagged: Tagged) -> list[tuple[int, int]]:
        """Where it stands in the sentence, as start and end."""
        if any(names.isdisjoint(tagged.classes) for names in self.needs):
            return []
        if len(self.patterns) == 1:
            return [_span(tagged, match) for match in _compiled(self.patterns[0]).finditer(tagged.text)]
        found = [_compiled(pattern).search(tagged.text) for pattern in self.patterns]
        spans = [_span(tagged, match) for match in found if match is not None]
        return [] if len(spans) < len(found) else [(min(spans)[0], max(end for _, end in spans))]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern at its first use: hundreds take over a second, and most texts need few of them."""
    return re.compile(pattern)


def _span(tagged: Tagged, match: re.Match[str]) -> tuple[int, int]:
    first = tagged.text.count(" ", 0, match.start())
    last = max(first, tagged.text.count(" ", 0, match.end()) - 1)
    return tagged.spans[first][0], tagged.spans[last][1]


class _Compiler:
    """One frame on its way to a pattern; `needs` gathers the words without one of which it cannot match."""

    def __init__(self, macros: Mapping[str, Sequence[str]], classes: Container[str]) -> None:
        self.macros = macros
        self.classes = classes
        self.needs: list[frozenset[str]] = []

    def sequence(self, written: str, depth: int = 0) -> str:
        if depth > _NESTING:
            raise ValueError("macros nested more than %d deep" % _NESTING)
        return "".join(
            _GAPS.get(part) or _ENDS.get(part) or self.part(part, depth) for part in written.split()
        )

    def part(self, part: str, depth: int) -> str:
        if part[0] == "@":
            return self.macro(part[1:].rstrip("?"), depth) + ("?" if part.endswith("?") else "")
        slot = _SLOT.match(part)
        if slot is None:
            raise ValueError("%r is no part of a frame" % part)
        names = [name for choice in slot[2].split("/") for name in self.names(choice)]
        word = r"[^ ]*?\|(?:%s)%s" % ("|".join(map(re.escape, names)), _REST)
        if slot[3]:
            word = "(?:%s|%s)" % (word, _ENDS["$"])
        if slot[1]:
            return "(?!%s)" % word
        if slot[4]:
            return "(?:%s)?" % word
        if depth == 0 and not slot[3]:
            self.needs.append(frozenset(names))
        return word

    def macro(self, name: str, depth: int) -> str:
        if name not in self.macros:
            raise ValueError("no macro @%s" % name)
        return "(?:%s)" % "|".join(self.sequence(text, depth + 1) for text in self.macros[name])

    def names(self, choice: str) -> list[str]:
        """The word itself, or the class, in all its forms with a star. Raises ValueError for a class that is not there."""
        every = choice.endswith("*")
        name = choice.rstrip("*")
        plain = next((name[: -len(form)] for form in FORMS if form and name.endswith(form)), name)
        if name.isupper() and name not in self.classes and plain not in self.classes:
            raise ValueError("no class %s" % name)
        return [name + form for form in FORMS] if every else [name]


def frame(written: str, macros: Mapping[str, Sequence[str]], classes: Container[str]) -> Frame:
    """The frame made ready; `classes` are those of the lexicon. Raises ValueError that says what is wrong with it."""
    compiler = _Compiler(macros, classes)
    patterns = tuple(["(?<![^ ])" + compiler.sequence(part) for part in written.split(" & ")])
    return Frame(written, patterns, tuple(compiler.needs))


def hints(frames: Sequence[Frame]) -> frozenset[str]:
    """Words without any of which none of these frames can match; empty when there are none such."""
    if not all(frame.needs for frame in frames):
        return frozenset()
    return frozenset().union(*(min(frame.needs, key=len) for frame in frames))
