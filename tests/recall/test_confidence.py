"""Confidence: two answers in one number, each moved by its signals in the direction that makes sense."""

from __future__ import annotations

import pytest

from memory_plugin.kernel.native import loads
from memory_plugin.recall.confidence import confidences, logistic, match_signals
from memory_plugin.recall.index.config import model as model_text
from memory_plugin.recall.model import Model
from memory_plugin.recall.query import analyse
from memory_plugin.recall.scoring import Match, best_matches
from memory_plugin.recall.weighting import Term

MODEL = Model(**loads(model_text()))  # type: ignore[arg-type]
AVERAGES = [5.0, 1.0, 20.0, 1.0, 1.0, 28.0]


def term(stem: str, documents: int, idf: float = 5.0) -> Term:
    """A term of a query that some documents hold in their bodies."""
    made = Term(stem, stem + "~")
    made.words, made.count, made.weak, made.idf, made.weight = {stem}, 1.0, documents, idf, idf
    return made


def field(text: str) -> str:
    """A field as the index keeps it."""
    return " " + "  ".join(word + "~" for word in text.split()) + " " if text else ""


def matches(terms: list[Term], *texts: tuple[str, str]) -> list[Match]:
    """The matches of documents given by title and body."""
    documents: list[tuple[int, tuple[str, ...]]] = [
        (at, (field(title), "", field(body), "", "")) for at, (title, body) in enumerate(texts)
    ]
    return best_matches(documents, terms, AVERAGES, MODEL)


def first(text: str, terms: list[Term], *texts: tuple[str, str], documents: int = 100) -> float:
    """The confidence of the best match."""
    return confidences(analyse(text), terms, matches(terms, *texts), documents, MODEL, 1)[0][0]


BILLING = [term("bill", 2), term("databas", 3)]


def test_the_logistic_function() -> None:
    weights = {"intercept": -1.0, "title": 2.0}
    assert logistic({"title": 0.5}, weights) == 0.5
    assert 0 < logistic({"title": -1e9}, weights) < 1e-20
    assert logistic({"title": 1e9}, weights) <= 1


def test_a_second_match_as_good_makes_the_first_less_sure() -> None:
    alone = first("bill databas", BILLING, ("bill databas", "rule"))
    assert first("bill databas", BILLING, ("bill databas", "rule"), ("bill databas", "other")) < alone


def test_an_unknown_word_makes_it_less_sure() -> None:
    unknown = [*BILLING, term("haiku", 0, 7.0)]
    found = ("bill databas", "rule")
    assert first("bill databas haiku", unknown, found) < first("bill databas", BILLING, found)


def test_words_of_the_running_session_make_it_less_sure() -> None:
    found = ("bill databas", "rule")
    assert first("ok now please bill databas", BILLING, found) < first("bill databas", BILLING, found)


def test_a_title_says_more_than_a_body() -> None:
    in_title = first("bill databas", BILLING, ("bill databas", "x y z"))
    assert first("bill databas", BILLING, ("x y z", "bill databas")) < in_title


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("bill databas", 0.25),
        ("x bill databas", 0.25),
        ("bill bill databas", 0.25),
        ("databas bill", 0.0),
        ("bill x databas", 0.0),
        ("bill", 0.0),
    ],
)
def test_the_phrase_signal(body: str, expected: float) -> None:
    terms = [*BILLING, term("x9", 1), term("y9", 1)]
    found = matches(terms, ("", body))
    signals = match_signals(found[0], found, terms, [(BILLING[0], BILLING[1])])
    assert signals["phrase"] == pytest.approx(expected)
