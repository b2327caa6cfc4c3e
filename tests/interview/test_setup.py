"""The setup of an interview: packs fit the published schema, are refused with file and key, and change strategies and multipliers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from memory_plugin.interview.criteria import SCORERS, VETOES
from memory_plugin.interview.setup import SHIPPED, ConfigError, check_pack, new_setup
from memory_plugin.interview.situation import FOCUSES
from memory_plugin.kernel.paths import data_path, load_data
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
    with open(data_path("interview", "packs", name + ".json"), encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    return data


def schema() -> Draft202012Validator:
    """Return the published schema of packs."""
    with open(data_path("interview", "pack.schema.json"), encoding="utf-8") as file:
        return Draft202012Validator(json.load(file))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_packs_fit_the_schema(name: str) -> None:
    assert list(schema().iter_errors(pack(name))) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ladder": ["magic"]}, "ladder: expected one or more of"),
        ({"terminal": []}, "terminal: expected one or more of"),
        ({"types": []}, "ladder: expected one or more of"),
        ({"magic": 1}, "multipliers, magic"),
        ({"id": "Not This"}, "id: expected lower-case"),
        ({"elements": [{"id": "a", "label": "", "aliases": []}]}, "elements.0.label: expected a text"),
        ({"elements": [{"id": "a", "label": "a", "aliases": []}] * 2}, "elements: expected no duplicate ids"),
        ({"types": [{"id": "a", "name": "A", "memory": "magic"}]}, "types.0.memory: expected one of"),
        ({"strategies": {"deepen": 1}}, "strategies.deepen: expected true or false"),
        ({"strategies": {"magic": True}}, "strategies: expected an object with deepen?, broaden"),
        ({"multipliers": {"magic": {}}}, "multipliers: expected an object with exploratory?"),
        ({"multipliers": {"closing": {"magic": 1}}}, "multipliers.closing: expected an object with deepen?"),
        (
            {"multipliers": {"closing": {"ease": "much"}}},
            "closing.ease: expected a number from 0 to 5, got 'much'",
        ),
        (
            {"elements": [{"id": "a", "label": "a"}]},
            "elements.0: expected an object with id, label, ask?, aliases, group?, got 'id, label'",
        ),
        (
            {"elements": [{"id": "a", "label": "a", "ask": "Ask for {it}.", "aliases": []}]},
            "elements.0.ask: expected a text with no braces except {topic}",
        ),
        ({"elements": 3}, "elements: expected a list, got 3"),
    ],
)
def test_an_invalid_pack_is_an_error_with_file_and_key(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_pack({**pack(), **change}, "my.json")
    assert str(error.value).startswith("my.json: ")
    assert words in str(error.value)


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
        except ConfigError as error:
            assert "expected" in str(error)  # noqa: PT017
