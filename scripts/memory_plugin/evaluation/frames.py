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
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from .lexicon import TaggedSentence

__all__ = ["Frame", "FrameIndex", "FrameSearch", "compile_frame"]

_MAX_NESTING = 4
_AT_A_PLACE = 40  # characters that a pattern reads at one place, about
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
    A match begins where `opening`, the first part, matches; many frames share one, and it is searched once a sentence.
    """

    written: str
    patterns: tuple[str, ...]
    needs: tuple[frozenset[str], ...]
    opening: str = ""

    def find(self, tagged: TaggedSentence, search: FrameSearch | None = None) -> list[tuple[int, int]]:
        """Return the places in the sentence, as start and end."""
        if any(names.isdisjoint(tagged.classes) for names in self.needs):
            return []
        search = search or FrameSearch(tagged.text)
        if len(self.patterns) == 1:
            return [_span(tagged, match) for match in search.matches(self.opening, self.patterns[0])]
        matches = [search.first(pattern) for pattern in self.patterns]
        spans = [_span(tagged, match) for match in matches if match is not None]
        return [] if len(spans) < len(matches) else [(min(spans)[0], max(end for _, end in spans))]


class FrameSearch:
    """Searches one tagged sentence for frames. `spend` is told the characters that a pattern will read."""

    __slots__ = ("_spend", "_starts", "_text")

    def __init__(self, text: str, spend: Callable[[int], None] | None = None) -> None:
        """Set the tagged text, and what counts the work."""
        self._text = text
        self._spend = spend
        self._starts: dict[str, list[int]] = {}

    def matches(self, opening: str, pattern: str) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern that begins with this opening, none within another."""
        end = 0
        for start in self._starts_of(opening):
            if start >= end:
                self._count(_AT_A_PLACE)
                match = _compiled(pattern).match(self._text, start)
                if match is not None:
                    end = max(match.end(), start + 1)
                    yield match

    def first(self, pattern: str) -> re.Match[str] | None:
        """Return the first match of a pattern."""
        self._count(len(self._text))
        return _compiled(pattern).search(self._text)

    def _starts_of(self, opening: str) -> list[int]:
        found = self._starts.get(opening)
        if found is None:
            self._count(len(self._text))
            places = _compiled("(?<![^ ])(?=%s)" % opening).finditer(self._text)
            found = self._starts[opening] = [match.start() for match in places]
        return found

    def _count(self, characters: int) -> None:
        if self._spend is not None:
            self._spend(characters)


class FrameIndex:
    """Frames by the words and classes that they need, so that a sentence is tried with few of them."""

    __slots__ = ("_always", "_by_name", "_frames", "_names")

    def __init__(self, frames: Sequence[Frame]) -> None:
        """File each frame under its smallest set of needs."""
        self._frames = tuple(frames)
        self._always = tuple(place for place, frame in enumerate(frames) if not frame.needs)
        by_name: dict[str, list[int]] = {}
        for place, frame in enumerate(frames):
            for name in min(frame.needs, key=len) if frame.needs else ():
                by_name.setdefault(name, []).append(place)
        self._by_name = by_name
        self._names = frozenset(by_name)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._frames)

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames in their order."""
        return iter(self._frames)

    def candidates(self, tagged: TaggedSentence) -> list[Frame]:
        """Return the frames that may match a sentence, in their order."""
        places = {*self._always}
        for name in self._names & tagged.classes:
            places.update(self._by_name[name])
        return [self._frames[place] for place in sorted(places)]


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

    def opening(self, part: str) -> str:
        """Return the pattern of the first part if it must match where the frame does, otherwise an empty one."""
        return "" if part in _GAPS or part[-1] == "?" else self.sequence(part)

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
    first = written.partition(" ")[0]
    opening = _Compiler(macros, classes).opening(first) if first else ""
    return Frame(written, patterns, tuple(compiler.needs), opening)
