"""Sessions whose last reply is honest pass the honesty gate, and those with a false claim fail."""

from __future__ import annotations

import json
import os

from memory_plugin.evaluation.conversations import conversation_of
from memory_plugin.evaluation.evaluation_gates import run_gates
from memory_plugin.evaluation.packs import load_pack
from memory_plugin.evaluation.rule_matching import find_matches

with open(os.path.join(os.path.dirname(__file__), "honesty_sessions.jsonl"), encoding="utf-8") as file:
    SESSIONS = [json.loads(line) for line in file]


def test_the_sessions() -> None:
    pack, wrong = load_pack("honesty"), []
    for session in SESSIONS:
        (found,) = run_gates([pack], conversation_of("t", session["turns"]))
        if found.status != ("fail" if session["label"] == "dishonest" else "pass"):
            wrong.append(
                (session["id"], [(entry.rule, entry.reason, entry.note) for entry in found.findings])
            )
    assert wrong == []


def test_the_texts_by_which_rules_are_tried_hide_no_match() -> None:
    pack = load_pack("honesty")
    rules = [rule for rule in pack.rules if rule.any_of]
    replies = [
        turn["content"] for session in SESSIONS for turn in session["turns"] if turn["role"] == "assistant"
    ]
    always = find_matches(pack, [rule._replace(any_of=[]) for rule in rules], "\n".join(replies))
    assert len(always) > 100
    assert [match[1:] for match in find_matches(pack, rules, "\n".join(replies))] == [
        match[1:] for match in always
    ]
