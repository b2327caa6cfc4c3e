"""Compute the signals of a prompt, a store and a match: numbers in about the same range for every store, inputs of the confidence models.

The trees use no signal that changes with a store's size, such as the lead of a match over the next one: several memories that match equally
well are several right answers, and a match among thirty memories must score the same among three hundred.
"""

from __future__ import annotations

from itertools import islice
from math import lgamma, log, sqrt

from ..kernel.text.words import is_compound_name
from .index_file import joined
from .query import PREFIX, Model, PromptTerms, Term

_TINY = 1e-9
# The background share taken for a word that the background lacks.
_MIN_SHARE = 1e-5
# A log share of documents, about one in 250: a term in fewer of them is rare in a large store, but not unknown to it.
_MIN_LOG_SHARE = -5.5
# In mean lengths: a shorter document counts as this long where the chance that it contains a term is computed.
_MIN_LENGTH = 0.3
_RELATED = 0.5  # weight of a word that shares only its prefix
# Positions in Match.fields: title, tags, body, files, asked_as, the column order of ranking._pool and of weights in ranking.json.
_TITLE, _TAGS, _BODY, _FILES, _ASKED_AS = range(5)
_OPENING = 20  # words, about the first sentence of a body
_FIXING = ("RUNBOOK", "TECH_DEBT")  # categories


class Match:
    """A document's score and its parts, sums over the terms of the query; `matched` maps the stems of matching terms to their parts.

    `category` is its label; the score does not depend on it. `confidence`, `pointer_confidence` and `signals` are those of `Hit`.
    """

    __slots__ = (
        "category", "confidence", "fields", "form_score", "gram_score", "lengths", "matched", "pointer_confidence", "rowid", "score",
        "signals", "stem_score", "text", "title",
    )  # fmt: skip

    def __init__(self, rowid: int, fields: tuple[str, ...]) -> None:
        self.rowid = rowid
        self.category = ""
        self.fields = fields
        self.text = joined(fields)
        self.lengths = [field.count("~") for field in fields]
        self.score = self.stem_score = self.form_score = self.gram_score = self.title = 0.0
        self.confidence = self.pointer_confidence = 0.0
        self.matched: dict[str, float] = {}
        self.signals: dict[str, float] = {}


def prompt_signals(prompt: PromptTerms, documents: int, model: Model) -> dict[str, float]:
    """Return the signals of a prompt in a store.

    known: mean log share of the documents that contain each topical term
    contrast: mean log of that share over the term's share in everyday technical English
    seen: share of the prompt's terms that the store contains
    asked: log of the terms' total mass
    session: log of the number of words that point into the running session instead of naming a topic
    words: log of the number of words
    Each intent of `config/recall/intents.json` is a signal, too: 1 if the prompt has it, else 0.
    """
    prior = model.ranking["prior"]
    pointing = model.confidence["session_words"]
    topical = [term for term in prompt.terms if _is_topical(term)]
    known = contrast = 0.0
    for term in topical:
        matching = term.strong + term.weak
        known += log((matching + prior * term.share + 0.1) / (documents + prior)) / len(topical)
        contrast += log((matching + 0.1) / (documents + 1) / max(term.share, _MIN_SHARE)) / len(topical)
    return {
        "known": max(_MIN_LOG_SHARE, known) if topical else _MIN_LOG_SHARE,
        "contrast": contrast,
        "seen": sum(1 for term in prompt.terms if term.strong + term.weak) / max(1, len(prompt.terms)),
        "asked": log(1 + sum(term.mass() for term in prompt.terms)),
        "session": log(1 + sum(word in pointing for word in prompt.words)),
        "words": log(1 + len(prompt.words)),
        **{name: float(name in prompt.intents) for name in model.intents},
    }


