"""Compute the confidence of a match, comparable between prompts and between stores of any size.

Four small models over the signals of a prompt, a store and a match, numbers in about the same range for every store:

- `answers`, trees: is this memory relevant to the prompt?
- `wants`, trees over the first matches: does the prompt want anything stored here?
- `concerns`, logistic: is the prompt about what this store is about?
- `stands_out`, logistic: is this memory far ahead of the others? It covers long questions and long texts, which the trees rarely saw.

`confidence` is the larger of two log-odds: min(`answers`, `wants` - wants_margin) and min(`stands_out` scaled by `concerns`, `answers` +
ahead_ease). In the first, a memory with phrases has phrases_ease in addition to `answers`, and any other has plain_margin_ease in addition
to `wants`; in the second, one with a file that the prompt names has named_ease in addition. The result is capped at `concerns` +
concerns_ease, and below even odds it is scaled by `concerns`. `pointer_confidence` is max(`confidence`, min(`wants`, `answers` +
pointer_ease)); a memory without phrases has plain_ease in addition.

A match on another subject is never injected, and not pointed to either if other memories have the subject's word, or if the prompt is
hardly about this store.

The trees use no signal that changes with a store's size, such as the lead of a match over the next one: several memories that match equally
well are several right answers, and a match among thirty memories must score the same among three hundred.
"""

from __future__ import annotations

from itertools import islice
from math import comb, exp, inf, log, sqrt

from ..kernel.text.words import is_compound_name, stems_of_forms
from .query import PREFIX, TINY, Corpus, Match, Model, PromptTerms, Term

_MAX_LOG_ODDS = 50.0
_EVEN = 0.5
_ONE_TERM = log(1 + 1)  # the signal `matched`
# The number of matches from which `wants` is computed, and the signals whose maximum over them it takes.
_WANTS_MATCHES = 5
_WANTS_MAXIMA = ("phrase", "covered", "strong", "title_covered", "soft", "pairs", "concerns")
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


def rate(prompt: PromptTerms, matches: list[Match], corpus: Corpus) -> None:
    """Set the signals and both confidences of each match; there must be at least one.

    Matches too far down to be examined get no signals, and the lowest confidences of those above them.
    """
    model, shared = corpus.model, prompt_signals(prompt, corpus)
    examined = matches[: model.confidence["looked_at"]]
    for match in examined:
        signals = match.signals = {**shared, **match_signals(match, matches, prompt)}
        signals.update(_subject_signals(match, prompt, model))
        signals["unlikely"] = log_improbability(match, prompt.terms, corpus)
        signals["surprise"] = signals["unlikely"] - log(corpus.documents)
        signals["concerns"] = logistic(signals, model.confidence["concerns"])
        signals["stands_out"] = logistic(signals, model.confidence["stands_out"])
        signals["answers"] = model.answers.log_odds(signals)
    wants = model.wants.log_odds(wants_signals(shared, [match.signals for match in examined]))
    for match in examined:
        match.signals["wants"] = wants
        match.confidence, match.pointer_confidence = combine(match.signals, model)
    lowest = min(match.confidence for match in examined), min(match.pointer_confidence for match in examined)
    for match in matches[len(examined) :]:
        match.confidence, match.pointer_confidence = lowest


def wants_signals(shared: dict[str, float], examined: list[dict[str, float]]) -> dict[str, float]:
    """Return the inputs of `wants`: the prompt's signals, and a summary of those of its first matches."""
    first = examined[:_WANTS_MATCHES]
    signals = dict(shared)
    for name in _WANTS_MAXIMA:
        signals["most_" + name] = max((match[name] for match in first), default=0.0)
    signals["least_missed"] = min((match["missed"] for match in first), default=1.0)
    chances = sorted((sigmoid(match["answers"]) for match in first), reverse=True) + [0.0] * 3
    signals["first"], signals["second"], signals["third"] = chances[:3]
    signals["together"] = sum(chances)
    return signals


