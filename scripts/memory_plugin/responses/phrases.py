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
    """Patterns found by their first word; each is taken apart when that word first comes up.

    `first_words` maps a word to the numbers of the patterns whose first slot takes it.
    """

    __slots__ = ("_classes", "_parsed", "first_words", "patterns")

    def __init__(self, patterns: Sequence[str], classes: Mapping[str, frozenset[str]]) -> None:
        self.patterns = patterns
        self._classes = classes
        self._parsed: dict[int, tuple[list[Slot], frozenset[str] | None]] = {}
        self.first_words: dict[str, list[int]] = {}
        for number, pattern in enumerate(patterns):
            for word in _alternatives(pattern.split(" ", 1)[0], classes):
                self.first_words.setdefault(word, []).append(number)

    def match(self, number: int, prose: Prose, at: int, signs: str = "") -> int:
        """Where the longest match of a pattern that begins at word `at` ends (the word behind it); -1 for none.

        With `signs`, the longest one that has one of them behind it.
        """
        found = self._parsed.get(number)
        if found is None:
            slots = parse(self.patterns[number], self._classes)
            found = self._parsed[number] = (slots, _second_words(slots))
        slots, second = found
        if second is not None and (at + 1 >= len(prose.words) or prose.words[at + 1] not in second):
            return -1
        ends = ends_of_matches(slots, prose, at)
        return max(ends if not signs else [end for end in ends if prose.has_behind(end, signs)], default=-1)


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
    words, levels = prose.words, prose.levels
    ends = {at}
    for taken, optional, gap in slots:
        reached = set(ends) if optional else set()
        for end in ends:
            for here in range(end, min(end + (gap or 1), len(words))):
                if (
                    (here > at and levels[here] != INSIDE)
                    or words[here] == BREAK
                    or (not gap and words[here] not in taken)
                ):
                    break
                reached.add(here + 1)
        if not reached:
            return reached
        ends = reached
    return ends
