"""How well a document answers a query: BM25F over stems, helped by the words' very forms and by their character 4-grams.

BM25F is that of S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.6.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import Model
    from .query import Term

_GRAM = 4


class Pattern:
    """The texts to count in a document for one term of the query."""

    __slots__ = ("exact", "grams", "term", "whole")

    def __init__(self, term: Term) -> None:
        self.term = term
        self.exact = " " + term.stem + "~"
        self.whole = " " + term.form + " "
        # The parts of a whole name have grams of their own.
        grams = len(self.exact) - _GRAM + 1 if term.stem.isalnum() else 0
        self.grams = [self.exact[at : at + _GRAM] for at in range(grams)]


class Match:
    """A document's score and its parts, each a sum over the terms of the query; `matched` has the exact part by term."""

    __slots__ = ("exact", "fields", "forms", "lengths", "matched", "rowid", "score", "soft", "text", "title")

    def __init__(self, rowid: int, fields: tuple[str, ...]) -> None:
        self.rowid = rowid
        self.fields = fields
        self.text = "".join(fields)
        self.lengths = [field.count("~") for field in fields]
        self.score = 0.0
        self.exact = 0.0
        self.forms = 0.0
        self.soft = 0.0
        self.title = 0.0
        self.matched: dict[str, float] = {}


def best_matches(
    documents: list[tuple[int, tuple[str, ...]]], terms: list[Term], averages: list[float], model: Model
) -> list[Match]:
    """Return the matches of (row id, fields) pairs, best first; grams are counted for the best `soft_pool`, and the others are left out.

    `averages` are the mean lengths of the fields, the last that of all fields together.
    """
    patterns = [Pattern(term) for term in terms[: model.ranking["terms"]]]
    matches = [_exact(Match(rowid, fields), patterns, averages, model) for rowid, fields in documents]
    matches.sort(key=_order)
    best = [_soft(match, patterns, averages, model) for match in matches[: model.ranking["soft_pool"]]]
    best.sort(key=_order)
    return best


def _order(match: Match) -> tuple[float, int]:
    return -match.score, match.rowid


def _exact(match: Match, patterns: list[Pattern], averages: list[float], model: Model) -> Match:
    settings = model.ranking
    k1, b = settings["k1"], settings["b"]
    zones = [
        (field, weight / (1 - b + b * length / average))
        for field, weight, length, average in zip(match.fields, settings["weights"], match.lengths, averages)
        if length
    ]
    text = match.text
    in_title = 0
    for pattern in patterns:
        if pattern.exact in text:
            part = _saturated(pattern.exact, zones, pattern.term.weight, k1)
            match.matched[pattern.term.stem] = part
            match.exact += part
            if pattern.whole in text:
                match.forms += _saturated(pattern.whole, zones, pattern.term.weight, k1)
            in_title += match.fields[0].count(pattern.exact)
    match.title = in_title / (1 + match.lengths[0])
    return _sum_up(match, model)


def _saturated(text: str, zones: list[tuple[str, float]], weight: float, k1: float) -> float:
    frequency = 0.0
    for field, share in zones:
        frequency += share * field.count(text)
    return weight * (k1 + 1) * frequency / (frequency + k1)


def _soft(match: Match, patterns: list[Pattern], averages: list[float], model: Model) -> Match:
    k1, b = model.ranking["k1"], model.ranking["b"]
    norm = k1 * (1 - b + b * sum(match.lengths) / averages[-1])
    text = match.text
    for pattern in patterns:
        found = 0.0
        for gram in pattern.grams:
            if gram in text:
                count = text.count(gram)
                found += count / (count + norm)
        if found:
            match.soft += pattern.term.weight * (k1 + 1) * found / len(pattern.grams)
    return _sum_up(match, model)


def _sum_up(match: Match, model: Model) -> Match:
    settings = model.ranking
    words = match.exact + settings["forms"] * match.forms + settings["soft"] * match.soft
    match.score = words * (1 + settings["title"] * match.title)
    return match
