"""Score documents for the terms of a query: FTS5 finds candidates, BM25F scores them.

Each term has two posting lists: the documents with it in a strong field, and those with it only in the body. The lists are read heaviest
first, and each adds its weight to its documents (impact-ordered retrieval: V. N. Anh and A. Moffat, "Pruned query evaluation using
pre-computed impacts", SIGIR 2006), so that the budget is spent on distinctive words first. Without FTS5 the texts themselves are searched.

BM25F is that of S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.6. Matches of
the words' exact forms and of their character 4-grams add to it.
"""

from __future__ import annotations

from ..kernel.context import Deadline
from ..kernel.sqlite import Connection
from .index_file import POSTINGS, STRONG_MARK, joined
from .query import Model, Term

_DEADLINE_STRIDE = 256  # documents between two checks of the deadline
_GRAM = 4  # characters


def candidates(
    connection: Connection, terms: list[Term], model: Model, only_injectable: bool, deadline: Deadline | None
) -> list[int]:
    """Return the row ids of the best documents by the weights of their lists, best first. Raises TimeoutError at the deadline."""
    tables = (POSTINGS[True],) if only_injectable else (POSTINGS[True], POSTINGS[False])
    scores: dict[int, float] = {}
    budget = model.ranking["postings"]
    for weight, length, token in _lists(terms, model.ranking["strong"]):
        budget -= length
        if budget < 0 and scores:
            break
        if deadline is not None and deadline.remaining() <= 0:
            raise TimeoutError("ranking ran out of time")
        for table in tables:
            # Fetching all row ids as one text takes a third less time than fetching one row each.
            query = "SELECT group_concat(rowid) FROM %s WHERE %s MATCH ?" % (table, table)
            listed = connection.execute(query, (token,)).fetchone()[0]
            for rowid in map(int, listed.split(",") if listed else ()):
                scores[rowid] = scores.get(rowid, 0.0) + weight
    best = sorted(scores)
    # Sorting is stable even in reverse, so of equal scores the lower row id stays first.
    best.sort(key=scores.__getitem__, reverse=True)
    return best[: model.ranking["pool"]]


def _lists(terms: list[Term], strong: float) -> list[tuple[float, int, str]]:
    """Return (weight, number of documents, FTS5 query) of every list that is not empty, heaviest first."""
    lists = [
        (term.weight * strong, term.strong, '"%s"' % (term.stem + STRONG_MARK))
        for term in terms
        if term.strong
    ]
    lists += [(term.weight, term.weak, '"%s"' % term.stem) for term in terms if term.weak]
    return sorted(lists, key=lambda item: (-item[0], item[2]))


def keyword_candidates(
    connection: Connection, terms: list[Term], model: Model, only_injectable: bool, deadline: Deadline | None
) -> list[int]:
    """Return the row ids of the documents with the heaviest terms, best first, without FTS5. Raises TimeoutError at the deadline."""
    weights = [(" " + term.stem + "~", term.weight) for term in terms if term.strong + term.weak]
    scored: list[tuple[float, int]] = []
    rows = connection.execute(
        "SELECT v.rowid, v.title || v.tags || v.files || v.asked_as, v.body FROM vectors v JOIN documents d ON d.rowid = v.rowid "
        "WHERE d.injectable >= ?",
        (int(only_injectable),),
    )
    for at, (rowid, head, body) in enumerate(rows):
        joined((head, body))
        if at % _DEADLINE_STRIDE == 0 and deadline is not None and deadline.remaining() <= 0:
            raise TimeoutError("ranking ran out of time")
        total = 0.0
        for text, weight in weights:
            if text in head:
                total += weight * model.ranking["strong"]
            elif text in body:
                total += weight
        if total:
            scored.append((-total, rowid))
    scored.sort()
    return [rowid for _, rowid in scored[: model.ranking["pool"]]]


class Pattern:
    """The substrings to count in a document for one term: its stem, its exact form, and the stem's character 4-grams."""

    __slots__ = ("form_text", "grams", "stem_text", "term")

    def __init__(self, term: Term) -> None:
        self.term = term
        self.stem_text = " " + term.stem + "~"
        self.form_text = " " + term.form + " "
        # A full name needs no grams, because its parts have theirs.
        grams = len(self.stem_text) - _GRAM + 1 if term.stem.isalnum() else 0
        self.grams = [self.stem_text[at : at + _GRAM] for at in range(grams)]


class Match:
    """A document's score and its parts, sums over the terms of the query; `matched` maps the stems of matching terms to their parts.

    `category` is its label; the score does not depend on it.
    """

    __slots__ = (
        "category",
        "fields",
        "form_score",
        "gram_score",
        "lengths",
        "matched",
        "rowid",
        "score",
        "stem_score",
        "text",
        "title",
    )

    def __init__(self, rowid: int, fields: tuple[str, ...]) -> None:
        self.rowid = rowid
        self.category = ""
        self.fields = fields
        self.text = joined(fields)
        self.lengths = [field.count("~") for field in fields]
        self.score = 0.0
        self.stem_score = 0.0
        self.form_score = 0.0
        self.gram_score = 0.0
        self.title = 0.0
        self.matched: dict[str, float] = {}


def best_matches(
    documents: list[tuple[int, tuple[str, ...]]], terms: list[Term], averages: list[float], model: Model
) -> list[Match]:
    """Return the matches of (row id, fields) pairs, best first; grams are counted for the best `soft_pool`, and the others are left out.

    `averages` are the mean lengths of the fields; the last is that of all fields together.
    """
    patterns = [Pattern(term) for term in terms[: model.ranking["terms"]]]
    matches = [_score_words(Match(rowid, fields), patterns, averages, model) for rowid, fields in documents]
    matches.sort(key=_order)
    best = [_score_grams(match, patterns, averages, model) for match in matches[: model.ranking["soft_pool"]]]
    best.sort(key=_order)
    return best


def _order(match: Match) -> tuple[float, int]:
    return -match.score, match.rowid


def _score_words(match: Match, patterns: list[Pattern], averages: list[float], model: Model) -> Match:
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
        if pattern.stem_text in text:
            part = _saturated(pattern.stem_text, zones, pattern.term.weight, k1)
            match.matched[pattern.term.stem] = part
            match.stem_score += part
            if pattern.form_text in text:
                match.form_score += _saturated(pattern.form_text, zones, pattern.term.weight, k1)
            in_title += match.fields[0].count(pattern.stem_text)
    match.title = in_title / (1 + match.lengths[0])
    return _sum_up(match, model)


def _saturated(text: str, zones: list[tuple[str, float]], weight: float, k1: float) -> float:
    frequency = 0.0
    for field, share in zones:
        frequency += share * field.count(text)
    return weight * (k1 + 1) * frequency / (frequency + k1)


def _score_grams(match: Match, patterns: list[Pattern], averages: list[float], model: Model) -> Match:
    k1, b = model.ranking["k1"], model.ranking["b"]
    norm = k1 * (1 - b + b * sum(match.lengths) / averages[-1])
    text = match.text
    for pattern in patterns:
        saturated = 0.0
        for gram in pattern.grams:
            count = text.count(gram)
            if count:
                saturated += count / (count + norm)
        if saturated:
            match.gram_score += pattern.term.weight * (k1 + 1) * saturated / len(pattern.grams)
    return _sum_up(match, model)


def _sum_up(match: Match, model: Model) -> Match:
    settings = model.ranking
    words = match.stem_score + settings["forms"] * match.form_score + settings["soft"] * match.gram_score
    match.score = words * (1 + settings["title"] * match.title)
    return match
