"""The ranking model of an index, and the analysis of a prompt: its words and those of the previous turn, intents, and weighted terms.

The model is trees, weights and words from `config/recall/`, stored in the index file so that a prompt reads no configuration.

An intent is recognized by passages that people type in several languages, listed in `config/recall/intents.json`.
"""

from __future__ import annotations

from math import log

from ..kernel.fastjson import loads
from ..kernel.text.words import fold, form, language, tokenize
from .index_file import IndexUnavailable, joined, meta_get, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.sqlite import Connection

# Of a longer prompt only the head and the tail are used, where people say what they want; the middle is mostly pasted output.
MAX_CHARACTERS = 6000
# Older SQLite takes at most 999 values in one statement.
_MAX_VALUES = 500
# A shorter word has too many neighbors that are words themselves.
_MIN_CORRECTED = 5
QUESTION = "question"
_START = "^"
_GAP = "*"
# Characters that a gap in a passage spans at most: "which * do we" spans a name, not two sentences.
_MAX_GAP = 40
_QUESTION_MARKS = "?\uff1f"
# Quotation marks, dashes, the signs of Spanish, and those of scripts without spaces; no word contains them.
_SIGNS = "\u00bf\u00a1\u00ab\u00bb\u201e\u201c\u201d\u2013\u2014\u2026\u3002\u3001\uff0c\uff01\uff1f\uff1a\uff1b\u300c\u300d\uff08\uff09"
_SPACES = {code: chr(code) if chr(code).isalnum() else " " for code in range(128)}
_SPACES[ord("'")] = ""
_SPACES.update(dict.fromkeys(map(ord, _SIGNS), " "))
# Words with a common prefix of this many letters count as related, because only English has a stemmer here.
PREFIX = 5
TINY = 1e-9
UNIT = 10_000  # of the trees' values


class Trees:
    """A boosted model of `config/recall/trees.json`.

    A tree is a leaf's value, or `[signal, threshold, tree up to the threshold, tree above it]`, where `signal` is an index into `signals`.
    Values are integers in units of 1/10,000: JSON reads them ten times faster than fractions, on every prompt.
    """

    def __init__(self, signals: list[str], intercept: float, trees: list[Any]) -> None:
        self.signals = signals
        self.intercept = intercept
        self.trees = trees

    def log_odds(self, signals: dict[str, float]) -> float:
        """Return the model's log-odds for these signals."""
        values = [signals[name] * UNIT for name in self.signals]
        total = 0
        for tree in self.trees:
            node = tree
            while node.__class__ is list:
                node = node[2] if values[node[0]] <= node[1] else node[3]
            total += node
        return self.intercept + total / UNIT


class Model:
    """The ranking model of one index.

    Stop words by language, intents, their passages by first word, trees, and the values of `ranking.json` and `confidence.json`.
    """

    def __init__(self, saved: Any) -> None:  # noqa: ANN401 (the value of a JSON text, whose form the caller checks)
        self.stopwords = {name: frozenset(words.split()) for name, words in saved["stopwords"].items()}
        self.intents: list[str] = saved["intents"]
        self.passages: dict[str, str] = saved["passages"]
        self.answers, self.wants = (Trees(**saved["trees"][name]) for name in ("answers", "wants"))
        self.ranking = saved["ranking"]
        self.confidence = saved["confidence"]
        for words in ("session_words", "qualifiers"):
            self.confidence[words] = frozenset(self.confidence[words].split())


def load_model(connection: Connection) -> Model:
    """Return the model stored in this index. Raises IndexUnavailable if there is none."""
    text = meta_get(connection, "model") or ""
    return value_of(lambda: Model(loads(text)), "ranking model")


class Query:
    """The words of a prompt in order, the other words of the previous turn, and the prompt's text."""

    def __init__(self, words: list[str], previous_words: list[str], text: str) -> None:
        self.words = words
        self.previous_words = previous_words
        self.text = text


def analyze(text: str, previous_turn: str = "") -> Query:
    """Return the query for a prompt; `previous_turn` has less weight. Accepts any text."""
    text = _head_and_tail(text)
    prompt_words = tokenize(text)
    distinct = set(prompt_words)
    previous_words = [word for word in tokenize(_head_and_tail(previous_turn)) if word not in distinct]
    return Query(prompt_words, previous_words, text)


def _head_and_tail(text: str) -> str:
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else text[:half] + " " + text[-half:]


def padded_words(text: str) -> str:
    """Return the text folded, in lower case, its words separated and surrounded by single spaces, without punctuation."""
    return " %s " % " ".join(fold(text).lower().translate(_SPACES).split())


