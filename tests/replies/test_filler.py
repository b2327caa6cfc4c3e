"""Filler rules: patterns are well formed, examples match as stated, and a user's pack cannot break scoring."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memory_plugin.kernel.data import load_data
from memory_plugin.replies.filler import USER_PACK, load_filler_rules, rule_problem
from memory_plugin.replies.phrases import parse_pattern, word_classes
from memory_plugin.replies.prose import POSITIONS
from memory_plugin.replies.reply_signals import measure_reply
from tests.replies.builders import LISTS, RULES, measure

TABLE = load_data("replies", "filler")
CLASSES = word_classes(TABLE)
CATEGORIES = {"opener", "affect", "validation", "rapport", "offer", "lead_in"}
ENTRIES = [pytest.param(rule, id=rule["id"]) for rule in TABLE["rules"]]
HITS = [
    pytest.param(rule["id"], text, id="%s: %s" % (rule["id"], text))
    for rule in TABLE["rules"]
    for text in rule["hit"]
]
MISSES = [
    pytest.param(text, id="%s: %s" % (rule["id"], text)) for rule in TABLE["rules"] for text in rule["miss"]
]


def test_ids_are_unique() -> None:
    ids = [rule["id"] for rule in TABLE["rules"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("rule", ENTRIES)
def test_rules_are_complete(rule: dict[str, Any]) -> None:
    assert rule["category"] in CATEGORIES
    assert rule["position"] in POSITIONS
    assert rule["reason"].endswith(".")
    assert rule["hit"]
    for pattern in rule["patterns"]:
        parse_pattern(pattern, CLASSES)
    assert len(set(rule["patterns"])) == len(rule["patterns"])


@pytest.mark.parametrize(("rule", "text"), HITS)
def test_hits(rule: str, text: str) -> None:
    assert rule in [match.rule.id for match in measure(text).matches]


@pytest.mark.parametrize("text", MISSES)
def test_misses(text: str) -> None:
    assert [match.rule.id for match in measure(text).matches] == []


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {"id": "x", "category": "own", "position": "nowhere", "patterns": ["a b"]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": []},
        {"id": "x", "category": "own", "position": "sentence", "patterns": ["@nothing"]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": ["a? b"]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": ["*9 b"]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": [3]},
        {"id": "x", "category": "own", "position": "sentence", "patterns": ["a||b"]},
    ],
    ids=json.dumps,
)
def test_an_invalid_user_rule_is_reported_and_ignored(entry: object, tmp_path: Any) -> None:  # noqa: ANN401
    assert rule_problem(entry, CLASSES)
    (tmp_path / USER_PACK).write_text(json.dumps({"rules": [entry]}), encoding="utf-8")
    rules = load_filler_rules(str(tmp_path))
    assert str(rules.error).startswith("a rule of your own pack is left out: ")
    assert len(rules.rule_of) == len(RULES.rule_of)


def test_a_pack_adds_and_exempts(tmp_path: Any) -> None:  # noqa: ANN401
    own = {"id": "own-x", "category": "own", "position": "sentence", "patterns": ["circling back"]}
    (tmp_path / USER_PACK).write_text(
        json.dumps({"exempt": {"thanks": "mine"}, "rules": [own]}), encoding="utf-8"
    )
    rules = load_filler_rules(str(tmp_path))
    matches = measure_reply("Circling back. Thank you for asking.", rules, LISTS).matches
    assert (rules.error, [match.rule.id for match in matches]) == (None, ["own-x"])


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"rules": 3, "exempt": []}']
)
def test_a_damaged_pack_leaves_the_rules_as_shipped(content: bytes, tmp_path: Any) -> None:  # noqa: ANN401
    (tmp_path / USER_PACK).write_bytes(content)
    rules = load_filler_rules(str(tmp_path))
    assert len(rules.rule_of) == len(RULES.rule_of)


def test_a_pack_that_is_a_link_is_not_read(tmp_path: Any) -> None:  # noqa: ANN401
    (tmp_path / "elsewhere").write_text('{"exempt": {"thanks": ""}}', encoding="utf-8")
    os.symlink(str(tmp_path / "elsewhere"), str(tmp_path / USER_PACK))
    rules = load_filler_rules(str(tmp_path))
    assert "symbolic link" in str(rules.error)
