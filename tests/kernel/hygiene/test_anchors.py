"""Positions of keywords and regions of prefilters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.hygiene import anchors
from memory_plugin.kernel.hygiene.anchors import Anchors


def test_case_does_not_count() -> None:
    assert Anchors("Key KEY key").places("key") == [0, 4, 8]


def test_occurrences_may_overlap() -> None:
    assert Anchors("----").places("--") == [0, 1, 2]


def test_a_letter_outside_ascii_is_not_a_question_mark() -> None:
    assert Anchors("\u0456?\u0456").places("?") == [1]


@given(st.text(alphabet="ab_-.: \u0130\u212a\U0001f600"), st.sampled_from(["a", "ab", "a_", "b.a", ": a"]))
def test_the_vocabulary_of_long_texts_changes_nothing(text: str, keyword: str) -> None:
    short, long = Anchors(text), Anchors(text + " " * anchors._MAX_GRAMS_TEXT)
    assert long.places(keyword) == short.places(keyword)


def test_regions_that_touch_are_one() -> None:
    assert Anchors("x@y@z" + " " * 20 + "@").around(["@"], 2, 3) == [(0, 6), (23, 28)]


def test_a_prefilter_selects_regions() -> None:
    assert Anchors("call 030 901820 now").regions("digits") == [(0, 31)]
    assert Anchors("call me").regions("digits") == []


def test_a_prefilter_within_another_selects_some_of_its_regions() -> None:
    found = Anchors("call 030 901820 now" + " " * 60 + "card 4111 1111 1111 1111 now")
    assert len(found.regions("digits")) == 2
    assert found.regions("card-digits") == found.regions("digits")[1:]


@pytest.mark.parametrize("within", [name for name, found in anchors.prefilters().items() if found.within])
def test_within_names_a_prefilter_that_is_not_nested_itself(within: str) -> None:
    assert not anchors.prefilters()[anchors.prefilters()[within].within].within


@pytest.mark.parametrize("keyword", ["born on", "sig=", ":apa91b", "key"])
def test_a_long_text_without_a_part_of_a_keyword_is_not_searched_for_it(keyword: str) -> None:
    text = "nothing of that sort " * 2000
    assert Anchors(text).places(keyword) == []
    assert Anchors(text + keyword).places(keyword) == [len(text)]
