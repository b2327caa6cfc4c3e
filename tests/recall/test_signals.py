"""What a prompt, a store and a match say, each signal in the direction that makes sense."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.fastjson import loads
from memory_plugin.recall.index_tables import model as model_text
from memory_plugin.recall.query import Term, analyze
from memory_plugin.recall.ranking import Model
from memory_plugin.recall.scoring import Match, best_matches
from memory_plugin.recall.signals import Held, log_improbability, match_signals, prompt_signals

MODEL = Model(**loads(model_text()))  # type: ignore[arg-type]
AVERAGES = [5.0, 1.0, 20.0, 1.0, 1.0, 28.0]
PRIOR = MODEL.ranking["prior"]


def term(stem: str, documents: int, idf: float = 5.0) -> Term:
    """Return a term of a query that some documents hold in their bodies."""
    made = Term(stem, stem + "~")
    made.words, made.count, made.weak, made.idf, made.weight = {stem}, 1.0, documents, idf, idf
    return made


def field(text: str) -> str:
    """Return a field as the index keeps it; a bar separates phrases."""
    return (
        "\n".join(" " + "  ".join(word + "~" for word in part.split()) + " " for part in text.split("|"))
        if text
        else ""
    )


def match(
    terms: list[Term], title: str = "", body: str = "", asked_as: str = "", tags: str = "", files: str = ""
) -> Match:
    """Return the match of one document."""
    texts = (field(title), field(tags), field(body), field(files), field(asked_as))
    return best_matches([(1, texts)], terms, AVERAGES, MODEL)[0]


def said(text: str, terms: list[Term], **fields: str) -> dict[str, float]:
    """Return the signals of one match; words of documents weigh 4 unless the prompt holds them."""
    found = match(terms, **fields)
    stems = {token.partition("~")[0] for one in found.fields for token in one.split()}
    return match_signals(found, [found], Held(analyze(text), terms, dict.fromkeys(stems, 4.0)))


BILLING = [term("bill", 2), term("databas", 3)]


def test_a_phrase_is_covered_whole_or_in_part() -> None:
    whole = said("bill databas", BILLING, title="x", asked_as="bill databas|other thing")
    part = said("bill databas", BILLING, title="x", asked_as="bill other|other databas thing")
    assert whole["phrase_covered"] == pytest.approx(1.0)
    assert 0.4 < part["phrase_covered"] < 0.7
    assert (whole["phrases"], part["phrases"]) == (log(2), log(3))


def test_phrases_are_not_read_across_their_border() -> None:
    found = said("bill databas", BILLING, asked_as="bill|databas")
    assert found["pairs"] == 0.0
    assert said("bill databas", BILLING, asked_as="bill databas")["pairs"] == log(2)


def test_a_word_that_begins_alike_counts_half() -> None:
    alike = said("rechnungen", [term("rechnungen", 1)], title="rechnungen", asked_as="rechnung")
    assert alike["phrase_covered"] == pytest.approx(0.5)
    assert (
        said("rechnungen", [term("rechnungen", 1)], title="rechnungen", asked_as="recht")["phrase_covered"]
        == 0.0
    )


def test_a_title_is_covered_by_what_its_words_weigh() -> None:
    assert said("bill databas", BILLING, title="bill databas")["title_covered"] == pytest.approx(1.0)
    assert said("bill databas", BILLING, title="bill other thing")["title_covered"] == pytest.approx(5 / 13)


def test_the_heaviest_word_that_is_missing_counts() -> None:
    terms = [*BILLING, term("authent", 0, 10.0)]
    assert said("bill databas authent", terms, title="bill databas")["missed"] == pytest.approx(1.0)
    assert said("bill databas authent", terms, title="bill authent")["missed"] == pytest.approx(0.5)


def test_without_phrases_a_match_says_so() -> None:
    assert said("bill", BILLING[:1], title="bill")["unasked"] == 1.0
    assert said("bill", BILLING[:1], title="bill", asked_as="x")["unasked"] == 0.0


def test_forms_of_a_prompt_are_signals() -> None:
    asked = prompt_signals(analyze("what did we decide about bill databas?"), BILLING, 100, MODEL)
    told = prompt_signals(analyze("fix the bill databas"), BILLING, 100, MODEL)
    assert [asked[name] for name in ("asks_what_holds", "we", "question", "chore")] == [1.0, 1.0, 1.0, 0.0]
    assert [told[name] for name in ("asks_what_holds", "we", "question", "chore")] == [0.0, 0.0, 0.0, 0.0]


@given(
    st.lists(st.sampled_from(["bill", "databas", "x", "y", "z"]), max_size=9),
    st.lists(st.sampled_from("abc|"), max_size=9),
)
def test_shares_stay_shares(title: list[str], phrases: list[str]) -> None:
    found = said(
        "bill databas", BILLING, title=" ".join(["bill", *title]), asked_as=" ".join(["databas", *phrases])
    )
    for name in (
        "covered",
        "strong",
        "title_covered",
        "phrase_covered",
        "phrase_share",
        "missed",
        "relative",
    ):
        assert 0.0 <= found[name] <= 1.0 + 1e-9


def named(stem: str, documents: int) -> Term:
    """Return the term of a whole name, such as a file's."""
    return term(stem, documents, idf=6.0)


@pytest.mark.parametrize("noise", ["2", "b", "33"])
def test_a_place_in_a_list_says_nothing_of_the_topic(noise: str) -> None:
    plain = prompt_signals(analyze("bill databas"), BILLING, 100, MODEL)
    noisy = prompt_signals(analyze("bill databas " + noise), [*BILLING, term(noise, 40)], 100, MODEL)
    assert (noisy["known"], noisy["contrast"]) == (plain["known"], plain["contrast"])


def test_a_prompt_of_nothing_but_places_knows_nothing() -> None:
    picked = prompt_signals(analyze("2"), [term("2", 90)], 100, MODEL)
    unknown = prompt_signals(analyze("haiku"), [term("haiku", 0)], 100, MODEL)
    assert picked["known"] == pytest.approx(unknown["known"])


def test_a_name_the_store_does_not_know_speaks_by_its_parts() -> None:
    parts = [term("billing", 2), term("py", 9)]
    with_name = prompt_signals(analyze("billing.py"), [*parts, named("billing.py", 0)], 100, MODEL)
    without = prompt_signals(analyze("billing py"), parts, 100, MODEL)
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
    assert said(stem, [named(stem, documents)], body=stem)["named"] == expected


def surprised(held: list[Term], others: int = 0, documents: int = 1000, body: str = "bill databas") -> float:
    """Return the surprise that one document holds some terms of a prompt with `others` more."""
    terms = held + [term("other%d" % at, 0) for at in range(others)]
    return log_improbability(match(terms, body=body), terms, documents, AVERAGES[-1], 200.0) - log(documents)


def test_two_rare_terms_in_one_document_surprise_and_two_common_ones_do_not() -> None:
    assert surprised(BILLING) > 4
    assert surprised([term("bill", 300), term("databas", 400)]) < 0


def test_one_rare_term_alone_is_what_chance_gives() -> None:
    assert surprised(BILLING[:1]) < 1


def test_more_terms_to_choose_from_and_a_longer_document_surprise_less() -> None:
    assert surprised(BILLING, others=6) < surprised(BILLING) - 2
    assert surprised(BILLING, body="bill databas " + "x " * 60) < surprised(BILLING) - 1
