"""How good a match is in itself: comparable between queries and between stores of any size.

Two questions, each answered by a logistic model over a few signals that lie in the same range for every store: does the prompt concern
what this store is about, and does this memory answer it?  The confidence is `concerns * (base + (1 - base) * answers)`, so a prompt about
something else is never confident, however well a word of it matches, and one that only concerns the store ends near `base`.
"""

from __future__ import annotations

from math import exp, lgamma, log

from ..kernel.text.tokens import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import Model
    from .query import Query
    from .scoring import Match
    from .weighting import Term

_TINY = 1e-9
# The share of a word that the background does not know.
_RAREST = 1e-5
# A log share of documents, about one in 250: a term that fewer hold is rare in a large store, not foreign to it.
_KNOWN_BY_FEW = -5.5
# The length of a document, in means, below which its chance to hold a term counts no less.
_SHORTEST = 0.3


def confidences(
    query: Query,
    terms: list[Term],
    matches: list[Match],
    documents: int,
    mean_length: float,
    model: Model,
    limit: int,
) -> list[tuple[float, dict[str, float]]]:
    """The confidence in [0, 1] of the first `limit` matches, with the signals and both answers behind it."""
    shared = query_signals(query, terms, documents, model)
    found = []
    for match in matches[:limit]:
        signals = {**shared, **match_signals(match, matches, terms)}
        signals["surprise"] = surprise(match, terms, documents, mean_length, model.ranking["prior"])
        concerns = logistic(signals, model.confidence["concerns"])
        answers = logistic(signals, model.confidence["answers"])
        base = model.confidence["base"]
        signals["concerns"], signals["answers"] = concerns, answers
        found.append((concerns * (base + (1 - base) * answers), signals))
    return found


def query_signals(query: Query, terms: list[Term], documents: int, model: Model) -> dict[str, float]:
    """What the prompt and the store say together.

    `known` is the mean log share of documents that hold the prompt's topical terms, `contrast` the mean log of that share over the one in
    everyday technical English, `seen` the share of all its terms that the store knows at all, `asked` the log of their idf mass, `session`
    that of the number of words that point into the running session instead of naming a topic.
    """
    prior = model.ranking["prior"]
    words = model.confidence["session_words"]
    topical = [term for term in terms if _is_topical(term)]
    known = contrast = 0.0
    for term in topical:
        found = term.strong + term.weak
        known += log((found + prior * term.share + 0.1) / (documents + prior)) / len(topical)
        contrast += log((found + 0.1) / (documents + 1) / max(term.share, _RAREST)) / len(topical)
    return {
        "known": max(_KNOWN_BY_FEW, known) if topical else _KNOWN_BY_FEW,
        "contrast": contrast,
        "seen": sum(1 for term in terms if term.strong + term.weak) / max(1, len(terms)),
        "asked": log(1 + sum(map(_part, terms))),
        "session": log(1 + sum(word in words for word in query.words)),
    }


def _is_topical(term: Term) -> bool:
    """Whether the store's knowing a term, or not, says what a prompt is about.

    A single character or a short number is a choice or the place in a list ("do 2 and 3"); a whole name that the store does not know is
    there in parts, too.
    """
    if term.strong + term.weak == 0 and any(map(is_whole, term.words)):
        return False
    return any(not (word.isascii() and len(word) < (3 if word.isdigit() else 2)) for word in term.words)


def match_signals(match: Match, matches: list[Match], terms: list[Term]) -> dict[str, float]:
    """What one match says.

    `matched` is the log of the number of terms it holds, `held` that of their idf mass, `title` the share of its title that the query
    names, `lead` and `margin` how far it is above the second and the sixth, `relative` its score over the first one's, `named` one over the
    number of documents that hold the rarest whole name (`throttle.ts`) of the prompt's that it holds, 0 for none.
    """
    held = match.matched
    second, sixth = (matches[at].score if len(matches) > at else 0.0 for at in (1, 5))
    score = match.score + _TINY
    return {
        "matched": log(1 + len(held)),
        "held": log(1 + sum(_part(term) for term in terms if term.stem in held)),
        "title": match.title,
        "lead": 1 - second / score if match is matches[0] else 0.0,
        "margin": 1 - sixth / score,
        "relative": match.score / (matches[0].score + _TINY),
        "named": max(
            (1 / max(1, term.strong + term.weak) for term in terms if term.stem in held and _is_name(term)),
            default=0.0,
        ),
    }


def surprise(match: Match, terms: list[Term], documents: int, mean_length: float, prior: float) -> float:
    """How little chance alone explains that one document holds these terms, as a log; below 0 where chance does.

    The number of documents and of ways to choose as many of the prompt's terms, times the chance that a document of this length holds
    them all, is what independent terms would give: the number of false alarms of an a-contrario test (A. Desolneux, L. Moisan and
    J.-M. Morel, "Meaningful alignments", IJCV 40(1), 2000).
    """
    length = max(_SHORTEST, sum(match.lengths) / mean_length)
    held = [term for term in terms if term.stem in match.matched]
    chance = log(documents) + _log_choices(len(terms), len(held))
    for term in held:
        part = (term.strong + term.weak + prior * term.share + 0.5) / (documents + prior + 1)
        chance += log(1 - (1 - min(0.999, part)) ** length)
    return -chance


def _log_choices(of: int, chosen: int) -> float:
    return lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1)


def _is_name(term: Term) -> bool:
    """Whether a term is a file, a path, a dotted name or one with underscores, but neither a number nor a word with a hyphen."""
    return any(not word.replace("-", "").isalnum() and any(map(str.isalpha, word)) for word in term.words)


def _part(term: Term) -> float:
    return min(1.0, term.count) * term.idf


def logistic(signals: dict[str, float], weights: dict[str, float]) -> float:
    """The probability in (0, 1) that a logistic model gives for some signals; `weights` names those it takes, and "intercept"."""
    total = weights["intercept"] + sum(
        weight * signals[name] for name, weight in weights.items() if name != "intercept"
    )
    return 1 / (1 + exp(-max(-50.0, min(50.0, total))))