def combine(signals: dict[str, float], model: Model) -> tuple[float, float]:
    """Return confidence and pointer confidence from the models' outputs: `answers` and `wants` as log-odds, the others as probabilities.

    The pointer confidence is at least the confidence.
    """
    settings = model.confidence
    answers, wants, concerns = signals["answers"], signals["wants"], signals["concerns"]
    base = settings["base"]
    lead_log_odds = _log_odds(concerns * (base + (1 - base) * signals["stands_out"]))
    if _is_thin_match(signals, settings["thin"]):
        lead_log_odds = -inf
    eased = answers + settings["phrases_ease"] * (1 - signals["unasked"])
    margin = settings["wants_margin"] - settings["plain_margin_ease"] * signals["unasked"]
    by_relevance = -inf if _is_half_a_title(signals, model) else min(eased, wants - margin)
    named_ease = settings["named_ease"] * signals["named"] * signals["in_files"]
    by_lead = min(lead_log_odds, answers + settings["ahead_ease"] + named_ease)
    chance = sigmoid(min(max(by_relevance, by_lead), _log_odds(concerns) + settings["concerns_ease"]))
    confidence = _scaled(chance, concerns, base)
    ease = settings["pointer_ease"] + settings["plain_ease"] * signals["unasked"]
    pointer = sigmoid(min(wants, answers + ease))
    if _is_other_subject(signals, model):
        confidence = min(confidence, sigmoid(settings["subject_cap"]))
        if signals["lacks_known"] > signals["best"] or concerns < settings["subject_concerns"]:
            pointer = min(pointer, confidence)
    return confidence, max(confidence, pointer)


def _subject_signals(match: Match, prompt: PromptTerms, model: Model) -> dict[str, float]:
    """Return what a match lacks of the words that may be the subject of a short prompt; all 0 for a long one, or a follow-up.

    shared: the number of them that it has
    lacks_subject: the largest mass among them over the prompt's largest; lacks_known: the largest among those that other memories have
    """
    if len(prompt.words) > model.confidence["subject_words"] or prompt.follows:
        return {"shared": 0.0, "lacks_subject": 0.0, "lacks_known": 0.0}
    qualifiers = model.confidence["qualifiers"]
    words = [term for term in prompt.terms if qualifiers.isdisjoint(term.words)]
    unmatched = [term for term in words if term.stem not in match.matched]
    related = [one for one in unmatched if len(one.stem) >= PREFIX and " " + one.stem[:PREFIX] in match.text]
    missing = [term for term in unmatched if term not in related]
    return {
        "shared": float(sum(term.stem in match.matched for term in words)),
        "lacks_subject": max((term.mass() for term in missing), default=0.0) / prompt.max_mass,
        "lacks_known": max((term.mass() for term in missing if term.strong), default=0.0),
    }


def _is_other_subject(signals: dict[str, float], model: Model) -> bool:
    """Return whether a match shares the frame of a title, as in "fix the ... bug", but not the word that the prompt is about."""
    settings = model.confidence
    if signals["named"] or signals["phrase_covered"] >= _EVEN or signals["shared"] >= settings["frame_words"]:
        return False
    subject: float = settings["subject"]
    frame: float = settings["frame_asked"] if signals["asks_what_holds"] else settings["frame"]
    return signals["lacks_subject"] >= subject and signals["title_covered"] >= frame


def _is_thin_match(signals: dict[str, float], terms: int) -> bool:
    """Return whether a match has at most this many terms, without the word that the prompt is about."""
    return signals["missed"] >= 1 - TINY and not signals["named"] and signals["matched"] <= log(1 + terms)


def _is_half_a_title(signals: dict[str, float], model: Model) -> bool:
    """Return whether a match is too little of a title whose memory says more: one word, or a thin match if the prompt asks nothing."""
    if signals["opening_held"] or signals["phrase"] or not signals["has_opening"]:
        return False
    is_question = signals["question"] or signals["asks_what_holds"]
    is_word = signals["matched"] <= _ONE_TERM and not signals["named"]
    return is_word or (not is_question and _is_thin_match(signals, model.confidence["half_a_title"]))