def _is_topical(term: Term) -> bool:
    """Return whether a term tells what a prompt is about.

    A single character or a short number does not: it is a choice or a place in a list ("do 2 and 3"). A full name that the store lacks
    does not either, because its parts are terms, too.
    """
    if term.strong + term.weak == 0 and any(map(is_compound_name, term.words)):
        return False
    return any(not (word.isascii() and len(word) < (3 if word.isdigit() else 2)) for word in term.words)


def stems_to_compare(matches: list[Match], prompt: PromptTerms) -> set[str]:
    """Return the stems whose idf `match_signals` needs: those of titles, openings and phrases that share a word with the prompt."""
    wanted: set[str] = set()
    for match in matches:
        for text in (match.fields[_TITLE], _opening(match), *match.fields[_ASKED_AS].split("\n")):
            stems = _stems(text)
            if not stems.isdisjoint(prompt.masses) or not prompt.prefixes.isdisjoint(
                stem[:PREFIX] for stem in stems
            ):
                wanted |= stems
    return wanted.difference(prompt.masses)


def _stems(text: str) -> set[str]:
    """Return the distinct stems of an analyzed text, whose words have the form `stem~ending`."""
    return {token.partition("~")[0] for token in text.split()}


def _opening(match: Match) -> str:
    """Return the first words of a body that the title lacks: a body often repeats its title, which is no second sign."""
    title = _stems(match.fields[_TITLE])
    words = (token for token in match.fields[_BODY].split() if token.partition("~")[0] not in title)
    return " ".join(islice(words, _OPENING))


def match_signals(match: Match, matches: list[Match], prompt: PromptTerms) -> dict[str, float]:
    """Return the signals of one match among all matches, which are sorted best first. `mass` is a term's weight: its idf, counted once.

    matched, held: log of the number of the prompt's terms that the document contains, and of their mass
    covered: their share of the prompt's mass
    strong, strong_held: share and log of the mass outside the body; tags: log of the mass in the tags
    best, missed: the largest mass among them, and the largest missing one over the prompt's largest
    pairs: log of the number of adjacent pairs in the prompt that are adjacent in the document
    fields, repeated: the number of fields with a term, and log of the number of terms in several fields
    in_files: 1 if a term is in the files, else 0
    title: number of terms in the title, over 1 plus its number of words
    named: 1 over the number of documents with the rarest full name (`throttle.ts`) that prompt and document share
    lead, margin: how far the score is above the second and the sixth one, as a share of it; relative: the score over the first one's
    ratio, root: the score over the prompt's mass, and over its square root
    soft: the score of the character 4-grams over the prompt's mass
    forms: the score of the exact forms over that of the stems
    length: log of the number of words in all fields
    fixes: 1 for a runbook or technical debt, which say what to do when something goes wrong, else 0
    """
    second, sixth = (matches[at].score if len(matches) > at else 0.0 for at in (1, 5))
    score = match.score + _TINY
    masses, matched = prompt.masses, match.matched
    mass = sum(masses[stem] for stem in matched)
    by_field = [{stem for stem in matched if " %s~" % stem in field} for field in match.fields]
    strong = by_field[_TITLE] | by_field[_TAGS] | by_field[_FILES] | by_field[_ASKED_AS]
    strong_mass = sum(masses[stem] for stem in strong)
    terms = (term for term in prompt.terms if term.stem in matched and _is_name(term))
    names = [1 / max(1, term.strong + term.weak) for term in terms]
    missed = max((value for stem, value in masses.items() if stem not in matched), default=0.0)
    return {
        "matched": log(1 + len(matched)),
        "held": log(1 + mass),
        "covered": mass / prompt.mass,
        "strong": strong_mass / prompt.mass,
        "strong_held": log(1 + strong_mass),
        "best": max((masses[stem] for stem in matched), default=0.0),
        "missed": missed / prompt.max_mass,
        "pairs": log(1 + sum(_are_neighbors(pair, match.fields) for pair in prompt.pairs)),
        "fields": float(sum(map(bool, by_field))),
        "tags": log(1 + sum(masses[stem] for stem in by_field[_TAGS])),
        "in_files": float(bool(by_field[_FILES])),
        "repeated": log(1 + sum(sum(stem in field for field in by_field) > 1 for stem in matched)),
        "title": match.title,
        "named": max(names, default=0.0),
        "lead": 1 - second / score if match is matches[0] else 0.0,
        "margin": 1 - sixth / score,
        "relative": match.score / (matches[0].score + _TINY),
        "ratio": match.score / prompt.mass,
        "root": match.score / sqrt(prompt.mass),
        "soft": match.gram_score / prompt.mass,
        "forms": match.form_score / (match.stem_score + _TINY),
        "length": log(1 + sum(match.lengths)),
        "fixes": float(match.category in _FIXING),
        **_title_signals(match.fields[_TITLE], prompt),
        **_opening_signals(_opening(match), prompt),
        **_phrase_signals(match.fields[_ASKED_AS], prompt),
    }


