"""Every entry of recall's data has a reason, and its words have the form in which they are looked up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_plugin.kernel.paths import data_path
from memory_plugin.kernel.text.words import stem, tokenize
from memory_plugin.recall.index_refresh import background, model


def read(name: str) -> dict[str, Any]:
    """Return the content of a file of the configuration."""
    with open(data_path("recall", name), encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


@pytest.mark.parametrize("name", ["ranking.json", "confidence.json", "stopwords.json", "trees.json"])
def test_every_entry_has_a_value_and_a_reason(name: str) -> None:
    for entry, fields in read(name)["entries"].items():
        assert set(fields) == {"value", "reason"}, entry
        assert len(fields["reason"]) > 10, entry


@pytest.mark.parametrize("language", sorted(read("stopwords.json")["entries"]))
def test_a_stop_word_is_one_token(language: str) -> None:
    listed = read("stopwords.json")["entries"][language]["value"].split()
    assert [word for word in listed if tokenize(word) != [word]] == []
    assert listed == sorted(set(listed))


def test_a_session_word_is_one_token() -> None:
    listed = read("confidence.json")["entries"]["session_words"]["value"].split()
    assert [word for word in listed if tokenize(word) != [word]] == []


def test_the_background_has_stems_and_their_shares() -> None:
    shares = background()
    assert all(0 < share < 0.5 for share in shares.values())
    assert all(term.isalpha() for term in shares)
    assert shares[stem("return")] > shares[stem("database")]


def test_the_background_names_its_source() -> None:
    assert "PSF licence" in read("background.json")["source"]


def test_the_prepared_model_is_small_enough_to_read_on_each_prompt() -> None:
    assert len(model()) < 45_000
