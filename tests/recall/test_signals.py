"""The signals of a prompt, a store and a match: each rises and falls as it should."""

from __future__ import annotations

from math import log
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.fastjson import loads
from memory_plugin.recall.confidence import log_improbability, match_signals, prompt_signals
from memory_plugin.recall.index_refresh import model as model_text
from memory_plugin.recall.query import Match, Model, PromptTerms, Term, analyze, intents_in
from memory_plugin.recall.ranking import best_matches

MODEL = Model(loads(model_text()))
AVERAGES = [5.0, 1.0, 20.0, 1.0, 1.0, 28.0]
PRIOR = MODEL.ranking["prior"]


def term(stem: str, documents: int, idf: float = 5.0) -> Term:
    """Return a term of a query that some documents contain in their bodies."""
    result = Term(stem, stem + "~")
    result.words, result.count, result.weak, result.idf, result.weight = {stem}, 1.0, documents, idf, idf
    return result


def field(text: str) -> str:
    """Return a field as the index stores it; a bar separates phrases."""
    return (
        "\n".join(" " + "  ".join(word + "~" for word in part.split()) + " " for part in text.split("|"))
        if text
        else ""
    )


def corpus(documents: int = 100) -> Any:  # noqa: ANN401 - in place of a Corpus, which would need an index
    """Return this many documents of average lengths."""
    return SimpleNamespace(documents=documents, averages=AVERAGES, model=MODEL)


def match(
    terms: list[Term], title: str = "", body: str = "", asked_as: str = "", tags: str = "", files: str = ""
) -> Match:
    """Return the match of one document."""
    texts = (field(title), field(tags), field(body), field(files), field(asked_as))
    return best_matches([(1, texts)], terms, corpus())[0]


def prompt_terms(text: str, terms: list[Term]) -> PromptTerms:
    """Return the terms of a prompt with its intents."""
    return PromptTerms(analyze(text), terms, intents_in(text, MODEL.passages))


def signals_of_match(text: str, terms: list[Term], **fields: str) -> dict[str, float]:
    """Return the signals of one match; words of documents have an idf of 4 unless the prompt contains them."""
    only = match(terms, **fields)
    stems = {token.partition("~")[0] for field in only.fields for token in field.split()}
    prompt = prompt_terms(text, terms)
    prompt.idfs = dict.fromkeys(stems, 4.0)
    return match_signals(only, [only], prompt)


def signals_of_prompt(text: str, terms: list[Term]) -> dict[str, float]:
    """Return the signals of a prompt in a store of 100 documents."""
    return prompt_signals(prompt_terms(text, terms), corpus(100))


BILLING = [term("bill", 2), term("databas", 3)]


def test_a_phrase_is_covered_whole_or_in_part() -> None:
    whole = signals_of_match("bill databas", BILLING, title="x", asked_as="bill databas|other thing")
    part = signals_of_match("bill databas", BILLING, title="x", asked_as="bill other|other databas thing")
    assert whole["phrase_covered"] == pytest.approx(1.0)
    assert 0.4 < part["phrase_covered"] < 0.7
    assert (whole["phrases"], part["phrases"]) == (log(2), log(3))


def test_neighbors_in_different_phrases_are_no_pair() -> None:
    found = signals_of_match("bill databas", BILLING, asked_as="bill|databas")
    assert found["pairs"] == 0.0
    assert signals_of_match("bill databas", BILLING, asked_as="bill databas")["pairs"] == log(2)


def test_a_word_with_the_same_prefix_counts_half() -> None:
    alike = signals_of_match("rechnungen", [term("rechnungen", 1)], title="rechnungen", asked_as="rechnung")
    assert alike["phrase_covered"] == pytest.approx(0.5)
    assert (
        signals_of_match("rechnungen", [term("rechnungen", 1)], title="rechnungen", asked_as="recht")[
            "phrase_covered"
        ]
        == 0.0
    )


def test_a_title_is_covered_by_the_mass_of_its_words() -> None:
    assert signals_of_match("bill databas", BILLING, title="bill databas")["title_covered"] == pytest.approx(
        1.0
    )
    assert signals_of_match("bill databas", BILLING, title="bill other thing")[
        "title_covered"
    ] == pytest.approx(5 / 13)


@pytest.mark.parametrize(
    ("body", "covered"),
    [
        pytest.param("databas", 1.0, id="a word that the title lacks"),
        pytest.param("bill", 0.0, id="the title again"),
        pytest.param("bill databas", 1.0, id="both"),
        pytest.param(" ".join([*map("w{}".format, range(20)), "databas"]), 0.0, id="too late in the body"),
    ],
)
def test_the_opening_of_a_body_counts_beyond_the_title(body: str, covered: float) -> None:
    found = signals_of_match("bill databas", BILLING, title="bill", body=body)
    assert found["opening_covered"] == pytest.approx(covered)
    assert bool(found["opening_held"]) is bool(covered)