def index_by_first_word(intents: dict[str, list[str]]) -> dict[str, str]:
    """Return lines of the form "intent passage" by the passage's first word, given the passages by intent.

    Passages in scripts without spaces are under "". JSON parses one text per word four times faster than a list of pairs.
    """
    lines_by_word: dict[str, list[str]] = {}
    for intent, passages in intents.items():
        for passage in passages:
            first = passage.lstrip(_START).split()[0] if passage.isascii() else ""
            lines_by_word.setdefault(first, []).append("%s %s" % (intent, passage))
    return {first: "\n".join(lines) for first, lines in lines_by_word.items()}


def intents_in(text: str, passages: dict[str, str]) -> set[str]:
    """Return the intents whose passages occur in a prompt; `passages` has the form that `index_by_first_word` returns.

    A passage matches whole words, or any place in a script without spaces; `*` stands for up to 40 characters, `^` for the prompt's
    beginning. A question mark is enough for the intent QUESTION.
    """
    padded = padded_words(text)
    intents = {QUESTION} if any(mark in text for mark in _QUESTION_MARKS) else set()
    first_words = set(padded.split())
    if not padded.isascii():
        first_words.add("")
    for first in first_words & passages.keys():
        for line in passages[first].split("\n"):
            intent, _, passage = line.partition(" ")
            if intent not in intents and _contains_passage(padded, passage):
                intents.add(intent)
    return intents


def _contains_passage(padded: str, passage: str) -> bool:
    if passage.startswith(_START):
        return padded.startswith(" %s " % passage[1:])
    if _GAP not in passage:
        return (" %s " % passage if passage.isascii() else passage) in padded
    head, _, tail = passage.partition(_GAP)
    head, tail = (" %s " % part.strip() if part.isascii() else part for part in (head, tail))
    at = padded.find(head)
    while at >= 0:
        start = at + len(head) - 1
        if padded.find(tail, start, start + _MAX_GAP + len(tail)) >= 0:
            return True
        at = padded.find(head, at + 1)
    return False


class Term:
    """One term of a query: the words it stands for, the number of documents with it, and its weight (frequency in the query times idf).

    `strong` documents have it in a field other than the body, `weak` ones in the body alone; `share` is its share of background texts.
    """

    def __init__(self, stem: str, form: str) -> None:
        self.stem = stem
        self.words: set[str] = set()
        self.form = form
        self.count = 0.0
        self.strong = 0
        self.weak = 0
        self.share = 0.0
        self.idf = 0.0
        self.weight = 0.0

    def mass(self) -> float:
        """Return the idf, counted once however often the prompt repeats the term, and less for a term of the previous turn."""
        return min(1.0, self.count) * self.idf


class Corpus:
    """The documents that one search considers: all of an index, or the injectable ones; and the index's ranking model.

    `documents` is their number, `averages` are the mean lengths of their fields; the last is that of all fields together.
    """

    def __init__(self, connection: Connection, *, only_injectable: bool) -> None:
        """Raise IndexUnavailable if the index holds no model, and SqliteError if it is damaged or locked."""
        self.connection = connection
        self.model = load_model(connection)
        self.only_injectable = only_injectable
        select = "SELECT sum(documents), sum(title), sum(tags), sum(body), sum(files), sum(asked_as) FROM totals WHERE injectable >= ?"
        row = connection.execute(select, (int(only_injectable),)).fetchone()
        self.documents, *lengths = value_of(lambda: list(map(int, row)), "totals")
        lengths.append(sum(lengths))
        self.averages = [max(1.0, length / max(1, self.documents)) for length in lengths]

    def idf(self, strong: int, weak: int, share: float) -> float:
        """Return the inverse document frequency of a term that this many documents, and this share of background texts, contain."""
        prior = self.model.ranking["prior"]
        matching, documents = strong + weak + prior * share, self.documents + prior
        return log(1 + max(0.0, documents - matching + 0.5) / (matching + 0.5))

    def frequencies(self, stems: set[str]) -> dict[str, tuple[int, int, float]]:
        """Return the `strong`, `weak` and `share` (as in `Term`) of those stems that the index contains."""
        columns = "strong, weak" if self.only_injectable else "strong + held_strong, weak + held_weak"
        found: dict[str, tuple[int, int, float]] = {}
        ordered = sorted(stems)
        for start in range(0, len(ordered), _MAX_VALUES):
            part = ordered[start : start + _MAX_VALUES]
            query = "SELECT term, %s, share FROM vocabulary WHERE term IN (%s)"
            rows = self.connection.execute(query % (columns, ",".join("?" * len(part))), part)
            try:
                for stem, strong, weak, share in rows:
                    found[stem] = strong + 0, weak + 0, share + 0.0
            except TypeError:
                raise IndexUnavailable("the vocabulary holds no numbers") from None
        return found