def _is_name(term: Term) -> bool:
    """Return whether a term is a file, a path, a dotted name or one with underscores, but neither a number nor a word with a hyphen."""
    return any(not word.replace("-", "").isalnum() and any(map(str.isalpha, word)) for word in term.words)


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


def _title_signals(title: str, prompt: PromptTerms) -> dict[str, float]:
    share, mass = _coverage(title, prompt)
    named = [
        stem in prompt.masses for stem in dict.fromkeys(token.partition("~")[0] for token in title.split())
    ]
    return {
        "title_covered": share,
        "title_held": log(1 + mass),
        "title_head": 1 / (1 + named.index(True)) if True in named else 0.0,
    }


def _opening_signals(opening: str, prompt: PromptTerms) -> dict[str, float]:
    share, mass = _coverage(opening, prompt)
    return {"has_opening": float(bool(opening)), "opening_covered": share, "opening_held": log(1 + mass)}


def _phrase_signals(asked_as: str, prompt: PromptTerms) -> dict[str, float]:
    best = best_share = best_mass = 0.0
    covered = 0
    for phrase in asked_as.split("\n"):
        share, mass = _coverage(phrase, prompt)
        if mass:
            covered += 1
            best, best_share, best_mass = max((best, best_share, best_mass), (share * mass, share, mass))
    return {
        "phrase": log(1 + best),
        "phrase_covered": best_share,
        "phrase_share": best_mass / prompt.mass,
        "phrases": log(1 + covered),
        "unasked": float(not asked_as),
    }


def _coverage(text: str, prompt: PromptTerms) -> tuple[float, float]:
    """Return the share of a text's mass that the prompt covers, and that mass; a word with only a common prefix counts half."""
    total = shared = 0.0
    for stem in _stems(text):
        mass = prompt.masses.get(stem)
        if mass is None:
            mass = prompt.idfs.get(stem, 0.0)
            if stem[:PREFIX] in prompt.prefixes:
                shared += _RELATED * mass
        else:
            shared += mass
        total += mass
    return shared / (total + _TINY), shared


def log_improbability(
    match: Match, terms: list[Term], documents: int, mean_length: float, prior: float
) -> float:
    """Return how unlikely it is that the document contains these terms by chance, as a log.

    The chance for independent terms is the number of ways to choose that many of the prompt's terms, times the chance that a document of
    this length contains them all. Minus the log of the number of documents, this is the surprise that any document does: the number of
    false alarms of an a-contrario test (A. Desolneux, L. Moisan and J.-M. Morel, "Meaningful alignments", IJCV 40(1), 2000).
    """
    length = max(_MIN_LENGTH, sum(match.lengths) / mean_length)
    matched = [term for term in terms if term.stem in match.matched]
    log_chance = _log_choices(len(terms), len(matched))
    for term in matched:
        share = (term.strong + term.weak + prior * term.share + 0.5) / (documents + prior + 1)
        log_chance += log(1 - (1 - min(0.999, share)) ** length)
    return -log_chance


def _log_choices(of: int, chosen: int) -> float:
    return lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1)
