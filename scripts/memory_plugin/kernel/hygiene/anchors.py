"""Where in a text something can be at all: the places of keywords, and the regions around rare shapes.

Hundreds of patterns are too many to run over a long text.  So a pattern is tried where one of its keywords stands,
or in the regions that a gate, a cheap pattern that many rules share, leaves open.
"""

from __future__ import annotations

import re
from functools import cache

from .tables import DataError, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Anchors", "Prefilter", "prefilters", "starts"]

_LONG = 20_000
_START = 3
_VOCABULARY = re.compile(rb"[a-z0-9_.-]{2,}")


class Prefilter:
    """A cheap pattern, and how many characters a rule may need before and after what it matches."""

    __slots__ = ("after", "before", "pattern")

    def __init__(self, pattern: re.Pattern[str], before: int, after: int) -> None:
        self.pattern, self.before, self.after = pattern, before, after


@cache
def prefilters() -> dict[str, Prefilter]:
    """The gates by name. Raises DataError for anything that is none."""
    found = table("gates.json").get("gates")
    if not isinstance(found, dict):
        raise DataError("gates.json: gates: expected an object")
    return {name: _gate(name, entry) for name, entry in found.items()}


def _gate(name: str, entry: object) -> Prefilter:
    if not isinstance(entry, dict):
        raise DataError("gates.json: %s: expected an object" % name)
    try:
        return Prefilter(re.compile(entry["pattern"]), int(entry["before"]), int(entry["after"]))
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise DataError("gates.json: %s: %r" % (name, error)) from error


def starts(keywords: Iterable[str]) -> frozenset[bytes] | None:
    """The first three characters of each keyword; None when one is too short to be told by them."""
    found = frozenset(keyword.encode("ascii")[:_START] for keyword in keywords)
    return found if found and all(len(start) == _START for start in found) else None


class Anchors:
    """The places in one text, each kind looked for when first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        # One byte per character, so that places are the same in both.
        self._lower = text.encode("ascii", "replace").lower()
        self._places: dict[str, list[int]] = {}
        self._gates: dict[str, list[tuple[int, int]]] = {}
        self._vocabulary = b""
        self._grams: set[bytes] | None = None
        if len(text) <= _LONG:
            lower = self._lower
            self._grams = {lower[at : at + _START] for at in range(len(lower) - _START + 1)}
        else:
            # Long texts repeat themselves: most keywords are ruled out by the list of different words.
            self._vocabulary = b"\n".join(set(_VOCABULARY.findall(self._lower)))

    def may_hold(self, begun: frozenset[bytes] | None) -> bool:
        """Whether a keyword that begins in one of these ways, as `starts` tells them, may be there; a quick no for short texts."""
        return begun is None or self._grams is None or not begun.isdisjoint(self._grams)

    def places(self, keyword: str) -> list[int]:
        """Where the keyword, in lower case and ASCII, begins; case does not count."""
        if keyword not in self._places:
            self._places[keyword] = list(self._find(keyword.encode("ascii")))
        return self._places[keyword]

    def _find(self, keyword: bytes) -> Iterator[int]:
        if self._vocabulary and _VOCABULARY.fullmatch(keyword) and keyword not in self._vocabulary:
            return
        place = self._lower.find(keyword)
        while place >= 0:
            yield place
            place = self._lower.find(keyword, place + 1)

    def around(self, keywords: Iterable[str], before: int, after: int) -> list[tuple[int, int]]:
        """The regions that begin so many characters before a keyword and end so many after its beginning."""
        places = sorted(place for keyword in keywords for place in self.places(keyword))
        return self._merged((place - before, place + after) for place in places)

    def regions(self, gate: str) -> list[tuple[int, int]]:
        """The regions that a gate leaves open."""
        if gate not in self._gates:
            found = prefilters()[gate]
            spans = (match.span() for match in found.pattern.finditer(self._text))
            self._gates[gate] = self._merged(
                (start - found.before, end + found.after) for start, end in spans
            )
        return self._gates[gate]

    def _merged(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for start, end in spans:
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((max(0, start), end))
        return merged
