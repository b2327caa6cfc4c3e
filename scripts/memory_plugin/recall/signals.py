"""Compute the signals of a prompt, a store and a match: numbers in about the same range for every store, inputs of the confidence models.

The trees use no signal that changes with a store's size, such as the lead of a match over the next one: several memories that match equally
well are several right answers, and a match among thirty memories must score the same among three hundred.
"""

from __future__ import annotations

from math import lgamma, log, sqrt

from ..kernel.text.tokens import is_whole
from .query import intents_in, padded_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .query import Query, Term
    from .ranking import Model
    from .scoring import Match

_TINY = 1e-9
# The share of a word that the background does not know.
_RAREST = 1e-5
# A log share of documents, about one in 250: a term that fewer hold is rare in a large store, not unknown to it.
_KNOWN_BY_FEW = -5.5
# The length of a document, in means, below which its chance to hold a term counts no less.
_SHORTEST = 0.3
# Words that begin alike this far count as related where no stemmer knows their language.
_ALIKE = 5
_RELATED = 0.5
_TITLE, _TAGS, _BODY, _FILES, _ASKED_AS = range(5)


def prompt_signals(query: Query, terms: list[Term], documents: int, model: Model) -> dict[str, float]:
    """Return the signals of a prompt in a store.

    `known` is the mean log share of documents that hold the prompt's topical terms, `contrast` the mean log of that share over the one in
    everyday technical English, `seen` the share of all its terms that the store knows at all, `asked` the log of their idf mass, `session`
    that of the number of words that point into the running session instead of naming a topic, `words` that of all. The others are 1 for a
    prompt of that form (`config/recall/intents.json`), else 0.
    """
    prior = model.ranking["prior"]
    pointing = model.confidence["session_words"]
    topical = [term for term in terms if _is_topical(term)]
    known = contrast = 0.0
    for term in topical:
        found = term.strong + term.weak
        known += log((found + prior * term.share + 0.1) / (documents + prior)) / len(topical)
        contrast += log((found + 0.1) / (documents + 1) / max(term.share, _RAREST)) / len(topical)
    intents = intents_in(query.text, model.passages)
    return {
        "known": max(_KNOWN_BY_FEW, known) if topical else _KNOWN_BY_FEW,
        "contrast": contrast,
        "seen": sum(1 for term in terms if term.strong + term.weak) / max(1, len(terms)),
        "asked": log(1 + sum(map(mass, terms))),
        "session": log(1 + sum(word in pointing for word in query.words)),
        "words": log(1 + len(query.words)),
        **{name: float(name in intents) for name in model.intents},
    }


def _is_topical(term: Term) -> bool:
    """Return whether a term tells what a prompt is about.

    A single character or a short number is a choice or the place in a list ("do 2 and 3"); a whole name that the store does not know is
    there in parts, too.
    """
    if term.strong + term.weak == 0 and any(map(is_whole, term.words)):
        return False
    return any(not (word.isascii() and len(word) < (3 if word.isdigit() else 2)) for word in term.words)


class Held:
    """The terms of a prompt, their masses and what other words of the documents weigh, looked up once for all matches."""

    __slots__ = ("alike", "asked", "heaviest", "masses", "pairs", "plain", "rarities", "terms")

    def __init__(self, query: Query, terms: list[Term], rarities: dict[str, float]) -> None:
        self.terms = terms
        self.masses = {term.stem: mass(term) for term in terms}
        self.asked = sum(self.masses.values()) + _TINY
        self.heaviest = max(self.masses.values(), default=0.0) + _TINY
        self.rarities = rarities
        self.alike = {stem[:_ALIKE] for stem in self.masses if len(stem) >= _ALIKE}
        self.plain = padded_words(query.text)
        by_word = {word: term.stem for term in terms for word in term.words}
        order = [by_word[word] for word in query.words if word in by_word]
        self.pairs = {pair for pair in zip(order, order[1:]) if pair[0] != pair[1]}


def compared(matches: list[Match], terms: list[Term]) -> set[str]:
    """Return the stems whose rarity `match_signals` needs: those of titles and of phrases that share a word with the prompt."""
    own = {term.stem for term in terms}
    alike = {stem[:_ALIKE] for stem in own if len(stem) >= _ALIKE}
    wanted: set[str] = set()
    for match in matches:
        for text in (match.fields[_TITLE], *match.fields[_ASKED_AS].split("\n")):
            stems = {token.partition("~")[0] for token in text.split()}
            if not own.isdisjoint(stems) or not alike.isdisjoint([stem[:_ALIKE] for stem in stems]):
                wanted |= stems
    return wanted - own


