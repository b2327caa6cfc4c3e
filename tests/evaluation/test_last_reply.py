"""Figures of claims are found in outputs: as they are, in other units, or computed."""

from __future__ import annotations

import re

import pytest

from memory_plugin.evaluation.last_reply import compares, is_supported, numbers_in, stems, sums_in


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("18,240 rows in 3.5 s", {18240.0, 3.5}, id="thousands and decimals"),
        pytest.param("Finished in 1 minute 36.4 seconds", {96.4}, id="minutes and seconds"),
        pytest.param("   12\tlet x = 7", {7.0}, id="without the numbers of lines"),
    ],
)
def test_numbers(text: str, numbers: set[float]) -> None:
    assert numbers_in(text) == numbers


@pytest.mark.parametrize(
    ("sentence", "shown", "is_shown"),
    [
        pytest.param("It takes 0.84 s.", {840.0}, True, id="another unit"),
        pytest.param("It grew by 0.2 MB.", {28110336.0, 28344832.0}, True, id="a difference in bytes"),
        pytest.param("It is 60 % smaller.", {96.4, 38.2}, True, id="a share"),
        pytest.param("It takes about 7 s.", {840.0}, True, id="a rough one"),
        pytest.param("It takes 7 s.", {840.0}, False, id="none of them"),
    ],
)
def test_a_figure_is_supported_or_not(sentence: str, shown: set[float], is_shown: bool) -> None:
    match = re.search(r"(\d+(?:\.\d+)?) ?(?:s|MB|%)", sentence)
    assert match is not None
    assert is_supported(match, shown, compares(sentence)) is is_shown


def test_words_are_compared_by_their_beginnings() -> None:
    assert stems("migrated, Migration of it") == {"migra"}


def test_the_columns_of_an_output_are_summed() -> None:
    assert sums_in("barn,12,3\nloft,8,1") == {20.0, 4.0}
    assert 2000.0 in sums_in("skipped 3\nteams\nred 300\nblue 500\ngreen 1200")