def test_the_heaviest_missing_word_counts() -> None:
    terms = [*BILLING, term("authent", 0, 10.0)]
    assert signals_of_match("bill databas authent", terms, title="bill databas")["missed"] == pytest.approx(
        1.0
    )
    assert signals_of_match("bill databas authent", terms, title="bill authent")["missed"] == pytest.approx(
        0.5
    )


def test_a_match_without_phrases_has_a_signal() -> None:
    assert signals_of_match("bill", BILLING[:1], title="bill")["unasked"] == 1.0
    assert signals_of_match("bill", BILLING[:1], title="bill", asked_as="x")["unasked"] == 0.0


def test_intents_of_a_prompt_are_signals() -> None:
    question = signals_of_prompt("what did we decide about bill databas?", BILLING)
    task = signals_of_prompt("fix the bill databas", BILLING)
    assert [question[name] for name in ("asks_what_holds", "we", "question", "chore")] == [1.0, 1.0, 1.0, 0.0]
    assert [task[name] for name in ("asks_what_holds", "we", "question", "chore")] == [0.0, 0.0, 0.0, 0.0]


@given(
    st.lists(st.sampled_from(["bill", "databas", "x", "y", "z"]), max_size=9),
    st.lists(st.sampled_from("abc|"), max_size=9),
)
def test_shares_are_between_zero_and_one(title: list[str], phrases: list[str]) -> None:
    found = signals_of_match(
        "bill databas", BILLING, title=" ".join(["bill", *title]), asked_as=" ".join(["databas", *phrases])
    )
    for name in (
        "covered",
        "strong",
        "title_covered",
        "opening_covered",
        "phrase_covered",
        "phrase_share",
        "missed",
        "relative",
    ):
        assert 0.0 <= found[name] <= 1.0 + 1e-9


def full_name(stem: str, documents: int) -> Term:
    """Return the term of a full name, such as a file's."""
    return term(stem, documents, idf=6.0)


@pytest.mark.parametrize("noise", ["2", "b", "33"])
def test_a_number_in_a_list_is_not_topical(noise: str) -> None:
    plain = signals_of_prompt("bill databas", BILLING)
    noisy = signals_of_prompt("bill databas " + noise, [*BILLING, term(noise, 40)])
    assert (noisy["known"], noisy["contrast"]) == (plain["known"], plain["contrast"])


def test_a_prompt_of_numbers_only_is_unknown_to_the_store() -> None:
    picked = signals_of_prompt("2", [term("2", 90)])
    unknown = signals_of_prompt("haiku", [term("haiku", 0)])
    assert picked["known"] == pytest.approx(unknown["known"])


def test_an_unknown_full_name_counts_by_its_parts() -> None:
    parts = [term("billing", 2), term("py", 9)]
    with_name = signals_of_prompt("billing.py", [*parts, full_name("billing.py", 0)])
    without = signals_of_prompt("billing py", parts)
    assert (with_name["known"], with_name["contrast"]) == (without["known"], without["contrast"])


def test_a_full_name_counts_more_the_fewer_documents_contain_it() -> None:
    cases = [
        ("throttle.ts", 1, 1.0),
        ("src/api", 4, 0.25),
        ("rate_limit", 2, 0.5),
        ("throttle", 1, 0.0),
        ("re-use", 1, 0.0),
        ("2.13", 1, 0.0),
    ]
    assert [
        (stem, documents, expected)
        for stem, documents, expected in cases
        if signals_of_match(stem, [full_name(stem, documents)], body=stem)["named"] != expected
    ] == []


def surprise(
    matched: list[Term], others: int = 0, documents: int = 1000, body: str = "bill databas"
) -> float:
    """Return the surprise that one document contains some terms of a prompt with `others` more."""
    terms = matched + [term("other%d" % at, 0) for at in range(others)]
    return log_improbability(match(terms, body=body), terms, corpus(documents)) - log(documents)


def test_two_rare_terms_in_one_document_are_surprising_and_two_common_ones_are_not() -> None:
    assert surprise(BILLING) > 4
    assert surprise([term("bill", 300), term("databas", 400)]) < 0


def test_one_rare_term_alone_is_not_surprising() -> None:
    assert surprise(BILLING[:1]) < 1


def test_more_terms_and_a_longer_document_are_less_surprising() -> None:
    assert surprise(BILLING, others=6) < surprise(BILLING) - 2
    assert surprise(BILLING, body="bill databas " + "x " * 60) < surprise(BILLING) - 1
