"""The gates decide the tables of sentences within the documented bounds."""

from __future__ import annotations

import pytest

from memory_plugin.evaluation.rule_matching import find_matches
from tests.evaluation.tables import HALVES, sentences, shipped_pack

pytestmark = pytest.mark.slow

TABLES = [
    pytest.param(
        "compliance", ("caregiving", "compliance", "assistant", "violation"), 0.90, 0.05, id="compliance"
    ),
    pytest.param("crisis", ("caregiving", "crisis", "user", "signal"), 0.95, 0.05, id="crisis"),
    pytest.param("honesty", ("honesty", "honesty", "assistant", "violation"), 0.90, 0.05, id="honesty"),
]


@pytest.mark.parametrize(("table", "source", "min_recall", "max_false_alarms"), TABLES)
@pytest.mark.parametrize("half", HALVES)
def test_a_gates_recall_and_false_alarms(
    half: str, table: str, source: tuple[str, str, str, str], min_recall: float, max_false_alarms: float
) -> None:
    name, gate, speaker, positive = source
    if not sentences(table, half):
        return  # a later table need not have every kind
    loaded = shipped_pack(name)
    rules = [rule for rule in loaded.rules_for(gate, speaker) if not (rule.against or rule.is_hint)]
    matched: dict[bool, list[bool]] = {True: [], False: []}
    wrong = []
    for record in sentences(table, half):
        is_match = bool(find_matches(loaded, rules, record["text"]))
        is_positive = record["label"] == positive
        matched[is_positive].append(is_match)
        if is_match != is_positive:
            wrong.append(record["id"])
    assert sum(matched[True]) / len(matched[True]) >= min_recall, wrong
    assert sum(matched[False]) / len(matched[False]) <= max_false_alarms, wrong


def test_the_compliance_table_is_large_enough() -> None:
    assert sum(len(sentences("compliance", half)) for half in HALVES) >= 120
