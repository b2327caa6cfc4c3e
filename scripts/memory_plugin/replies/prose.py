"""Convert a text to folded words with their positions, and match patterns against them. What is not its own prose is masked.

Folding gives one spelling to variants that readers consider the same (curly apostrophes, dashes, invisible characters). It maps each
character to one or none, so that every word can be traced to its position in the original text. Masking hides code, quotations, tables
and addresses, and keeps all offsets. Every pass takes linear time, even for hostile text: an opening mark without an end has no effect
beyond its line, and its end is looked for within a limit.

A pattern is a list of slots separated by spaces. A slot is a word, alternatives (`hope|trust`), a class of words (`@praise`, also among
alternatives), or a gap (`*3`: up to three words of any kind). A slot that ends in `?` is optional. The first slot must be a word or class.
A match is within one sentence. Compiling hundreds of patterns with `re` would take longer than scoring a reply.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

from ..kernel.fastjson import as_object, as_text
from ..kernel.paths import load_data
from ..kernel.settings.schema import schema_problem
from ..kernel.text import IN_WORDS

Classes = Mapping[str, frozenset[str]]
Owner = TypeVar("Owner")

MASK = "\x01"
INSIDE, SENTENCE, LINE, REPLY = 0, 1, 2, 3  # the boundary before a word, weakest first
POSITIONS = {"anywhere": INSIDE, "sentence": SENTENCE, "line": LINE, "reply": REPLY}  # as rules name them
BREAK = MASK  # the word that stands for a masked passage
_MAX_GAP = 8
_MAX_ID = 60  # characters shown
_REMOVED = "\x00"
_ONE_FOR_ONE = {
    **dict.fromkeys("\u2018\u2019\u02bc\u2032\uff07\u00b4", "'"),
    **dict.fromkeys("\u2212\u2010\u2011", "-"),
    **dict.fromkeys("\u2013\u2014\u2015", "\u2014"),
    **dict(zip("\u2026\u3002\uff01\uff0c\uff1f\uff1a\u201c\u201d", "..!,?:\u201c\u201d")),
    **dict.fromkeys("\x00\x01\r", " "),  # a reply must not contain our own marks
}
_INVISIBLE = frozenset(code for first, last in IN_WORDS for code in range(first, last + 1))

_WORD = re.compile(r"\x01|[^\W_]+(?:['-]+[^\W_]+)*")
_PARAGRAPH = re.compile(r"\n[^\n]*\n|[.!?:;][ *_)\"']*\n|\n\s*[-*+#\u2022]")
_FULL_STOP = re.compile(r"[.!?]")


class _FoldTable(dict[int, str]):
    """The table for `str.translate`; each character beyond ASCII is computed once."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(code)
        return folded


def _fold_character(code: int) -> str:
    char = chr(code)
    if code in _INVISIBLE or 0x300 <= code < 0x370:  # combining marks
        return _REMOVED
    is_space = char.isspace() or 0x2190 <= code < 0x2C00  # arrows, boxes and other signs
    return " " if is_space else char.lower() if len(char.lower()) == 1 else char


_FOLDED = _FoldTable({code: chr(code).lower() for code in range(128)})
_FOLDED.update(str.maketrans(_ONE_FOR_ONE))


class FoldedText:
    """A text in lower case without invisible characters, and the original offset of each character."""

    def __init__(self, original: str) -> None:
        parts = original.translate(_FOLDED).split(_REMOVED)
        self.text = "".join(parts)
        self._removed = list(accumulate(map(len, parts[:-1])))

    def original_offset(self, at: int) -> int:
        """Return the original offset of the character at `at`; `at` may be the end of the text."""
        return at + bisect_right(self._removed, at)

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the original of a passage that is not empty."""
        return self.original_offset(start), self.original_offset(end - 1) + 1


class Prose:
    """The words of a text in order, each with its position in the masked text.

    A word may be BREAK for a masked passage, which does not count as a word.
    """

    def __init__(self, text: str) -> None:
        """Read a text in linear time."""
        self.folded = FoldedText(text)
        self.masked = mask(self.folded.text)
        found = list(_WORD.finditer(self.masked))
        self.words = [word[0] for word in found]
        self.starts = [word.start() for word in found]

    def boundary(self, number: int) -> int:
        """Return what a word begins: INSIDE nothing, SENTENCE a sentence, LINE a paragraph or the like, REPLY the text.

        LINE includes list items, and lines after a full stop.
        """
        if not number:
            return REPLY
        gap = self.masked[self.end(number - 1) : self.starts[number]]
        if "\n" in gap:
            return LINE if _PARAGRAPH.search(gap) else INSIDE
        return SENTENCE if len(gap) > 1 and _FULL_STOP.search(gap) else INSIDE

    def end(self, number: int) -> int:
        """Return the offset at which a word ends in the masked text."""
        return self.starts[number] + len(self.words[number])

    def next_sign(self, number: int) -> str:
        """Return the first character after a word, skipping emphasis and space.

        That is a line feed at the end of a line, a space if the next word follows directly, and empty at the end of the text.
        """
        is_last = number + 1 == len(self.words)
        gap = self.masked[self.end(number) : None if is_last else self.starts[number + 1]]
        return gap.lstrip(" *_~)")[:1] or ("" if is_last else " ")

    def __len__(self) -> int:
        return len(self.words)


def mask(text: str) -> str:
    """Replace each passage of a folded text that is not prose by one `MASK` and spaces, with the same length."""
    table = load_data("replies", "passages")
    text = re.sub(table["block"], lambda block: re.sub(".+", _masked, block[0]), text)
    for passage in table["passages"]:
        text = re.sub(passage, _masked, text)
    return re.sub(r"\S+", lambda token: _masked(token) if _is_address(token[0]) else token[0], text)


def _masked(passage: re.Match[str]) -> str:
    return MASK.ljust(len(passage[0]))


def _is_address(token: str) -> bool:
    """Return whether a token is a URL, a path or another word with slashes, but not two words such as `and/or`."""
    word = token.lstrip("([*_<")
    inner = word.rstrip(".,;:!?)]*_>")
    is_path = "." in inner or word.startswith(("/", "~/", "@/"))
    slashes = inner.count("/")
    has_slashes = slashes > 1 or (slashes == 1 and len(inner) > 1 and is_path)
    return has_slashes or "\\" in word or word.startswith("www.")


class Slot(NamedTuple):
    """The words that one slot of a pattern accepts, or the length of a gap."""

    words: frozenset[str]
    is_optional: bool
    gap: int = 0


def word_classes(table: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return the named classes of words in a rule file."""
    return {name: frozenset(words.split()) for name, words in table["classes"].items()}


