"""Match frames, which are rules made of word classes such as `@advise STOP .. MEDICINE`, against a sentence tagged by a lexicon.

| in a frame | means |
| --- | --- |
| `STOP` | a word of that class; `STOP*` in any form, `A/B/word` one of several |
| `word` | that word |
| `X/$` | that, or the end of the sentence |
| `X?` | optional |
| `!X` | X must not follow |
| `..` | at most four words, none of the class BREAK; a phrase of the class FILL counts as one word |
| `~` | as `..`, and none of the class KNOWN ("the", "your", "her"), which would refer to something mentioned before |
| `...` | at most eight words and marks without negation |
| `^`, `$` | the beginning and the end of the sentence |
| `A & B` | both frames in one sentence, in any order |
| `@name` | one of the frames under that name in the pack's `macros` |
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from .lexicon import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from .lexicon import TaggedSentence

_MAX_NESTING = 4
_READ_PER_START = 40  # characters that a pattern reads from one start, about
_SLOT = re.compile(r"(!?)([\w'*/-]+?)(/\$)?(\??)$")
_GAPS = {
    "..": r"(?:(?![^ ]*\|BREAK[-\w]*\|)\|[^ ]* |%s){0,4}?",
    "~": r"(?:(?![^ ]*\|(?:BREAK[-\w]*|KNOWN)\|)\|[^ ]* |%s){0,4}?",
    "...": r"(?:(?![^ ]*\|NOT[|:])\|[^ ]* ){0,8}?",
}
_ENDS = {"^": r"(?:^|(?<=\|PUNCT\| ))", "$": r"(?=(?:[^ ]*\|PUNCT\|[^ ]* )*$)"}


class Frame(NamedTuple):
    """A frame's source, and its patterns over tagged text, all of which must match.

    `needs` are sets of words and classes. A sentence must contain one of each set to match; checking that first saves most of the work.
    A match begins where `opening`, the first part, matches. Many frames share an opening, so it is searched once per sentence.
    """

    source: str
    patterns: tuple[str, ...]
    needs: tuple[frozenset[str], ...]
    opening: str = ""

    def find(self, tagged: TaggedSentence, search: FrameSearch | None = None) -> list[tuple[int, int]]:
        """Return the matches in the sentence, as start and end."""
        if any(map(tagged.classes.isdisjoint, self.needs)):
            return []
        search = search or FrameSearch(tagged.text)
        if len(self.patterns) == 1:
            return [_span(tagged, match) for match in search.matches(self.opening, self.patterns[0])]
        matches = [search.first(pattern) for pattern in self.patterns]
        spans = [_span(tagged, match) for match in matches if match is not None]
        return [] if len(spans) < len(matches) else [(min(spans)[0], max(end for _, end in spans))]


class FrameSearch:
    """Searches one tagged sentence for frames. `spend` is called with the number of characters that a pattern will read."""

    __slots__ = ("_spend", "_starts", "_text")

    def __init__(self, text: str, spend: Callable[[int], None] | None = None) -> None:
        """Set the tagged text, and the function that counts the work."""
        self._text = text
        self._spend = spend
        self._starts: dict[str, list[int]] = {}

    def matches(self, opening: str, pattern: str) -> Iterator[re.Match[str]]:
        """Yield the non-overlapping matches of a pattern that begins with this opening."""
        end = 0
        for start in self._starts_of(opening):
            if start >= end:
                self._count(_READ_PER_START)
                match = _compiled(pattern).match(self._text, start)
                if match is not None:
                    end = max(match.end(), start + 1)
                    yield match

    def first(self, pattern: str) -> re.Match[str] | None:
        """Return the first match of a pattern."""
        self._count(len(self._text))
        return _compiled(pattern).search(self._text)

    def _starts_of(self, opening: str) -> list[int]:
        starts = self._starts.get(opening)
        if starts is None:
            self._count(len(self._text))
            matches = _compiled("(?<![^ ])(?=%s)" % opening).finditer(self._text)
            starts = self._starts[opening] = [match.start() for match in matches]
        return starts

    def _count(self, characters: int) -> None:
        if self._spend is not None:
            self._spend(characters)


class FrameIndex:
    """An index of frames by the words and classes that they need, so that few of them are tried on a sentence."""

    __slots__ = ("_always", "_always_places", "_by_name", "_frames", "_names")

    def __init__(self, frames: Sequence[Frame]) -> None:
        """Index each frame by its smallest set of needs."""
        self._frames = tuple(frames)
        self._always_places = tuple(place for place, frame in enumerate(frames) if not frame.needs)
        self._always = [frames[place] for place in self._always_places]
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

    def candidates(self, tagged: TaggedSentence) -> Sequence[Frame]:
        """Return the frames that may match a sentence, in their order."""
        names = self._names & tagged.classes
        if not names:
            return self._always
        places = {*self._always_places}.union(*[self._by_name[name] for name in names])
        return [self._frames[place] for place in sorted(places)]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: all of them together take over a second, and most texts need few."""
    return re.compile(pattern)