def _scaled(chance: float, concerns: float, base: float) -> float:
    """Return a probability unchanged from even odds up; below, scaled down by `concerns`, continuous at even odds."""
    if chance >= _EVEN:
        return chance
    return _EVEN * concerns * (base + (1 - base) * chance) / (base + (1 - base) * _EVEN)


def logistic(signals: dict[str, float], weights: dict[str, float]) -> float:
    """Return the probability in (0, 1) from a logistic model; `weights` has the weight of each signal it takes, and "intercept"."""
    weighed = sum(weight * signals[name] for name, weight in weights.items() if name != "intercept")
    return sigmoid(weights["intercept"] + weighed)


def sigmoid(log_odds: float) -> float:
    """Return the probability in (0, 1) for log-odds, clamped to ±50 so that exp cannot overflow."""
    return 1 / (1 + exp(-max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, log_odds))))


def _log_odds(chance: float) -> float:
    return log(max(chance, TINY) / max(1 - chance, TINY))


def prompt_signals(prompt: PromptTerms, corpus: Corpus) -> dict[str, float]:
    """Return the signals of a prompt in a store.

    known: mean log share of the documents that contain each topical term
    contrast: mean log of that share over the term's share in everyday technical English
    seen: share of the prompt's terms that the store contains
    asked: log of the terms' total mass
    session: log of the number of words that point into the running session instead of naming a topic
    words: log of the number of words
    Each intent of `config/recall/intents.json` is a signal, too: 1 if the prompt has it, else 0.
    """
    documents, model = corpus.documents, corpus.model
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
            stems = stems_of_forms(text)
            prefixes = (stem[:PREFIX] for stem in stems)
            if not stems.isdisjoint(prompt.masses) or not prompt.prefixes.isdisjoint(prefixes):
                wanted |= stems
    return wanted.difference(prompt.masses)


def _opening(match: Match) -> str:
    """Return the first words of a body that the title lacks: a body often repeats its title, which is no second sign."""
    title = stems_of_forms(match.fields[_TITLE])
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
    score = match.score + TINY
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
        "relative": match.score / (matches[0].score + TINY),
        "ratio": match.score / prompt.mass,
        "root": match.score / sqrt(prompt.mass),
        "soft": match.gram_score / prompt.mass,
        "forms": match.form_score / (match.stem_score + TINY),
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
    stems = dict.fromkeys(token.partition("~")[0] for token in title.split())
    named = [stem in prompt.masses for stem in stems]
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
    for stem in stems_of_forms(text):
        mass = prompt.masses.get(stem)
        if mass is None:
            mass = prompt.idfs.get(stem, 0.0)
            if stem[:PREFIX] in prompt.prefixes:
                shared += _RELATED * mass
        else:
            shared += mass
        total += mass
    return shared / (total + TINY), shared


def log_improbability(match: Match, terms: list[Term], corpus: Corpus) -> float:
    """Return how unlikely it is that the document contains these terms by chance, as a log.

    The chance for independent terms is the number of ways to choose that many of the prompt's terms, times the chance that a document of
    this length contains them all. Minus the log of the number of documents, this is the surprise that any document does: the number of
    false alarms of an a-contrario test (A. Desolneux, L. Moisan and J.-M. Morel, "Meaningful alignments", IJCV 40(1), 2000).
    """
    prior = corpus.model.ranking["prior"]
    length = max(_MIN_LENGTH, sum(match.lengths) / corpus.averages[-1])
    matched = [term for term in terms if term.stem in match.matched]
    log_chance = log(comb(len(terms), len(matched)))
    for term in matched:
        share = (term.strong + term.weak + prior * term.share + 0.5) / (corpus.documents + prior + 1)
        log_chance += log(1 - (1 - min(0.999, share)) ** length)
    return -log_chance