def parse_pattern(pattern: str, classes: Classes) -> list[Slot]:
    """Return the slots of a pattern. Raises ValueError."""
    slots: list[Slot] = []
    for part in pattern.split():
        name = part.rstrip("?")
        if not name.startswith("*"):
            slots.append(Slot(_alternatives(name, classes), name != part))
        elif name[1:].isdigit() and 1 <= int(name[1:]) <= _MAX_GAP:
            slots.append(Slot(frozenset(), is_optional=True, gap=int(name[1:])))
        else:
            raise ValueError("%s: a gap is *1 to *%d" % (part, _MAX_GAP))
    if not slots or slots[0].is_optional:
        raise ValueError("%r: the first slot must be a word" % pattern)
    return slots


def _alternatives(name: str, classes: Classes) -> frozenset[str]:
    words: set[str] = set()
    for word in name.split("|"):
        if not word or (word[0] == "@" and word[1:] not in classes):
            raise ValueError("%s: an empty alternative or an unknown class of words" % name)
        words |= classes[word[1:]] if word[0] == "@" else {word}
    return frozenset(words)


def rule_problem(entry: Any, classes: Classes) -> str:  # noqa: ANN401 - any JSON
    """Return what is wrong with a rule about phrases, or ""."""
    problem = schema_problem(load_data("replies", "rule.schema"), entry)
    try:
        for pattern in () if problem else entry["patterns"]:
            parse_pattern(pattern, classes)
    except ValueError as error:
        problem = str(error)
    return problem and "%s: %s" % (as_text(as_object(entry).get("id"))[:_MAX_ID], problem)


class PhraseIndex(Generic[Owner]):
    """Patterns by their first words, each with the boundary that it needs before it (see `Prose.boundary`) and its owner.

    A pattern is parsed when its first word first occurs in a text.
    """

    def __init__(self, patterns: Iterable[tuple[str, int, Owner]], classes: Classes) -> None:
        self._slots = cache(partial(parse_pattern, classes=classes))
        self.by_word: dict[str, list[tuple[str, int, Owner]]] = {}
        for entry in patterns:
            for word in _alternatives(entry[0].split(" ", 1)[0], classes):
                self.by_word.setdefault(word, []).append(entry)

    def matches(self, prose: Prose, at: int, boundary: int) -> Iterator[tuple[Owner, set[int]]]:
        """Yield the owner of each pattern that matches at word `at` behind a boundary, with the words after its matches."""
        for pattern, level, owner in self.by_word.get(prose.words[at], ()):
            ends = match_ends(self._slots(pattern), prose, at) if level <= boundary else None
            if ends:
                yield owner, ends


def match_ends(slots: list[Slot], prose: Prose, at: int) -> set[int]:
    """Return the numbers of the words after all matches of `slots` at word `at`. The slots and their gaps bound the work."""
    words, size = prose.words, len(prose.words)
    ends = {at}
    for slot in slots:
        reached = set(ends) if slot.is_optional else set()
        for end in ends:
            for here in range(end, min(end + (slot.gap or 1), size)):
                # Compare the word first: that is the cheapest check, and it fails most often.
                if not slot.gap and words[here] not in slot.words:
                    break
                if (words[here] == BREAK and not slot.gap) or (here > at and prose.boundary(here) != INSIDE):
                    break
                reached.add(here + 1)
        if not reached:
            return reached
        ends = reached
    return ends