def _span(tagged: TaggedSentence, match: re.Match[str]) -> tuple[int, int]:
    first = tagged.text.count(" ", 0, match.start())
    last = max(first, tagged.text.count(" ", 0, match.end()) - 1)
    return tagged.spans[first][0], tagged.spans[last][1]


class _Compiler:
    """Translates one frame into a pattern; `needs` collects the words and classes that a match requires."""

    def __init__(
        self, macros: Mapping[str, Sequence[str]], phrase_lengths: Mapping[str, AbstractSet[int]]
    ) -> None:
        self.macros = macros
        self.phrase_lengths = phrase_lengths
        self.needs: list[frozenset[str]] = []

    def sequence(self, source: str, depth: int = 0) -> str:
        if depth > _MAX_NESTING:
            raise ValueError("macros nested more than %d deep" % _MAX_NESTING)
        return "".join(self.gap(part) or _ENDS.get(part) or self.part(part, depth) for part in source.split())

    def gap(self, part: str) -> str:
        """Return the pattern of a gap, empty for any other part."""
        gap = _GAPS.get(part, "")
        return gap % self.any_of(["FILL"]) if "%s" in gap else gap

    def any_of(self, names: Sequence[str]) -> str:
        """Return the pattern of a word or phrase with one of these names.

        In the tagged text, a name is followed by the rest of its word, or for a phrase by its length and its further words. Only the
        lengths that occur in the lexicon are tried; all of them would double the time to compile.
        """
        lengths = sorted({length for name in names for length in self.phrase_lengths.get(name, ())} or {1})
        rests = [r"\|[^ ]* " if words == 1 else r":%d\|(?:[^ ]* ){%d}" % (words, words) for words in lengths]
        return r"[^ ]*?\|(?:%s)(?:%s)" % ("|".join(map(re.escape, names)), "|".join(rests))

    def opening(self, part: str) -> str:
        """Return the pattern of a frame's first part, empty if a match may begin without it."""
        return "" if part in _GAPS or part[-1] == "?" else self.sequence(part)

    def part(self, part: str, depth: int) -> str:
        if part[0] == "@":
            return self.macro(part[1:].rstrip("?"), depth) + ("?" if part.endswith("?") else "")
        slot = _SLOT.match(part)
        if slot is None:
            raise ValueError("%r is not part of a frame" % part)
        names = [name for choice in slot[2].split("/") for name in self.names(choice)]
        word = self.any_of(names)
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
        """Return the word or class, in all its forms if it ends in a star. Raises ValueError for an unknown class."""
        name = choice.rstrip("*")
        base = next((name[: -len(form)] for form in FORMS if form and name.endswith(form)), name)
        if name.isupper() and name not in self.phrase_lengths and base not in self.phrase_lengths:
            raise ValueError("unknown class %s" % name)
        return [name + form for form in FORMS] if choice.endswith("*") else [name]


def compile_frame(
    source: str, macros: Mapping[str, Sequence[str]], phrase_lengths: Mapping[str, AbstractSet[int]]
) -> Frame:
    """Compile a frame; `phrase_lengths` are those of the lexicon, by class. Raises ValueError for a malformed frame."""
    compiler = _Compiler(macros, phrase_lengths)
    patterns = tuple(["(?<![^ ])" + compiler.sequence(part) for part in source.split(" & ")])
    first = source.partition(" ")[0]
    opening = _Compiler(macros, phrase_lengths).opening(first) if first else ""
    return Frame(source, patterns, tuple(compiler.needs), opening)
