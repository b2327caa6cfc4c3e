"""Compare memories: whether one repeats another, or gives another answer to the same question."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.data import load_data
from ..kernel.text.stem import stem
from ..kernel.text.tokens import language, words
from .record import body_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .record import Memory

__all__ = ["NEAR_DUPLICATE", "SAME_TITLE", "Similarity", "plain_title"]

SAME_TITLE, NEAR_DUPLICATE = "same title", "near duplicate"
_SAME_QUESTION = "older %s on the same question"
_QUESTIONS = frozenset(["decision", "constraint", "preference", "runbook"])
_MOST_WORDS = 400


class _Terms(NamedTuple):
    """What is compared of one memory, as sets of stems."""

    title: frozenset[str]
    text: frozenset[str]
    tags: frozenset[str]
    files: frozenset[str]


class Similarity:
    """Compares memories; words are weighted by their rarity among the memories of `around`, and `stop` has stop words by language."""

    def __init__(self, around: Iterable[Memory], stop: dict[str, frozenset[str]]) -> None:
        self._stop = stop
        self._known: dict[tuple[object, ...], _Terms] = {}
        held = [self._terms(memory) for memory in around]
        self._number = max(len(held), _setting("rarest"))
        self._held = Counter(term for terms in held for term in terms.text | terms.tags)

    def why(self, new: Memory, old: Memory) -> str:
        """Return what the older memory is to the newer one: "same title", "near duplicate", "older decision on the same question", or "".

        A decision is compared with decisions, a runbook with runbooks; technical debt and summaries of sessions answer no question.
        """
        if plain_title(new.title) == plain_title(old.title):
            return SAME_TITLE
        terms, other = self._terms(new), self._terms(old)
        text = self._cosine(terms.text, other.text)
        repeats = text >= _setting("near_duplicate")
        if new.category == old.category in _QUESTIONS and (
            _numbers_differ(terms.title, other.title) if repeats else self._same_question(terms, other, text)
        ):
            return _SAME_QUESTION % old.category.replace("_", " ")
        return NEAR_DUPLICATE if repeats else ""

    def _same_question(self, terms: _Terms, other: _Terms, text: float) -> bool:
        around = _setting("tags") * _shared(terms.tags, other.tags)
        around += _setting("files") * _shared(terms.files, other.files)
        if not around and text < _setting("text_alone"):
            return False
        total = _setting("title") * self._cosine(terms.title, other.title) + _setting("text") * text + around
        return total >= _setting("same_question")

    def _terms(self, memory: Memory) -> _Terms:
        content = body_text(memory)
        key = (memory.title, content, memory.tags, memory.files)
        if key not in self._known:
            title, body = words(memory.title), words(content)[:_MOST_WORDS]
            idle = self._stop[language(title + body, self._stop)]
            stems = frozenset(stem(word) for word in title if word not in idle)
            rest = frozenset(stem(word) for word in body if word not in idle)
            tags = frozenset(stem(word) for tag in memory.tags for word in words(tag))
            self._known[key] = _Terms(stems, stems | rest, tags, frozenset(memory.files))
        return self._known[key]

    def _cosine(self, terms: frozenset[str], other: frozenset[str]) -> float:
        size = sqrt(self._square(terms) * self._square(other))
        return self._square(terms & other) / size if size else 0.0

    def _square(self, terms: frozenset[str]) -> float:
        """Return the squared length of a vector of terms, each weighed by how few memories hold it (idf)."""
        return sum(log(1 + self._number / max(1, self._held[term])) ** 2 for term in terms)


def _shared(terms: frozenset[str], other: frozenset[str]) -> float:
    return len(terms & other) / min(len(terms), len(other)) if terms and other else 0.0


def _numbers_differ(terms: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether both titles contain numbers that differ: then a limit or a version was changed, not repeated."""
    numbers, others = (frozenset(filter(str.isdigit, title)) for title in (terms, other))
    return bool(numbers and others) and numbers != others


def plain_title(title: str) -> str:
    """Return a title in the form for comparison: case-folded, with single spaces."""
    return " ".join(title.casefold().split())


@cache
def _setting(name: str) -> float:
    return float(load_data("memories", "similarity")["entries"][name]["value"])
