"""What each term of a query weighs in this store."""

from __future__ import annotations

from math import log

from ..kernel.text.tokens import language
from .index.terms import form
from .typos import corrected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.sqlite import Connection
    from .model import Model
    from .query import Query


# Older SQLite takes at most 999 values in one statement.
_AT_ONCE = 500


class Term:
    """One term of a query: the words it stands for, how many documents hold it, and its weight (frequency in the query times idf).

    `strong` documents hold it in a field beside the body, `weak` ones in the body alone; `share` is that of the texts of the background.
    """

    __slots__ = ("count", "form", "idf", "share", "stem", "strong", "weak", "weight", "words")

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


def weighted(
    connection: Connection, query: Query, model: Model, only_injectable: bool, documents: int
) -> list[Term]:
    """The distinct terms of a query without stop words, heaviest first; a term the store does not know is there with no documents."""
    terms = _terms(query, model)
    prior = model.ranking["prior"]
    unknown = model.ranking["corrections"]
    for term in terms:
        _look_up(connection, term, only_injectable)
        if not term.strong + term.weak and unknown:
            unknown -= 1
            other = corrected(connection, term.stem)
            if other:
                term.stem = other
                term.form = other + "~"
                term.count *= model.ranking["corrected"]
                _look_up(connection, term, only_injectable)
        term.idf = _idf(term.strong + term.weak + prior * term.share, documents + prior)
        term.weight = term.count * term.idf
    terms.sort(key=lambda term: (-term.weight, term.stem))
    return terms


def rarities(
    connection: Connection, stems: set[str], model: Model, only_injectable: bool, documents: int
) -> dict[str, float]:
    """Return the idf of some stems of documents; there is none for a stem the index does not hold."""
    prior = model.ranking["prior"]
    found: dict[str, float] = {}
    wanted = sorted(stems)
    for at in range(0, len(wanted), _AT_ONCE):
        part = wanted[at : at + _AT_ONCE]
        rows = connection.execute(
            "SELECT term, %s, share FROM vocabulary WHERE term IN (%s)"
            % (_columns(only_injectable), ",".join("?" * len(part))),
            part,
        )
        for stem, strong, weak, share in rows:
            found[stem] = _idf(strong + weak + prior * share, documents + prior)
    return found


def _idf(held: float, documents: float) -> float:
    return log(1 + max(0.0, documents - held + 0.5) / (held + 0.5))


def _columns(only_injectable: bool) -> str:
    return "strong, weak" if only_injectable else "strong + held_strong, weak + held_weak"


def _terms(query: Query, model: Model) -> list[Term]:
    idle = model.stopwords[language(query.words, model.stopwords)]
    terms: dict[str, Term] = {}
    for words, count in ((query.words, 1.0), (query.extra, model.ranking["extra"])):
        for word in words:
            if word not in idle:
                whole = form(word)
                stem = whole.partition("~")[0]
                if stem not in terms:
                    terms[stem] = Term(stem, whole)
                terms[stem].count += count
                terms[stem].words.add(word)
    return list(terms.values())


def _look_up(connection: Connection, term: Term, only_injectable: bool) -> None:
    row = connection.execute(
        "SELECT %s, share FROM vocabulary WHERE term = ?" % _columns(only_injectable), (term.stem,)
    ).fetchone()
    term.strong, term.weak, term.share = row or (0, 0, 0.0)
