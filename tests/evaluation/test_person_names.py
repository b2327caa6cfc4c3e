"""Full names without an introducing phrase: the examples of the lists, accents, particles, and linear time."""

from __future__ import annotations

from time import process_time

import pytest

from memory_plugin.evaluation.evaluation_gates import find_full_names
from memory_plugin.kernel.paths import load_data

NAMES = load_data("evaluation", "names")


def found(text: str) -> list[str]:
    """Return the names in a text."""
    return [text[start:end] for start, end in find_full_names(text)]


def test_examples_with_a_name() -> None:
    assert [text for text in NAMES["hit"] if len(found(text)) != 1] == []


def test_examples_without_a_name() -> None:
    assert [text for text in NAMES["miss"] if found(text) != []] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ask Jos\u00e9 de la Cruz today", ["Jos\u00e9 de la Cruz"]),
        ("Margaret Holloway's room", ["Margaret Holloway"]),
        ("Anna Weber and Peter Braun", ["Anna Weber", "Peter Braun"]),
        ("Mrs. Okonkwo", ["Mrs. Okonkwo"]),
    ],
)
def test_what_belongs_to_a_name(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize("field", ["given", "ambiguous", "family", "no_names"])
def test_a_list_is_sorted_and_holds_no_word_twice(field: str) -> None:
    words = " ".join(NAMES[field]).split()
    assert words == sorted(set(words))


@pytest.mark.parametrize("piece", ["Anna ", "A. ", "Anna-", "Anna de ", "A'"])
def test_linear_time(piece: str) -> None:
    started = process_time()
    list(find_full_names(piece * (100_000 // len(piece))))
    assert process_time() - started < 2