def weigh_terms(query: Query, corpus: Corpus) -> list[Term]:
    """Return the distinct terms of a query without stop words, heaviest first; a term unknown to the store has no documents."""
    settings = corpus.model.ranking
    terms = _distinct_terms(query, corpus.model)
    corrections = settings["corrections"]
    known = corpus.frequencies({term.stem for term in terms})
    for term in terms:
        if not any(known.get(term.stem, ())) and corrections:
            corrections -= 1
            corrected = correct(corpus.connection, term.stem)
            if corrected:
                term.stem = corrected
                term.form = corrected + "~"
                term.count *= settings["corrected"]
                known.update(corpus.frequencies({corrected}))
        term.strong, term.weak, term.share = known.get(term.stem, (0, 0, 0.0))
        term.idf = corpus.idf(term.strong, term.weak, term.share)
        term.weight = term.count * term.idf
    terms.sort(key=lambda term: (-term.weight, term.stem))
    return terms


def _distinct_terms(query: Query, model: Model) -> list[Term]:
    stopwords = model.stopwords[language(query.words, model.stopwords)]
    terms: dict[str, Term] = {}
    for source, count in ((query.words, 1.0), (query.previous_words, model.ranking["extra"])):
        for word in source:
            if word not in stopwords:
                word_form = form(word)
                stem = word_form.partition("~")[0]
                if stem not in terms:
                    terms[stem] = Term(stem, word_form)
                terms[stem].count += count
                terms[stem].words.add(word)
    return list(terms.values())


def correct(connection: Connection, stem: str) -> str:
    """Return the most frequent stem one edit away, or "" if there is none.

    One edit adds, drops or replaces a letter, or swaps two neighbors (F. J. Damerau, 1964). A word that differs in its first two letters
    is found only if these are swapped: people rarely mistype the beginning of a word, and the search must stay short.
    """
    if len(stem) < _MIN_CORRECTED or not (stem.isascii() and stem.isalpha()):
        return ""
    near: list[tuple[int, str]] = []
    # "{" follows "z" in ASCII, so this range holds every stem with the prefix.
    for start in (stem[:2], stem[1] + stem[0]):
        near += connection.execute(
            "SELECT -strong - weak, term FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? "
            "AND strong + weak > 0",
            (start, start + "{", len(stem) - 1, len(stem) + 1),
        )
    return next((term for _, term in sorted(near) if is_one_edit(stem, term)), "")


def is_one_edit(left: str, right: str) -> bool:
    """Return whether one edit turns one word into the other."""
    if len(left) > len(right):
        left, right = right, left
    at = 0
    while at < len(left) and left[at] == right[at]:
        at += 1
    if len(left) < len(right):
        return len(right) - len(left) == 1 and left[at:] == right[at + 1 :]
    swapped = left[at : at + 2] == right[at : at + 2][::-1] and left[at + 2 :] == right[at + 2 :]
    return left != right and (left[at + 1 :] == right[at + 1 :] or swapped)


class Match:
    """A document's score and its parts, sums over the terms of the query; `matched` maps the stems of matching terms to their parts.

    `category` is its label; the score does not depend on it. `confidence`, `pointer_confidence` and `signals` are those of `Hit`.
    """

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


class PromptTerms:
    """The terms of a prompt, their masses and its intents, computed once for all matches.

    `pairs` are the stems of adjacent words, `prefixes` the first letters of its longer stems; `idfs` are those of the other words in the
    titles and phrases of the matches.
    """

    def __init__(self, query: Query, terms: list[Term], intents: set[str]) -> None:
        self.words = query.words
        self.follows = bool(query.previous_words)
        self.terms = terms
        self.intents = intents
        self.idfs: dict[str, float] = {}
        self.masses = {term.stem: term.mass() for term in terms}
        self.mass = sum(self.masses.values()) + TINY
        self.max_mass = max(self.masses.values(), default=0.0) + TINY
        self.prefixes = {stem[:PREFIX] for stem in self.masses if len(stem) >= PREFIX}
        stems = {word: term.stem for term in terms for word in term.words}
        order = [stems[word] for word in query.words if word in stems]
        self.pairs = {pair for pair in zip(order, order[1:]) if pair[0] != pair[1]}
