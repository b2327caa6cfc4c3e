"""Porter2 stems, compared with the published vocabulary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.text.words import form, stem

# From the sample vocabulary of the algorithm's page, and its lists of exceptions.
PUBLISHED = """
consign consign consigned consign consigning consign consignment consign consist consist consistency consist consistently consist
consolation consol consolatory consolatori consoling consol consolingly consol conspicuous conspicu constable constabl constancy constanc
knack knack knavery knaveri knaves knave knavish knavish kneaded knead kneel kneel knightly knight knives knive knocker knocker
knotted knot knotty knotti knowledge knowledg
skis ski skies sky dying die lying lie tying tie news news innings inning evening evening succeed succeed proceed proceed
organization organiz organ organ internals internal adding add egg egg errors error emergency emergenc universal universal
""".split()  # noqa: SIM905 - a table of pairs
OURS = {
    "migrations meet migrating": ("migrations", "migrating"),
    "databases meet database": ("databases", "database"),
    "deployed meets deployment": ("deployed", "deployment"),
    "relational meets relate": ("relational", "relate"),
}


def test_published_stems() -> None:
    assert [
        (word, expected)
        for word, expected in list(zip(PUBLISHED[::2], PUBLISHED[1::2]))
        if stem(word) != expected
    ] == []


@pytest.mark.parametrize(("one", "other"), OURS.values(), ids=OURS)
def test_forms_of_a_word_have_the_same_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_a_word_that_is_not_english_is_unchanged() -> None:
    cases = ["", "a", "is", "utf8", "user_name", "größe", "数据", "store.py"]
    assert [word for word in cases if stem(word) != word] == []


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", max_size=20))
def test_any_letters_have_a_stem_that_is_no_longer(word: str) -> None:
    found = stem(word)
    assert found.islower() or not word
    assert len(found) <= len(word) + 1


def test_the_form_of_a_word() -> None:
    cases = [
        ("postgres", "postgr~es"),
        ("migrating", "migrat~ing"),
        ("happy", "happi~y"),
        ("utf8", "utf8~"),
        ("数据", "数据~"),
    ]
    assert [(word, expected) for word, expected in cases if form(word) != expected] == []
