"""Packs are read, merged and checked; the error about an invalid pack names the field."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memory_plugin.evaluation import EvaluationError, file_path, read_object, shipped_names
from memory_plugin.evaluation.packs import check_pack, load_pack, merge_objects
from memory_plugin.evaluation.rule_matching import MAX_SENTENCE, find_matches
from memory_plugin.kernel.paths import load_data

RULE: dict[str, Any] = {
    "gate": "compliance",
    "reason": "R.",
    "patterns": ["bad"],
    "hit": ["bad"],
    "miss": ["good"],
}


def pack(folder: Path, name: str = "p", **fields: object) -> str:
    """Return the path of a pack with these fields."""
    path = os.path.join(folder, name + ".json")
    content = {"id": name, "gates": {"compliance": {"hard": True}}, **fields}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_names("packs"))
def test_every_shipped_pack_passes_its_check(name: str) -> None:
    report = check_pack(name)
    assert report.faults == []


@pytest.mark.parametrize("name", shipped_names("packs"))
def test_every_shipped_pack_fits_the_published_schema(name: str) -> None:
    schema = {**load_data("evaluation", "pack.schema"), "required": []}
    raw = read_object(file_path("packs", name))
    known = {key: value for key, value in raw.items() if key not in ("extends", "defaults", "shared")}
    for entry in known.get("rules", {}).values():
        entry.update({**raw.get("defaults", {}), **entry})
    for entry in known.get("evidence", {}).values():
        entry.update({**raw.get("shared", {}), **entry})
    assert list(Draft202012Validator(schema).iter_errors(known)) == []


def test_an_example_may_have_several_lines(tmp_path: Path) -> None:
    rule = {**RULE, "hit": ["so\nbad"]}
    assert check_pack(pack(tmp_path, rules={"r": rule})).faults == []


def test_an_extending_pack_changes_some_fields_and_keeps_the_rest() -> None:
    base, state = load_pack("caregiving"), load_pack("caregiving-il")
    assert {rule.id for rule in state.rules} - {rule.id for rule in base.rules} == {"therapy-offered"}
    assert (base.disclosure[0], state.disclosure[0]) == (6, 5)
    assert (base.gates["disclosure"]["hard"], state.gates["disclosure"]["hard"]) == (False, True)


def test_objects_are_merged_and_null_removes_a_key() -> None:
    assert merge_objects({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None, "e": 3}, "d": [2]}) == {
        "a": {"c": 2, "e": 3},
        "d": [2],
    }


def test_a_cycle_is_rejected(tmp_path: Path) -> None:
    pack(tmp_path, "one", extends="./two.json")
    path = pack(tmp_path, "two", extends="./one.json")
    with pytest.raises(EvaluationError, match="extends itself"):
        load_pack(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"extra": 1}, "extra: expected a known name", id="an unknown field"),
        pytest.param(
            {"rules": {"r": {**RULE, "gate": "no"}}},
            "rules: r: unknown gate no",
            id="an unknown gate",
        ),
        pytest.param({"rules": {"r": {**RULE, "patterns": ["("]}}}, "rules: r", id="a broken pattern"),
        pytest.param(
            {"rules": {"r": {**RULE, "patterns": ["{none}"]}}}, "unknown list none", id="a missing list"
        ),
        pytest.param({"rules": {"r": {**RULE, "hit": []}}}, "at least one hit", id="no examples"),
        pytest.param({"rules": {"r": {**RULE, "speaker": "god"}}}, "speaker", id="an unknown speaker"),
        pytest.param(
            {"rules": {"r": {**RULE, "unless": ["x"]}}}, "unknown exception x", id="an unknown exception"
        ),
        pytest.param({"rules": {"r": {**RULE, "needs": "x"}}}, "unknown evidence x", id="unknown evidence"),
        pytest.param(
            {"rules": {"r": {**RULE, "patterns": []}}}, "frames or a hint", id="a rule without patterns"
        ),
        pytest.param(
            {"rules": {"r": {**RULE, "patterns": [], "hint": None}}}, "frames or a hint", id="null for a hint"
        ),
        pytest.param({"rules": {"r": {**RULE, "hint": True}}}, "a whole number", id="a hint that is a flag"),
        pytest.param(
            {"rules": {"r": RULE}, "defaults": {"extra": 1}},
            "rules.r.extra: expected a known name",
            id="an unknown default",
        ),
        pytest.param(
            {"evidence": {"e": {"call": ["x"], "extra": 1}}},
            "evidence.e.extra: expected a known name",
            id="an unknown part",
        ),
        pytest.param({"evidence": {"e": {"call": ["("]}}}, "evidence: e", id="broken evidence"),
        pytest.param({"rules": {"r": {**RULE, "frames": ["NO"]}}}, "unknown class NO", id="an unknown class"),
        pytest.param(
            {"rules": {"r": {**RULE, "frames": ["@no"]}}}, "unknown macro @no", id="a missing macro"
        ),
        pytest.param({"words": {"A": ["{B}"]}}, "unknown class", id="a class that includes an unknown class"),
        pytest.param({"words": {"A": ["{A}"]}}, "includes itself", id="a class within itself"),
        pytest.param({"words": {"A": 1}}, "words.A: expected a list of texts", id="a class that is a number"),
        pytest.param(
            {"spellings": {"a": 1}}, "spellings.a: expected a text", id="a spelling that is a number"
        ),
        pytest.param({"disclosure": {"every": 0}}, "every", id="a cadence of zero"),
        pytest.param({"extends": 3}, "extends", id="extends a number"),
    ],
)
def test_an_invalid_pack_is_rejected(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        load_pack(pack(tmp_path, **fields))


@pytest.mark.parametrize("name", ["nothing-there", "/nothing/there.json"])
def test_a_missing_pack_is_named(name: str) -> None:
    with pytest.raises(EvaluationError, match="no such file"):
        load_pack(name)


@pytest.mark.parametrize("words", ["a", "not ", "you have ", "stop taking ", "kill myself ", "'", "\u00e9"])
def test_a_hostile_sentence_takes_a_shipped_pack_little_time(words: str) -> None:
    pack = load_pack("caregiving")
    sentence = (words * MAX_SENTENCE)[: MAX_SENTENCE - 1]
    find_matches(pack, pack.rules, sentence)  # compiles what the search needs
    started = process_time()
    find_matches(pack, pack.rules, sentence)
    assert process_time() - started < 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no search can be ended there")
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("(a+)+$", id="nested"),
        pytest.param("(?:q*r)*$|(?:z+y?)+$", id="of letters in no common word"),
        pytest.param("(?:a|aa)*$", id="alternatives"),
        pytest.param("(a|aa){1,600}$", id="bounded and still exponential"),
    ],
)
def test_a_catastrophic_pattern_is_a_fault(tmp_path: Path, pattern: str) -> None:
    path = pack(tmp_path, rules={"r": {**RULE, "patterns": [pattern]}})
    with pytest.raises(EvaluationError, match="rules: r: patterns: a pattern takes too long"):
        check_pack(path)


def test_examples_that_do_not_match_as_stated_are_faults(tmp_path: Path) -> None:
    rule = {**RULE, "hit": ["nothing"], "miss": ["so bad"]}
    faults = check_pack(pack(tmp_path, rules={"r": rule})).faults
    assert faults == ["r: not found: nothing", "r: a false alarm: so bad"]


def test_a_gate_without_a_function_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="unknown gate magic"):
        load_pack(pack(tmp_path, gates={"magic": {}}))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no search can be ended there")
@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"neutral": ["(a+)+$"]}, id="neutral"),
        pytest.param({"contrast": ["(a+)+$"]}, id="contrast"),
        pytest.param({"answers": {"often": ["(a+)+$"]}}, id="answers"),
        pytest.param({"disclosure": {"every": 3, "phrases": ["(a+)+$"]}}, id="disclosure"),
    ],
)
def test_a_catastrophic_pattern_beside_the_rules_is_a_fault(tmp_path: Path, part: dict[str, Any]) -> None:
    (name,) = part
    with pytest.raises(EvaluationError, match="%s: .*takes too long" % name):
        check_pack(pack(tmp_path, rules={"r": RULE}, **part))