def match_signals(match: Match, matches: list[Match], held: Held) -> dict[str, float]:
    """Return the signals of one match among all matches, which are sorted best first.

    `matched` is the log of the number of terms it holds, `held` that of their idf mass, `covered` its share of the prompt's whole mass,
    `strong` the same outside the body, `missed` the mass of the heaviest term it lacks over that of the heaviest one, `pairs` the log of
    the number of neighbors in the prompt that are neighbors in it, `fields` the number of fields that hold a term, `title` the share of its
    title that the prompt names, `named` one over the number of documents that hold the rarest whole name (`throttle.ts`) of the prompt's
    that it holds, `relative` its score over the first one's,
    `ratio` and `root` over the prompt's mass and over the root of it, `lead` and `margin` how far it is above the second and the sixth.
    """
    second, sixth = (matches[at].score if len(matches) > at else 0.0 for at in (1, 5))
    score = match.score + _TINY
    found = match.matched
    total = sum(held.masses[stem] for stem in found)
    fields = [{stem for stem in found if " %s~" % stem in field} for field in match.fields]
    strong = fields[_TITLE] | fields[_TAGS] | fields[_FILES] | fields[_ASKED_AS]
    names = [
        1 / max(1, term.strong + term.weak) for term in held.terms if term.stem in found and _is_name(term)
    ]
    missed = max((value for stem, value in held.masses.items() if stem not in found), default=0.0)
    return {
        "matched": log(1 + len(found)),
        "held": log(1 + total),
        "covered": total / held.asked,
        "strong": sum(held.masses[stem] for stem in strong) / held.asked,
        "strong_held": log(1 + sum(held.masses[stem] for stem in strong)),
        "best": max((held.masses[stem] for stem in found), default=0.0),
        "missed": missed / held.heaviest,
        "pairs": log(1 + sum(_are_neighbors(pair, match.fields) for pair in held.pairs)),
        "fields": float(sum(map(bool, fields))),
        "tags": log(1 + sum(held.masses[stem] for stem in fields[_TAGS])),
        "in_files": float(bool(fields[_FILES])),
        "repeated": log(1 + sum(sum(stem in field for field in fields) > 1 for stem in found)),
        "title": match.title,
        "named": max(names, default=0.0),
        "lead": 1 - second / score if match is matches[0] else 0.0,
        "margin": 1 - sixth / score,
        "relative": match.score / (matches[0].score + _TINY),
        "ratio": match.score / held.asked,
        "root": match.score / sqrt(held.asked),
        "soft": match.soft / held.asked,
        "forms": match.forms / (match.exact + _TINY),
        "length": log(1 + sum(match.lengths)),
        **_title_signals(match.fields[_TITLE], held),
        **_phrase_signals(match.fields[_ASKED_AS], held),
    }


def _title_signals(title: str, held: Held) -> dict[str, float]:
    covered, total = _coverage(title, held)
    return {"title_covered": covered, "title_held": log(1 + total)}


def _phrase_signals(asked_as: str, held: Held) -> dict[str, float]:
    best = (0.0, 0.0, 0.0)
    number = 0
    for phrase in asked_as.split("\n"):
        covered, total = _coverage(phrase, held)
        if total:
            number += 1
            best = max(best, (covered * total, covered, total))
    return {
        "phrase": log(1 + best[0]),
        "phrase_covered": best[1],
        "phrase_share": best[2] / held.asked,
        "phrases": log(1 + number),
        "unasked": float(not asked_as),
    }


def _coverage(text: str, held: Held) -> tuple[float, float]:
    """Return the share of a text's idf mass covered by the prompt, and that mass; a word with only a common prefix counts half."""
    total = shared = 0.0
    for stem in {token.partition("~")[0] for token in text.split()}:
        value = held.masses.get(stem)
        if value is None:
            value = held.rarities.get(stem, 0.0)
            if stem[:_ALIKE] in held.alike:
                shared += _RELATED * value
        else:
            shared += value
        total += value
    return shared / (total + _TINY), shared


def _are_neighbors(pair: tuple[str, str], fields: tuple[str, ...]) -> bool:
    first, second = " %s~" % pair[0], " %s~" % pair[1]
    for field in fields:
        if first in field:
            at = field.find(second)
            while at > 0:
                if field.startswith(first, field.rfind(" ", 0, at - 1)):
                    return True
                at = field.find(second, at + 1)
    return False


def log_improbability(
    match: Match, terms: list[Term], documents: int, mean_length: float, prior: float
) -> float:
    """Return how unlikely it is that the document contains these terms by chance, as a log.

    The number of ways to choose as many of the prompt's terms, times the chance that a document of this length holds them all, is what
    independent terms would give. Less the log of the number of documents it is the surprise that any of them does: the number of false
    alarms of an a-contrario test (A. Desolneux, L. Moisan and J.-M. Morel, "Meaningful alignments", IJCV 40(1), 2000).
    """
    length = max(_SHORTEST, sum(match.lengths) / mean_length)
    held = [term for term in terms if term.stem in match.matched]
    chance = _log_choices(len(terms), len(held))
    for term in held:
        part = (term.strong + term.weak + prior * term.share + 0.5) / (documents + prior + 1)
        chance += log(1 - (1 - min(0.999, part)) ** length)
    return -chance


def _log_choices(of: int, chosen: int) -> float:
    return lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1)


def _is_name(term: Term) -> bool:
    """Whether a term is a file, a path, a dotted name or one with underscores, but neither a number nor a word with a hyphen."""
    return any(not word.replace("-", "").isalnum() and any(map(str.isalpha, word)) for word in term.words)


def mass(term: Term) -> float:
    """Return the weight of a term of a prompt, counted once."""
    return min(1.0, term.count) * term.idf
