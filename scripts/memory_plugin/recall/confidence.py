"""How good a match is in itself: comparable between queries and between stores of any size.

Two questions, each answered by a logistic model over a few signals that lie in the same range for every store: does the prompt concern
what this store is about, and does this memory answer it?  The confidence is `concerns * (base + (1 - base) * answers)`, so a prompt about
something else is never confident, however well a word of it matches, and one that only concerns the store ends near `base`.
"""

from __future__ import annotations

from math import exp, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import Model
    from .query import Query
    from .scoring import Match
    from .weighting import Term

_TINY = 1e-9
_SPREAD_OVER = 15
# The share of a word that the background does not know.
_RAREST = 1e-5


def confidences(
    query: Query, terms: list[Term], matches: list[Match], documents: int, model: Model, limit: int
) -> list[tuple[float, dict[str, float]]]:
    """The confidence in [0, 1] of the first `limit` matches, with the signals and both answers behind it."""
    shared = query_signals(query, terms, matches, documents, model)
    pairs = _pairs(query, terms)
    found = []
    for match in matches[:limit]:
        signals = {**shared, **match_signals(match, matches, terms, pairs)}
        concerns = logistic(signals, model.confidence["concerns"])
        answers = logistic(signals, model.confidence["answers"])
        base = model.confidence["base"]
        signals["concerns"], signals["answers"] = concerns, answers
        found.append((concerns * (base + (1 - base) * answers), signals))
    return found


def query_signals(
    query: Query, terms: list[Term], matches: list[Match], documents: int, model: Model
) -> dict[str, float]:
    """What the prompt and the list of matches say together.

    `known` is the mean log share of documents that hold the prompt's terms, `contrast` the mean log of that share over the one in everyday
    technical English, `seen` the share of its terms that the store knows at all, `asked` the log of its idf mass, `session` that of the
    number of words that point into the running session instead of naming a topic, `spread` the standard deviation of the first scores
    over the root of the query's weight (normalised query commitment: A. Shtok et al., TOIS 30(2), 2012).
    """
    prior = model.ranking["prior"]
    words = model.confidence["session_words"]
    count = max(1, len(terms))
    scores = [match.score for match in matches[:_SPREAD_OVER]] or [0.0]
    mean = sum(scores) / len(scores)
    deviation = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    known = contrast = 0.0
    for term in terms:
        found = term.strong + term.weak
        known += log((found + prior * term.share + 0.1) / (documents + prior))
        contrast += log((found + 0.1) / (documents + 1) / max(term.share, _RAREST))
    return {
        "known": known / count,
        "contrast": contrast / count,
        "seen": sum(1 for term in terms if term.strong + term.weak) / count,
        "asked": log(1 + sum(map(_part, terms))),
        "session": log(1 + sum(word in words for word in query.words)),
        "spread": deviation / (sum(term.weight for term in terms) ** 0.5 + _TINY),
    }


def match_signals(
    match: Match, matches: list[Match], terms: list[Term], pairs: list[tuple[Term, Term]]
) -> dict[str, float]:
    """What one match says.

    `matched` is the log of the number of terms it holds, `held` that of their idf mass, `phrase` the share of the query's idf mass in
    neighbours that are neighbours there, too, `title` the share of its title that the query names, `lead` and `margin` how far it is
    above the second and the sixth, `relative` its score over the first one's.
    """
    mass = sum(map(_part, terms)) + _TINY
    held = match.matched
    together = sum(
        _part(one) + _part(after)
        for one, after in pairs
        if one.stem in held and after.stem in held and _adjacent(match.text, one.stem, after.stem)
    )
    second, sixth = (matches[at].score if len(matches) > at else 0.0 for at in (1, 5))
    score = match.score + _TINY
    return {
        "matched": log(1 + len(held)),
        "held": log(1 + sum(_part(term) for term in terms if term.stem in held)),
        "phrase": together / (2 * mass),
        "title": match.title,
        "lead": 1 - second / score if match is matches[0] else 0.0,
        "margin": 1 - sixth / score,
        "relative": match.score / (matches[0].score + _TINY),
    }


def _part(term: Term) -> float:
    return min(1.0, term.count) * term.idf


def _pairs(query: Query, terms: list[Term]) -> list[tuple[Term, Term]]:
    """The distinct pairs of terms that follow each other in the prompt, stop words apart."""
    by_word = {word: term for term in terms for word in term.words}
    found = [by_word[word] for word in query.words if word in by_word]
    return list(
        {
            (one.stem, after.stem): (one, after) for one, after in zip(found, found[1:]) if one is not after
        }.values()
    )


def _adjacent(text: str, one: str, after: str) -> bool:
    """True when a form of `one` stands right before a form of `after`."""
    first, second = " %s~" % one, "  %s~" % after
    at = text.find(first)
    while at >= 0:
        end = text.find(" ", at + 1)
        if text.startswith(second, end):
            return True
        at = text.find(first, end)
    return False


def logistic(signals: dict[str, float], weights: dict[str, float]) -> float:
    """The probability in (0, 1) that a logistic model gives for some signals; `weights` names those it takes, and "intercept"."""
    total = weights["intercept"] + sum(
        weight * signals[name] for name, weight in weights.items() if name != "intercept"
    )
    return 1 / (1 + exp(-max(-50.0, min(50.0, total))))
