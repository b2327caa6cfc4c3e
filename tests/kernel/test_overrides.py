"""The user's overrides replace shipped numbers and texts, and a file with an invalid entry is not used at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

from memory_plugin.kernel.data import load_data
from memory_plugin.kernel.overrides import (
    OverrideError,
    check_overrides,
    load_or_shipped,
    load_overridden,
    overridable,
    override_file,
    override_problems,
)
from tests.project import Project

Write = Callable[[str, object], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the overrides of a feature into a config folder of its own."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))

    def writes(feature: str, content: object) -> str:
        path = override_file(feature)
        assert path is not None
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    return writes


def test_without_a_file_the_tables_are_the_shipped_ones(write: Write) -> None:
    assert load_overridden("sessions", "dimensions") == load_data("sessions", "dimensions")
    assert load_overridden("sessions", "prompt")["id"] == "sessions/score"
    assert override_problems() == []


@pytest.mark.parametrize(
    ("feature", "content", "read"),
    [
        ("interview", {"scoring": {"scorers": {"novelty": {"weight": 0.4}}}}, lambda t: _entry(t["scorers"], "novelty")["weight"] == 0.4),
        ("interview", {"scoring": {"phases": {"focused": {"turns": 9}}}}, lambda t: _entry(t["phases"], "focused")["turns"] == 9),
        ("interview", {"scoring": {"vetoes": {"element_exhausted": {"params": {"lookback": 6}}}}},
         lambda t: _entry(t["vetoes"], "element_exhausted")["params"]["lookback"] == 6),
        ("sessions", {"dimensions": {"dimensions": {"goal_achievement": {"weight": 0.4}, "tool_efficiency": {"weight": 0.1}}}},
         lambda t: [d["weight"] for d in t["dimensions"]][:2] == [0.4, 0.1]),
        ("sessions", {"prompt": {"closing": ["Be strict."]}}, lambda t: t["closing"] == ["Be strict."] and t["schema"]),
    ],
    ids=["weight", "phase", "window", "dimension weights", "prompt"],
)  # fmt: skip
def test_an_override_changes_its_place_and_nothing_else(
    write: Write, feature: str, content: dict[str, Any], read: Callable[[dict[str, Any]], object]
) -> None:
    write(feature, content)
    part = next(iter(content))
    assert read(load_overridden(feature, part))
    assert list(check_overrides(feature)) == [part]


def _entry(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["id"] == name)


@pytest.mark.parametrize(
    ("feature", "content", "words"),
    [
        ("interview", {"scoring": {"scorers": {"noveltie": {"weight": 1}}}}, ["scoring.scorers.noveltie", "a name like novelty"]),
        ("interview", {"skoring": {}}, ["skoring", "a name like scoring"]),
        ("interview", {"scoring": {"scorers": {"novelty": {"weight": 9}}}}, ["scorers.novelty.weight", "from 0 to 5", "9"]),
        ("interview", {"scoring": {"scorers": {"novelty": {"weight": True}}}}, ["a number from 0 to 5", "True"]),
        ("interview", {"scoring": {"phases": {"focused": {"turns": 2.5}}}}, ["a whole number from 1 to 200"]),
        ("interview", {"scoring": {"strategies": {"deepen": {"intent": "x"}}}}, ["strategies.deepen.intent", "one of enabled"]),
        ("sessions", {"dimensions": {"dimensions": {"goal_achievement": {"weight": 0.4}}}}, ["add up to 1", "1.1"]),
        ("sessions", {"prompt": {"system": "one text"}}, ["prompt.system", "a list of 1 to 200 texts"]),
        ("sessions", {"prompt": []}, ["prompt", "an object"]),
        ("sessions", "{", ["the file", "JSON in UTF-8"]),
        ("sessions", "[]", ["the file", "an object"]),
    ],
    ids=["name", "part", "range", "flag for number", "fraction", "not to be changed", "sum", "lines", "list", "no JSON", "no object"],
)  # fmt: skip
def test_an_invalid_override_is_named_and_the_shipped_table_used(
    write: Write,
    feature: str,
    content: object,
    words: list[str],
) -> None:
    path = write(feature, content)
    with pytest.raises(OverrideError) as error:
        check_overrides(feature)
    for word in (path, *words):
        assert word in str(error.value)
    for part, entry in overridable()[feature].items():
        assert load_or_shipped(feature, part) == load_data(*entry["file"])
    assert override_problems() == [str(error.value)]


def test_one_invalid_entry_keeps_the_rest_of_the_file_from_being_used(write: Write) -> None:
    write("sessions", {"prompt": {"closing": ["Be strict."]}, "dimensions": {"dimensions": []}})
    assert load_or_shipped("sessions", "prompt")["closing"] != ["Be strict."]


def test_every_place_that_may_change_is_there_and_within_its_bounds(write: Write) -> None:
    """A shipped value given as an override is accepted, at each place that config/overrides.json names."""
    for feature, parts in overridable().items():
        for part, entry in parts.items():
            table = load_data(*entry["file"])
            for place in entry["paths"]:
                override = _excerpt(table, place.split("."))
                assert override not in ({}, None), (feature, part, place)
                write(feature, {part: override})
                assert load_overridden(feature, part) == table, (feature, part, place)


def _excerpt(table: Any, place: list[str]) -> Any:  # noqa: ANN401 (a JSON value)
    if not place:
        return table
    names = {entry["id"]: entry for entry in table} if isinstance(table, list) else table
    chosen = {name: value for name, value in names.items() if place[0] in ("*", name)}
    return {name: _excerpt(value, place[1:]) for name, value in chosen.items() if _reaches(value, place[1:])}


def _reaches(value: Any, place: list[str]) -> bool:  # noqa: ANN401 (a JSON value)
    """Return whether a place leads to a value of a kind that may change."""
    if not place:
        return not isinstance(value, dict)
    names = {entry["id"]: entry for entry in value} if isinstance(value, list) else value
    if not isinstance(names, dict):
        return False
    return any(_reaches(inner, place[1:]) for name, inner in names.items() if place[0] in ("*", name))


def write_overrides(project: Project, feature: str, content: object) -> None:
    """Write the overrides of a feature into the home folder of a project."""
    folder = os.path.join(project.config, "memory", "overrides")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, feature + ".json"), "w", encoding="utf-8") as file:
        json.dump(content, file)


def test_commands_name_an_invalid_override(project: Project) -> None:
    write_overrides(project, "interview", {"scoring": {"scorers": {"noveltie": {"weight": 1}}}})
    for command in (["config", "check"], ["doctor"], ["interview", "start", "billing export"]):
        run = project.cli(*command)
        assert "a name like novelty" in " ".join((run.stdout + run.stderr).split()), command
    assert project.cli("config", "check").returncode == 1


def test_an_override_of_phases_and_strategies_changes_the_interview(project: Project) -> None:
    shipped = project.cli("interview", "start", "billing export", "--json").json
    project.cli("interview", "wrap-up")
    only = {"scoring": {"strategies": {"broaden": {"enabled": False}}}}
    write_overrides(project, "interview", only)
    changed = project.cli("interview", "start", "ledger import", "--json").json
    assert shipped["strategy"] == "broaden"
    assert changed["strategy"] != "broaden"
