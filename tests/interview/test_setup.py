"""The setup of an interview: packs fit the published schema, are refused with file and key, and change strategies and multipliers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from memory_plugin.interview.criteria import SCORERS, VETOES
from memory_plugin.interview.inputs import SHIPPED, check_pack, new_setup
from memory_plugin.interview.interview_store import InterviewError
from memory_plugin.interview.situation import FOCUSES
from memory_plugin.kernel.paths import load_data
from memory_plugin.memories.record import categories
from tests.interview.respondents import ANY_JSON

SCORING = load_data("interview", "scoring")


def test_every_name_in_the_scoring_table_is_known() -> None:
    strategies = {entry["id"] for entry in SCORING["strategies"]}
    assert {entry["focus"] for entry in SCORING["strategies"]} == set(FOCUSES)
    assert [entry["id"] for entry in SCORING["scorers"]] == list(SCORERS)
    assert [entry["id"] for entry in SCORING["vetoes"]] == list(VETOES)
    assert list(SCORING["multipliers"]) == [entry["id"] for entry in SCORING["phases"]]
    assert all(set(row) == strategies for row in SCORING["multipliers"].values())
    for entry in SCORING["vetoes"] + SCORING["scorers"]:
        assert strategies.issuperset([*entry.get("exempt", ()), *entry["params"].get("strategies", ())])


def test_a_pack_switches_strategies_and_changes_multipliers() -> None:
    changes = {"strategies": {"bridge": False}, "multipliers": {"focused": {"broaden": 2}}}
    found = new_setup("x", check_pack({**pack(), **changes}, "p.json"), 20, {})["scoring"]
    assert [entry["id"] for entry in found["strategies"] if not entry["enabled"]] == ["bridge"]
    assert found["multipliers"]["focused"] == {**SCORING["multipliers"]["focused"], "broaden": 2}


def pack(name: str = SHIPPED[0]) -> dict[str, Any]:
    """Return a shipped pack."""
    return load_data("interview", "packs", name)


def schema() -> Draft202012Validator:
    """Return the published schema of packs."""
    return Draft202012Validator(load_data("interview", "pack.schema"))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_packs_fit_the_schema(name: str) -> None:
    assert list(schema().iter_errors(pack(name))) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ladder": ["magic"]}, "ladder: expected only risk"),
        ({"terminal": ["risk"], "ladder": ["goal"]}, "terminal: expected only goal"),
        ({"types": []}, "types: expected a list of blocks, each with id, name, memory, got an empty list"),
        ({"magic": 1}, "magic: expected a known name"),
        ({"elements": [{"id": "a", "label": "", "aliases": []}]}, "elements.0.label: expected a text"),
        ({"elements": [{"id": "a", "label": "a", "aliases": []}] * 2}, "elements: expected no duplicate ids"),
        ({"types": [{"id": "a", "name": "A", "memory": "magic"}]}, "types.0.memory: expected one of"),
        ({"strategies": {"deepen": 1}}, "strategies.deepen: expected true or false"),
        ({"strategies": {"magic": True}}, "strategies.magic: expected a known name"),
        (
            {"multipliers": {"closing": {"ease": 9}}},
            "multipliers.closing.ease: expected a number from 0 to 5",
        ),
        ({"elements": [{"id": "a", "label": "a"}]}, "elements.0.aliases: expected a value, got none"),
        ({"elements": 3}, "elements: expected a list of blocks, each with id, label, ask, aliases, group"),
    ],
)
def test_an_invalid_pack_is_an_error_with_file_and_key(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InterviewError) as error:
        check_pack({**pack(), **change}, "my.json")
    assert str(error.value).startswith("my.json: ")
    assert words in str(error.value)


def test_the_schema_of_packs_names_all_strategies_phases_and_categories() -> None:
    fields = load_data("interview", "pack.schema")["properties"]
    strategies = {entry["id"] for entry in SCORING["strategies"]}
    assert set(fields["strategies"]["properties"]) == strategies
    rows = fields["multipliers"]["properties"]
    assert {phase: set(row["properties"]) for phase, row in rows.items()} == dict.fromkeys(
        SCORING["multipliers"], strategies
    )
    assert set(fields["types"]["items"]["properties"]["memory"]["enum"]) == set(categories())


@given(ANY_JSON)
def test_any_value_is_accepted_or_refused(value: Any) -> None:  # noqa: ANN401
    for candidate in (
        value,
        {**pack(), "elements": value},
        {**pack(), "types": value},
        {**pack(), "multipliers": value},
    ):
        try:
            check_pack(candidate, "my.json")
        except InterviewError as error:
            assert "expected" in str(error)  # noqa: PT017
