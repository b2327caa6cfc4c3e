"""Frames: rules made of word classes, such as `@advise STOP .. MEDICINE`, matched against a sentence that a lexicon has tagged.

| in a frame | means |
| --- | --- |
| `STOP` | a word of that class; `STOP*` in any form, `A/B/word` one of several |
| `word` | that word |
| `X/$` | that, or the end of the sentence |
| `X?` | optional |
| `!X` | not before this |
| `..` | at most four words, none of the class BREAK; a phrase of the class FILL counts as one |
| `~` | as `..`, and none of the class KNOWN ("the", "your", "her"): what follows is new |
| `...` | at most eight words and marks without negation |
| `^`, `$` | the beginning and the end of the sentence |
| `A & B` | both frames in one sentence, in any order |
| `@name` | one of the frames under that name in the pack's `macros` |
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from .lexicon import FORMS, MAX_PHRASE

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from .lexicon import TaggedSentence

__all__ = ["Frame", "compile_frame", "frame_hints"]

_MAX_NESTING = 4
_SLOT = re.compile(r"(!?)([\w'*/-]+?)(/\$)?(\??)$")
# What follows a class in the tagged text: the rest of its word, or for a phrase its length and its further words.
_REST = r"(?:\|[^ ]* |%s)" % "|".join(
    r":%d\|(?:[^ ]* ){%d}" % (words, words) for words in range(2, MAX_PHRASE + 1)
)
_FILL = r"[^ ]*?\|FILL" + _REST
_GAPS = {
    "..": r"(?:(?![^ ]*\|BREAK[-\w]*\|)\|[^ ]* |%s){0,4}?" % _FILL,
    "~": r"(?:(?![^ ]*\|(?:BREAK[-\w]*|KNOWN)\|)\|[^ ]* |%s){0,4}?" % _FILL,
    "...": r"(?:(?![^ ]*\|NOT[|:])\|[^ ]* ){0,8}?",
}
_ENDS = {"^": r"(?:^|(?<=\|PUNCT\| ))", "$": r"(?=(?:[^ ]*\|PUNCT\|[^ ]* )*$)"}


class Frame(NamedTuple):
    """A frame as written, and its patterns over tagged text, all of which must match.

    `needs` are sets of words and classes. A sentence without one of each set cannot match, which spares most of the work.
    """

    written: str
    patterns: tuple[str, ...]
    needs: tuple[frozenset[str], ...]

    def find(self, tagged: TaggedSentence) -> list[tuple[int, int]]:
        """Return the places in the sentence, as start and end."""
        if any(names.isdisjoint(tagged.classes) for names in self.needs):
            return []
        if len(self.patterns) == 1:
            return [_span(tagged, match) for match in _compiled(self.patterns[0]).finditer(tagged.text)]
        found = [_compiled(pattern).search(tagged.text) for pattern in self.patterns]
        spans = [_span(tagged, match) for match in found if match is not None]
        return [] if len(spans) < len(found) else [(min(spans)[0], max(end for _, end in spans))]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern. Compiling hundreds at loading would take over a second, and most texts need few of them."""
    return re.compile(pattern)


def _span(tagged: TaggedSentence, match: re.Match[str]) -> tuple[int, int]:
    first = tagged.text.count(" ", 0, match.start())
    last = max(first, tagged.text.count(" ", 0, match.end()) - 1)
    return tagged.spans[first][0], tagged.spans[last][1]


class _Compiler:
    """Turns one frame into a pattern; `needs` collects what a match requires."""

    def __init__(self, macros: Mapping[str, Sequence[str]], classes: Container[str]) -> None:
        self.macros = macros
        self.classes = classes
        self.needs: list[frozenset[str]] = []

    def sequence(self, written: str, depth: int = 0) -> str:
        if depth > _MAX_NESTING:
            raise ValueError("macros nested more than %d deep" % _MAX_NESTING)
        return "".join(
            _GAPS.get(part) or _ENDS.get(part) or self.part(part, depth) for part in written.split()
        )

    def part(self, part: str, depth: int) -> str:
        if part[0] == "@":
            return self.macro(part[1:].rstrip("?"), depth) + ("?" if part.endswith("?") else "")
        slot = _SLOT.match(part)
        if slot is None:
            raise ValueError("%r is not part of a frame" % part)
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
            raise ValueError("unknown macro @%s" % name)
        return "(?:%s)" % "|".join(self.sequence(text, depth + 1) for text in self.macros[name])

    def names(self, choice: str) -> list[str]:
        """Return the word or class, with a star in all its forms. Raises ValueError for an unknown class."""
        every = choice.endswith("*")
        name = choice.rstrip("*")
        plain = next((name[: -len(form)] for form in FORMS if form and name.endswith(form)), name)
        if name.isupper() and name not in self.classes and plain not in self.classes:
            raise ValueError("unknown class %s" % name)
        return [name + form for form in FORMS] if every else [name]


def compile_frame(written: str, macros: Mapping[str, Sequence[str]], classes: Container[str]) -> Frame:
    """Return a frame ready to match; `classes` are those of the lexicon. Raises ValueError that says what is wrong."""
    compiler = _Compiler(macros, classes)
    patterns = tuple(["(?<![^ ])" + compiler.sequence(part) for part in written.split(" & ")])
    return Frame(written, patterns, tuple(compiler.needs))


def frame_hints(frames: Sequence[Frame]) -> frozenset[str]:
    """Return words and classes of which a sentence needs at least one for any of these frames; empty when no such set exists."""
    if not all(frame.needs for frame in frames):
        return frozenset()
    return frozenset().union(*(min(frame.needs, key=len) for frame in frames))
