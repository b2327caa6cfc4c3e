"""Compare memories: whether one repeats another, or gives another answer to the same question."""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.data import load_data
from ..kernel.text.stem import stem
from ..kernel.text.tokens import language, tokenize
from .record import body_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .record import Memory

SAME_TITLE, NEAR_DUPLICATE = "same title", "near duplicate"
_SAME_QUESTION = "older %s on the same question"
_QUESTIONS = frozenset(["decision", "constraint", "preference", "runbook"])
_MAX_WORDS = 400
_stem = lru_cache(maxsize=20_000)(stem)  # memories of one store share most of their words


class _Terms(NamedTuple):
    """The parts of one memory that are compared, as sets of stems."""

    title: frozenset[str]
    text: frozenset[str]
    tags: frozenset[str]
    files: frozenset[str]


class Similarity:
    """Compares memories. Words are weighted by their rarity in `corpus`; `stop` holds the stop words by language."""

    def __init__(self, corpus: Iterable[Memory], stop: dict[str, frozenset[str]]) -> None:
        self._stop = stop
        self._cache: dict[tuple[object, ...], _Terms] = {}
        documents = [self._terms(memory) for memory in corpus]
        self._size = max(len(documents), _setting("rarest"))
        self._frequency = Counter(term for terms in documents for term in terms.text | terms.tags)

    def why(self, new: Memory, old: Memory) -> str:
        """Return how the older memory relates to the newer: "same title", "near duplicate", "older decision on the same question", or "".

        A decision is compared with decisions, a runbook with runbooks; technical debt and session summaries answer no question.
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
        context = _setting("tags") * _overlap(terms.tags, other.tags)
        context += _setting("files") * _overlap(terms.files, other.files)
        if not context and text < _setting("text_alone"):
            return False
        total = _setting("title") * self._cosine(terms.title, other.title) + _setting("text") * text + context
        return total >= _setting("same_question")

    def _terms(self, memory: Memory) -> _Terms:
        content = body_text(memory)
        key = (memory.title, content, memory.tags, memory.files)
        if key not in self._cache:
            title, body = tokenize(memory.title), tokenize(content)[:_MAX_WORDS]
            stop_words = self._stop[language(title + body, self._stop)]
            title_stems = frozenset(_stem(word) for word in title if word not in stop_words)
            body_stems = frozenset(_stem(word) for word in body if word not in stop_words)
            tags = frozenset(_stem(word) for tag in memory.tags for word in tokenize(tag))
            self._cache[key] = _Terms(title_stems, title_stems | body_stems, tags, frozenset(memory.files))
        return self._cache[key]

    def _cosine(self, terms: frozenset[str], other: frozenset[str]) -> float:
        size = sqrt(self._square(terms) * self._square(other))
        return self._square(terms & other) / size if size else 0.0

    def _square(self, terms: frozenset[str]) -> float:
        """Return the squared length of a vector of terms, weighted by inverse document frequency."""
        return sum(log(1 + self._size / max(1, self._frequency[term])) ** 2 for term in terms)


def _overlap(terms: frozenset[str], other: frozenset[str]) -> float:
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
