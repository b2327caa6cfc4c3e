"""Relations between memories: whether one repeats another, or answers the same question; and which ones supersede which.

Two fields say what is superseded. `superseded_by` in the older memory ends its recall permanently, as `retired` does: it is the memory's
own text. `supersedes` in the newer one counts only while that one is trusted and active, so that a pending memory has no effect on others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from math import log, sqrt
from typing import Callable, NamedTuple

from ..kernel.paths import load_data
from ..kernel.text.words import language, stem, tokenize
from .memory_files import PROJECT, USER
from .record import MAX_ASKED_AS, Memory, body_text, categories

# A repository may hold chains of any length and with any number of branches; no person's history needs more steps than this.
_MAX_STEPS = 64
SAME_TITLE, NEAR_DUPLICATE = "same title", "near duplicate"
_SAME_QUESTION = "similar %s"
_QUESTIONS = frozenset(["decision", "constraint", "preference", "runbook"])
_MAX_WORDS = 400
_stem = lru_cache(maxsize=20_000)(stem)  # memories of one store share most of their words


class Link(NamedTuple):
    """The references of one active memory to others; `is_trusted` decides whether its `supersedes` counts."""

    key: str
    is_trusted: bool
    superseded_by: str
    supersedes: tuple[str, ...]
    asked_as: tuple[str, ...] = ()


class Resolution(NamedTuple):
    """The outcome for a set of memories.

    `superseded` maps the key of each superseded memory to that of its replacement, or to the name in the file if there is no such memory.
    `inherited` maps the key of each replacement to the phrases of the older memories, the nearest first.
    """

    superseded: dict[str, str]
    inherited: dict[str, tuple[str, ...]]


def named_keys(name: str, key: str) -> Iterator[str]:
    """Yield the keys that a name in the memory with this key may mean, the likeliest first.

    A name is an id, `category/id` or `scope:category/id`; an id is searched in the memory's own scope and category first.
    """
    scope, _, rest = key.partition(":")
    category = rest.partition("/")[0]
    scopes = [scope] + [other for other in (PROJECT, USER) if other != scope]
    if ":" in name:
        yield name
    elif "/" in name:
        yield from ("%s:%s" % (scope, name) for scope in scopes)
    else:
        folders = [category] + [other for other in categories() if other != category]
        yield from ("%s:%s/%s" % (scope, folder, name) for scope in scopes for folder in folders)


def name_for(key: str, beside: str) -> str:
    """Return the shortest name of the memory with this key, as used inside the memory with the key `beside`."""
    scope, _, rest = key.partition(":")
    if not beside.startswith(scope + ":"):
        return key
    category, _, identity = rest.partition("/")
    return identity if beside.startswith("%s:%s/" % (scope, category)) else rest


def older_names(key: str, supersedes: tuple[str, ...], beside: str) -> list[str]:
    """Return the names of a memory and of those that it supersedes, as used inside a newer memory with the key `beside`.

    A newer memory names the whole chain, so it still supersedes the oldest one after those between them are deleted. For a memory of
    another category or store the chain is left out, because its ids could mean other memories there.
    """
    same_folder = key.rpartition("/")[0] == beside.rpartition("/")[0]
    return [name_for(key, beside), *(supersedes if same_folder else ())]


def resolve(links: Mapping[str, Link], find: Callable[[str], Link | None]) -> Resolution:
    """Return which memories are superseded and which phrases are inherited.

    Args:
        links: the memories that name others in either field, by key.
        find: returns the active memory with a key, whether or not it names others; None if there is none.
    """
    newer: dict[str, list[str]] = {}
    superseded: dict[str, str] = {}
    for key, link in sorted(links.items()):
        if link.superseded_by:
            target = meant_key(link.superseded_by, key, find)
            superseded[key] = target or link.superseded_by
            if target and link.is_trusted:
                newer.setdefault(key, []).append(target)
    claims = [
        (older, key)
        for key, link in sorted(links.items())
        if link.is_trusted
        for older in filter(None, (meant_key(name, key, find) for name in link.supersedes))
    ]
    for older, key in claims:
        newer.setdefault(older, []).append(key)
    # A claim is circular, and does not count, if the claiming memory is itself replaced, directly or indirectly, by the older one.
    circular_claims = {(older, key) for older, key in claims if older in _replacements(key, newer)}
    for older, key in claims:
        if (older, key) in circular_claims:
            newer[older].remove(key)
        else:
            superseded.setdefault(older, key)
    return Resolution(superseded, _inherited(superseded, newer, find))


def meant_key(name: str, key: str, find: Callable[[str], Link | None]) -> str:
    """Return the key of the active memory that a name means in the memory with this key; empty if there is none."""
    targets = (target for target in named_keys(name, key) if target != key and find(target) is not None)
    return next(targets, "")


def _replacements(key: str, newer: dict[str, list[str]]) -> list[str]:
    """Return the memories that replace this one, directly or indirectly, the nearest first."""
    found: list[str] = []
    queue = newer.get(key, [])[:_MAX_STEPS]
    while queue and len(found) < _MAX_STEPS:
        key = queue.pop(0)
        if key not in found:
            found.append(key)
            queue += newer.get(key, [])[:_MAX_STEPS]
    return found


def _inherited(
    superseded: dict[str, str], newer: dict[str, list[str]], find: Callable[[str], Link | None]
) -> dict[str, tuple[str, ...]]:
    """Return the phrases that each memory inherits; only trusted memories pass on or inherit phrases."""
    inherited: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for older in sorted(superseded):
        source = find(older)
        if source is None or not source.is_trusted or not source.asked_as:
            continue
        for steps, key in enumerate(_replacements(older, newer)):
            successor = find(key)
            if key not in superseded and successor is not None and successor.is_trusted:
                inherited.setdefault(key, []).append((steps, source.asked_as))
    return {
        key: tuple(dict.fromkeys(phrase for _, phrases in sorted(lists) for phrase in phrases))[:MAX_ASKED_AS]
        for key, lists in inherited.items()
    }


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
        """Return how the older memory relates to the newer: "same title", "near duplicate", "similar decision", or "".

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
