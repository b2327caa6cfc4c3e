"""Match phrase patterns from data files against words, and classify the user's message by them.

Importing `re` and compiling expressions would take longer than scoring a reply.

A pattern is a list of slots separated by spaces. A slot is a word, alternatives (`hope|trust`), a class of words (`@praise`, also among
alternatives), or a gap (`*3`: up to three words of any kind). A slot that ends in `?` is optional. The first slot must be a word or class.
A match is within one sentence.
"""

from __future__ import annotations

from ..kernel.data import load_data
from .prose import BREAK, INSIDE, POSITIONS, read_prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .prose import Prose

    Slot = tuple[frozenset[str], bool, int]

_MAX_GAP = 8
AMBIGUOUS = "ambiguous"
QUERY_TYPES = (
    "code", "diagnostic", "claim", "emotional", "meta", "directive", "factual", "conversational", AMBIGUOUS,
)  # fmt: skip
_DRAFTING = "drafting"
_ANY = ""  # key of the patterns that accept any second word


def word_classes(table: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return the named classes of words in a rule file."""
    return {name: frozenset(words.split()) for name, words in table["classes"].items()}


def parse_pattern(pattern: str, classes: Mapping[str, frozenset[str]]) -> list[Slot]:
    """Return each slot of a pattern as the words it accepts, whether it is optional, and the length of a gap. Raises ValueError."""
    slots: list[Slot] = []
    for part in pattern.split():
        name = part.rstrip("?")
        if not name.startswith("*"):
            slots.append((_alternatives(name, classes), name != part, 0))
        elif name[1:].isdigit() and 1 <= int(name[1:]) <= _MAX_GAP:
            slots.append((frozenset(), True, int(name[1:])))
        else:
            raise ValueError("%s: a gap is *1 to *%d" % (part, _MAX_GAP))
    if not slots or slots[0][1]:
        raise ValueError("%r: the first slot must be a word" % pattern)
    return slots


def _alternatives(name: str, classes: Mapping[str, frozenset[str]]) -> frozenset[str]:
    words: set[str] = set()
    for word in name.split("|"):
        if not word or (word[0] == "@" and word[1:] not in classes):
            raise ValueError("%s: an empty alternative or an unknown class of words" % name)
        words |= classes[word[1:]] if word[0] == "@" else {word}
    return frozenset(words)


class PhraseIndex:
    """An index of patterns by their first two words. A pattern is parsed when its first word first occurs in a text.

    `first_words` maps a word to the numbers of the patterns whose first slot accepts it.
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

    def starting_at(self, prose: Prose, at: int) -> list[int]:
        """Return, in order, the numbers of the patterns that word `at` and the next word can begin."""
        word = prose.words[at]
        numbers = self._by_second.get(word)
        if numbers is None:
            numbers = self._by_second[word] = self._by_second_word(self.first_words.get(word, []))
        next_word = prose.words[at + 1] if at + 1 < len(prose.words) else _ANY
        return numbers[next_word] if next_word in numbers else numbers[_ANY]

    def _by_second_word(self, numbers: list[int]) -> dict[str, list[int]]:
        """Return pattern numbers by second word; patterns that accept any word are under _ANY and under every word."""
        second_words = [(number, _second_words(self._slots_of(number))) for number in numbers]
        by_word: dict[str, list[int]] = {_ANY: []}
        for _, words in second_words:
            by_word.update((word, []) for word in words or ())
        for number, words in second_words:
            for word in by_word if words is None else words:
                by_word[word].append(number)
        return by_word

    def match(self, number: int, prose: Prose, at: int, signs: str = "") -> int:
        """Return the number of the word after the pattern's longest match at word `at`; -1 for none.

        With `signs`, a match counts only if one of them follows it.
        """
        ends = match_ends(self._slots_of(number), prose, at)
        if signs:
            ends = {end for end in ends if prose.is_preceded_by(end, signs)}
        return max(ends, default=-1)

    def _slots_of(self, number: int) -> list[Slot]:
        slots = self._slots.get(number)
        if slots is None:
            slots = self._slots[number] = parse_pattern(self.patterns[number], self._classes)
        return slots


def _second_words(slots: list[Slot]) -> frozenset[str] | None:
    """Return the words that can be second in a match; None if any word can, or if a match needs no second word."""
    words: set[str] = set()
    for accepted, optional, gap in slots[1:]:
        if gap:
            return None
        words |= accepted
        if not optional:
            return frozenset(words)
    return None


def match_ends(slots: list[Slot], prose: Prose, at: int) -> set[int]:
    """Return the numbers of the words after all matches of `slots` at word `at`. The slots and their gaps bound the work."""
    words, size = prose.words, len(prose.words)
    ends = {at}
    for accepted, optional, gap in slots:
        reached = set(ends) if optional else set()
        for end in ends:
            for here in range(end, min(end + (gap or 1), size)):
                # Compare the word first: that is the cheapest check, and it fails most often.
                if not gap and words[here] not in accepted:
                    break
                if words[here] == BREAK or (here > at and prose.boundary(here) != INSIDE):
                    break
                reached.add(here + 1)
        if not reached:
            return reached
        ends = reached
    return ends


class QueryClassifier:
    """The rules of `config/replies/query_types.json`, applied to a message."""

    __slots__ = ("_levels", "_owners", "_phrases", "_table")

    def __init__(self) -> None:
        self._table = table = load_data("replies", "query_types")
        entries = [(kind["id"], pair) for kind in table["types"] for pair in kind["patterns"]]
        entries += [(_DRAFTING, pair) for pair in table["drafting"]["patterns"]]
        self._phrases = PhraseIndex([pattern for _, (_, pattern) in entries], word_classes(table))
        self._levels = [POSITIONS[position] for _, (position, _) in entries]
        self._owners = [owner for owner, _ in entries]

    def classify(self, prompt: str) -> tuple[str, bool]:
        """Return a message's kind (`ambiguous` if no rule matches), and whether it asks for a draft in somebody's voice."""
        prose = read_prose(prompt[: self._table["looked_at"]])
        counts = self._count_matches(prose)
        has_code = BREAK in prose.words or "```" in prompt
        best, most = AMBIGUOUS, 0
        for kind in self._table["types"]:  # of equal ones, the first wins
            points = kind["weight"] * min(counts.get(kind["id"], 0), self._table["most_counted"])
            points += kind.get("with_code", 0) if has_code else 0
            if points > most:
                best, most = kind["id"], points
        return best, _DRAFTING in counts

    def _count_matches(self, prose: Prose) -> dict[str, int]:
        """Return at how many words a pattern of each kind begins."""
        counts: dict[str, int] = {}
        first_words = self._phrases.first_words
        for at, word in enumerate(prose.words):
            if word not in first_words:
                continue
            owners = {
                self._owners[number]
                for number in self._phrases.starting_at(prose, at)
                if self._levels[number] <= prose.boundary(at) and self._phrases.match(number, prose, at) >= 0
            }
            for owner in owners:
                counts[owner] = counts.get(owner, 0) + 1
        return counts
