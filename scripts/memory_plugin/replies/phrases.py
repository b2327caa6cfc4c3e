"""Phrases as data, matched against words: no regular expressions, whose import and compilation would cost more than the scoring.

A pattern is a row of slots parted by spaces.  A slot is a word, alternatives (`hope|trust`), a class of words (`@praise`, also among
alternatives), or a gap (`*3`: up to three words of any kind).  A slot with `?` behind may be missing.  The first slot is a fixed one.
A phrase lies within one sentence.
"""

from __future__ import annotations

from .prose import BREAK, INSIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .prose import Prose

    Slot = tuple[frozenset[str], bool, int]

__all__ = ["Phrases", "ends_of_matches", "parse"]

_MOST_GAP = 8
_ANY = ""  # stands for the second word where any will do


def parse(pattern: str, classes: Mapping[str, frozenset[str]]) -> list[Slot]:
    """The slots of a pattern: the words it takes, whether it may be missing, and for a gap how many words. Raises ValueError."""
    slots: list[Slot] = []
    for part in pattern.split():
        name = part.rstrip("?")
        optional = name != part
        if name.startswith("*"):
            if not name[1:].isdigit() or not 1 <= int(name[1:]) <= _MOST_GAP:
                raise ValueError("%s: a gap is *1 to *%d" % (part, _MOST_GAP))
            slots.append((frozenset(), True, int(name[1:])))
            continue
        slots.append((_alternatives(name, classes), optional, 0))
    if not slots or slots[0][1]:
        raise ValueError("%r: the first slot has to be a word" % pattern)
    return slots


def _alternatives(name: str, classes: Mapping[str, frozenset[str]]) -> frozenset[str]:
    words: set[str] = set()
    for word in name.split("|"):
        if word.startswith("@"):
            if word[1:] not in classes:
                raise ValueError("%s: no such class of words" % word)
            words |= classes[word[1:]]
        elif not word:
            raise ValueError("%s: an empty alternative" % name)
        else:
            words.add(word)
    return frozenset(words)


class Phrases:
    """Patterns found by their first two words; those of a first word are taken apart when it first comes up.

    `first_words` maps a word to the numbers of the patterns whose first slot takes it.
    """

    __slots__ = ("_by_second", "_classes", "_slots", "first_words", "patterns")

    def __init__(self, patterns: Sequence[str], classes: Mapping[str, frozenset[str]]) -> None:
        self.patterns = patterns
        self._classes = classes
        self._slots: dict[int, list[Slot]] = {}
        self._by_second: dict[str, dict[str, list[int]]] = {}
        self.first_words: dict[str, list[int]] = {}
        for number, pattern in enumerate(patterns):
            for word in _alternatives(pattern.split(" ", 1)[0], classes):
                self.first_words.setdefault(word, []).append(number)

    def beginning(self, prose: Prose, at: int) -> list[int]:
        """The numbers of the patterns that can begin at a word, by it and the one behind it; in order."""
        word = prose.words[at]
        found = self._by_second.get(word)
        if found is None:
            found = self._by_second[word] = self._read(self.first_words.get(word, []))
        behind = prose.words[at + 1] if at + 1 < len(prose.words) else _ANY
        return found[behind] if behind in found else found[_ANY]

    def _read(self, numbers: list[int]) -> dict[str, list[int]]:
        """Patterns by each word that can be a match's second; under _ANY those that take any, which stand under each word too."""
        seconds = [(number, _second_words(self._slots_of(number))) for number in numbers]
        found: dict[str, list[int]] = {_ANY: []}
        for _, taken in seconds:
            found.update((word, []) for word in taken or ())
        for number, taken in seconds:
            for word in found if taken is None else taken:
                found[word].append(number)
        return found

    def match(self, number: int, prose: Prose, at: int, signs: str = "") -> int:
        """Where the longest match of a pattern that begins at word `at` ends (the word behind it); -1 for none.

        With `signs`, the longest one that has one of them behind it.
        """
        ends = ends_of_matches(self._slots_of(number), prose, at)
        return max(ends if not signs else [end for end in ends if prose.has_behind(end, signs)], default=-1)

    def _slots_of(self, number: int) -> list[Slot]:
        found = self._slots.get(number)
        if found is None:
            found = self._slots[number] = parse(self.patterns[number], self._classes)
        return found


def _second_words(slots: list[Slot]) -> frozenset[str] | None:
    """The words one of which has to be a match's second; None when any may, or none need be. Rules out most tries at once."""
    words: set[str] = set()
    for taken, optional, gap in slots[1:]:
        if gap:
            return None
        words |= taken
        if not optional:
            return frozenset(words)
    return None


def ends_of_matches(slots: list[Slot], prose: Prose, at: int) -> set[int]:
    """The words behind the matches of some slots from word `at` on. Bounded by the number of slots and their gaps."""
    words, size = prose.words, len(prose.words)
    ends = {at}
    for taken, optional, gap in slots:
        reached = set(ends) if optional else set()
        for end in ends:
            for here in range(end, min(end + (gap or 1), size)):
                # The look at the word first: it is the cheaper one, and mostly fails.
                if not gap and words[here] not in taken:
                    break
                if words[here] == BREAK or (here > at and prose.level(here) != INSIDE):
                    break
                reached.add(here + 1)
        if not reached:
            return reached
        ends = reached
    return ends
