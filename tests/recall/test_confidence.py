"""Confidence: two answers in one number, each moved by its signals in the direction that makes sense."""

from __future__ import annotations

import pytest

from memory_plugin.kernel.fastjson import loads
from memory_plugin.recall.confidence import confidences, logistic, match_signals, query_signals, surprise
from memory_plugin.recall.index_tables import model as model_text
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
    return confidences(analyse(text), terms, matches(terms, *texts), documents, AVERAGES[-1], MODEL, 1)[0][0]


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


def named(stem: str, documents: int) -> Term:
    """The term of a whole name, such as a file's."""
    return term(stem, documents, idf=6.0)


@pytest.mark.parametrize("noise", ["2", "b", "33"])
def test_a_place_in_a_list_says_nothing_of_the_topic(noise: str) -> None:
    plain = query_signals(analyse("bill databas"), BILLING, 100, MODEL)
    noisy = query_signals(analyse("bill databas " + noise), [*BILLING, term(noise, 40)], 100, MODEL)
    assert (noisy["known"], noisy["contrast"]) == (plain["known"], plain["contrast"])


def test_a_prompt_of_nothing_but_places_knows_nothing() -> None:
    picked = query_signals(analyse("2"), [term("2", 90)], 100, MODEL)
    unknown = query_signals(analyse("haiku"), [term("haiku", 0)], 100, MODEL)
    assert picked["known"] == pytest.approx(unknown["known"])


def test_a_name_the_store_does_not_know_speaks_by_its_parts() -> None:
    parts = [term("billing", 2), term("py", 9)]
    with_name = query_signals(analyse("billing.py"), [*parts, named("billing.py", 0)], 100, MODEL)
    without = query_signals(analyse("billing py"), parts, 100, MODEL)
    assert (with_name["known"], with_name["contrast"]) == (without["known"], without["contrast"])


@pytest.mark.parametrize(
    ("stem", "documents", "expected"),
    [
        ("throttle.ts", 1, 1.0),
        ("src/api", 4, 0.25),
        ("rate_limit", 2, 0.5),
        ("throttle", 1, 0.0),
        ("re-use", 1, 0.0),
        ("2.13", 1, 0.0),
    ],
)
def test_a_whole_name_tells_more_the_fewer_hold_it(stem: str, documents: int, expected: float) -> None:
    terms = [named(stem, documents)]
    found = matches(terms, ("", stem))
    assert match_signals(found[0], found, terms)["named"] == expected


def test_a_name_only_this_memory_holds_makes_it_surer() -> None:
    words = [term("fix", 20, 1.0), term("bug", 12, 2.0), term("throttl", 1), term("ts", 5, 3.0)]
    held = ("limit", "throttl ts throttle.ts")
    alone = first("fix bug throttle.ts", [*words, named("throttle.ts", 1)], held)
    shared = first("fix bug throttle.ts", [*words, named("throttle.ts", 9)], held)
    assert alone > shared + 0.05


def surprised(held: list[Term], others: int = 0, documents: int = 1000, body: str = "bill databas") -> float:
    """The surprise that one document holds some terms of a prompt with `others` more."""
    terms = held + [term("other%d" % at, 0) for at in range(others)]
    return surprise(matches(terms, ("", body))[0], terms, documents, AVERAGES[-1], 200.0)


def test_two_rare_terms_in_one_document_surprise_and_two_common_ones_do_not() -> None:
    assert surprised(BILLING) > 4
    assert surprised([term("bill", 300), term("databas", 400)]) < 0


def test_one_rare_term_alone_is_what_chance_gives() -> None:
    assert surprised(BILLING[:1]) < 1


def test_more_terms_to_choose_from_and_a_longer_document_surprise_less() -> None:
    assert surprised(BILLING, others=6) < surprised(BILLING) - 2
    assert surprised(BILLING, body="bill databas " + "x " * 60) < surprised(BILLING) - 1
