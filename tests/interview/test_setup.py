"""The setup of an interview: unknown names are refused, packs change strategies and multipliers."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from memory_plugin.interview.exceptions import ConfigError
from memory_plugin.interview.setup import check_scoring, merge_pack
from memory_plugin.kernel.data import load_data

SCORING = load_data("interview", "scoring")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t["scorers"][0].update(id="magic"), "scorers: expected one of coverage_gap"),
        (lambda t: t["vetoes"][0].update(id="magic"), "vetoes: expected one of knowledge_ceiling"),
        (
            lambda t: t["strategies"][0].update(focus="magic"),
            "strategies.deepen.focus: expected one of recent_node",
        ),
        (lambda t: t["multipliers"].update(magic={}), "multipliers: expected one of exploratory"),
        (
            lambda t: t["multipliers"]["closing"].update(magic=1),
            "multipliers.closing: expected one of deepen",
        ),
        (lambda t: t["vetoes"][0]["exempt"].append("magic"), "exempt: expected one of deepen"),
        (
            lambda t: t["scorers"][0].update(weight="much"),
            "weight: expected a number from 0 to 5, got 'much'",
        ),
    ],
    ids=["scorer", "veto", "focus", "phase", "strategy", "exempt", "weight"],
)
def test_an_unknown_name_is_an_error(change: Any, words: str) -> None:  # noqa: ANN401 (changes a table)
    table = copy.deepcopy(SCORING)
    change(table)
    with pytest.raises(ConfigError, match=r"config/interview/scoring\.json: ") as error:
        check_scoring(table)
    assert words in str(error.value)


def test_a_pack_switches_strategies_and_changes_multipliers() -> None:
    found = merge_pack(
        SCORING, {"strategies": {"bridge": False}, "multipliers": {"focused": {"broaden": 2}}}, "p.json"
    )
    assert [entry["id"] for entry in found["strategies"] if not entry["enabled"]] == ["bridge"]
    assert found["multipliers"]["focused"]["broaden"] == 2
    assert SCORING["multipliers"]["focused"]["broaden"] == 0.4
    with pytest.raises(ConfigError, match=r"p\.json: strategies: expected one of deepen, .*, got 'magic'"):
        merge_pack(SCORING, {"strategies": {"magic": True}}, "p.json")
