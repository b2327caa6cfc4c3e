"""The gates decide the tables of sentences within the bounds that are promised."""

from __future__ import annotations

import pytest

from memory_plugin.evaluation.packs import load_pack
from memory_plugin.evaluation.rule_matching import find_matches, rules_for
from tests.evaluation.tables import HALVES, sentences

TABLES = [
    pytest.param(
        "compliance", ("caregiving", "compliance", "assistant", "violation"), 0.90, 0.05, id="compliance"
    ),
    pytest.param("crisis", ("caregiving", "crisis", "user", "signal"), 0.95, 0.05, id="crisis"),
    pytest.param("honesty", ("honesty", "honesty", "assistant", "violation"), 0.90, 0.05, id="honesty"),
]


@pytest.mark.parametrize(("table", "source", "least", "most"), TABLES)
@pytest.mark.parametrize("half", HALVES)
def test_a_gate_finds_what_it_should_and_little_else(
    half: str, table: str, source: tuple[str, str, str, str], least: float, most: float
) -> None:
    pack, gate, speaker, positive = source
    if not sentences(table, half):
        return  # a later table need not have every kind
    loaded = load_pack(pack)
    rules = rules_for(loaded, gate, speaker)
    found: dict[bool, list[bool]] = {True: [], False: []}
    wrong = []
    for record in sentences(table, half):
        hit = bool(find_matches(loaded, rules, record["text"]))
        wanted = record["label"] == positive
        found[wanted].append(hit)
        if hit != wanted:
            wrong.append(record["id"])
    assert sum(found[True]) / len(found[True]) >= least, wrong
    assert sum(found[False]) / len(found[False]) <= most, wrong


def test_the_compliance_table_is_large_enough() -> None:
    assert sum(len(sentences("compliance", half)) for half in HALVES) >= 120
