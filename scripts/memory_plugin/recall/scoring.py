"""How well a document answers a query: BM25F over stems, helped by the words' very forms and by their character 4-grams.

BM25F is the one of S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.6.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import Model
    from .weighting import Term

_GRAM = 4


class Pattern:
    """The texts to count in a document for one term of the query."""

    __slots__ = ("exact", "grams", "term", "whole")

    def __init__(self, term: Term) -> None:
        self.term = term
        self.exact = " " + term.stem + "~"
        self.whole = " " + term.form + " "
        last = len(self.exact) - _GRAM
        self.grams = [self.exact[at : at + _GRAM] for at in range(last + 1)] or [self.exact]


class Match:
    """The parts of one document's score, each a sum over the terms of the query."""

    __slots__ = ("exact", "forms", "matched", "rowid", "score", "soft", "title")

    def __init__(self, rowid: int) -> None:
        self.rowid = rowid
        self.score = 0.0
        self.exact = 0.0
        self.forms = 0.0
        self.soft = 0.0
        self.title = 0.0
        self.matched: dict[str, float] = {}


def scored(rowid: int, fields: tuple[str, ...], patterns: list[Pattern], averages: list[float], model: Model) -> Match:
    """The match of one document; `averages` are the mean lengths of the fields, the last that of all fields together."""
    settings = model.ranking
    k1, b = settings["k1"], settings["b"]
    match = Match(rowid)
    whole = "".join(fields)
    lengths = [field.count("~") for field in fields]
    weights = [
        weight / (1 - b + b * length / average) if length else 0.0
        for weight, length, average in zip(settings["weights"], lengths, averages)
    ]
    zones = [(field, weight) for field, weight in zip(fields, weights) if weight]
    norm = k1 * (1 - b + b * sum(lengths) / averages[-1])
    in_title = 0
    for pattern in patterns:
        weight = pattern.term.weight * (k1 + 1)
        if pattern.exact in whole:
            exact = sum([share * field.count(pattern.exact) for field, share in zones])
            part = weight * exact / (exact + k1)
            match.exact += part
            match.matched[pattern.term.stem] = part
            if pattern.whole in whole:
                same = sum([share * field.count(pattern.whole) for field, share in zones])
                match.forms += weight * same / (same + k1)
            in_title += fields[0].count(pattern.exact)
        soft = 0.0
        for gram in pattern.grams:
            if gram in whole:
                count = whole.count(gram)
                soft += count / (count + norm)
        match.soft += weight * soft / len(pattern.grams)
    match.title = in_title / (1 + lengths[0])
    match.score = (match.exact + settings["forms"] * match.forms + settings["soft"] * match.soft) * (1 + settings["title"] * match.title)
    return match
