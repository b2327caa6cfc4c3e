"""Decisions read back from the ledger, whatever it contains."""

from __future__ import annotations

import ast
import glob
import os
import shutil
from typing import Any

import pytest

from memory_plugin.kernel.context import Ledger
from memory_plugin.recall.explain import (
    Outcome,
    decisions,
    find_decision,
    outcomes,
    prompt_texts,
    reason_text,
    sentence,
    texts,
    would_phrases_help,
)
from tests.project import PLUGIN_ROOT, Project
from tests.recall.store_files import at_home


def written_reasons() -> set[str]:
    """Return the reasons that the code of recall gives to `silent`, as texts."""
    found, known = set(), texts("reasons")
    for path in glob.glob(os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin", "recall", "*.py")):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        if os.path.basename(path) == "decision.py":
            found |= {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value in known}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "withhold"
            ):
                found |= {
                    n.value
                    for n in ast.walk(node.args[0])
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                }
    return found


def test_every_reason_has_a_text() -> None:
    assert written_reasons()
    assert written_reasons() <= set(texts("reasons"))


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("no_index: no space left", "the index could not be created: no space left"),
        ("timeout", "there was no time left"),
        ("a later version's: reason", "a later version's: reason"),
    ],
)
def test_a_reason_becomes_a_sentence_with_its_detail(reason: str, sentence: str) -> None:
    assert reason_text(reason) == sentence


@pytest.mark.parametrize("typed", ["why did it fail?", "/memory:review", "/memory:save the port is 81"])
def test_a_prompt_is_shown_as_it_was_typed(project: Project, typed: str) -> None:
    folder = os.path.join(project.config, "projects", "-shop")
    os.makedirs(folder)
    shutil.copy(project.write_typed(typed, "p1"), folder)
    project.prompt(typed, "p1")
    with at_home(project) as paths:
        assert prompt_texts(decisions(paths), paths) == {"p1": typed}


def test_the_last_decision_of_this_project_comes_first(project: Project) -> None:
    with at_home(project) as paths:
        ledger = Ledger(paths.state(), "recalls")
        for number in range(30):
            ledger.append("s%d" % (number % 2), paths.project_key, {"prompt_id": "p%d" % number})
        ledger.append("s0", "another-project", {"prompt_id": "q"})
        assert [row["prompt_id"] for row in decisions(paths, last=3)] == ["p29", "p28", "p27"]
        assert [row["prompt_id"] for row in decisions(paths, "s0", last=2)] == ["p28", "p26"]
        assert (find_decision(paths, "last") or {})["prompt_id"] == "p29"
        assert (find_decision(paths, "p1") or {})["prompt_id"] == "p19"
        assert find_decision(paths, "q") is None


def test_lines_that_are_none_are_passed_over(project: Project) -> None:
    with at_home(project) as paths:
        os.makedirs(paths.state())
        with open(paths.state("recalls.jsonl"), "wb") as file:
            file.write(b"{cut off\n[1]\n\xff\n" + b"[" * 100_000 + b"\n" + b'{"project": 5}\n\n')
        assert decisions(paths) == []


def test_a_decision_as_a_sentence() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"outcome": "injected", "injected": ["a"]}, "showed Claude 1 memory"),
        ({"outcome": "injected", "injected": ["a", "b"]}, "showed Claude 2 memories"),
        (
            {"outcome": "injected", "injected": ["a"], "pointed": ["b", "c"]},
            "showed Claude 1 memory, and 2 by title",
        ),
        ({"outcome": "pointed", "injected": [], "pointed": ["b"]}, "showed Claude 1 memory by title"),
        (
            {"outcome": "silent", "reason": "no_match"},
            "showed nothing: no memory shares a distinctive word with the prompt",
        ),
        ({}, "showed nothing: no reason noted"),
        ({"place": "prompt", "outcome": "injected", "injected": ["a"]}, "showed Claude 1 memory"),
        (
            {"place": "tool", "outcome": "pointed", "pointed": ["a"]},
            "at a tool call: showed Claude 1 memory by title",
        ),
        (
            {"place": "failure", "outcome": "injected", "injected": ["a"]},
            "after a failed command: showed Claude 1 memory",
        ),
    ]
    assert [(row, words) for row, words in cases if sentence(row) != words] == []


NEW = {"inject_threshold": 0.5, "pointer_threshold": 0.25}


@pytest.mark.parametrize(
    ("row", "candidate", "outcome"),
    [
        ({"injected": ["a"]}, {"confidence": 0.968, "pointer_confidence": 0.99}, ("shown", "96% match")),
        ({"pointed": ["a"]}, {"confidence": 0.3}, ("title shown", "related")),
        (
            {"pointed": ["a"]},
            {"confidence": 0.3, "pointer_confidence": 0.8},
            ("title shown", "related"),
        ),
        (
            {},
            {"confidence": 0.08, "pointer_confidence": 0.12},
            ("not shown", "8% match (needs 50%)"),
        ),
        ({}, {"confidence": 0.2499}, ("not shown", "24% match (needs 50%)")),
        (
            {},
            {"confidence": 0.9, "withheld": "already_injected"},
            ("not shown", "Claude already has it from this session"),
        ),
        (
            {"judge": {"verdicts": {"a": [True, False]}}, "pointed": ["a"]},
            {"confidence": 0.1},
            ("title shown", "related; the judges: relevant, not useful"),
        ),
        (
            {"judge": {"verdicts": {"a": [False, None]}}},
            {"confidence": 0.7, "withheld": "declined"},
            ("not shown", "70% match; the judges: not relevant"),
        ),
        (
            {"inject_threshold": None, "pointer_threshold": None},
            {"confidence": 0.2},
            ("not shown", "20% match"),
        ),
        ({}, {}, ("not shown", "? match")),
    ],
)
def test_the_outcome_of_a_candidate_as_text(
    row: dict[str, object], candidate: dict[str, object], outcome: tuple[str, str]
) -> None:
    (found,) = outcomes({**NEW, **row, "candidates": [{"key": "a", **candidate}]})
    assert found == Outcome("a", *outcome)


def test_a_phrase_is_advised_only_if_words_were_missing() -> None:
    cases: list[tuple[dict[str, Any], bool]] = [
        ({"injected": ["a"], "reason": ""}, False),
        ({"pointed": ["a"], "reason": ""}, False),
        ({"reason": "below_threshold", "candidates": [{"pointer_confidence": 0.3}]}, True),
        ({"reason": "below_threshold", "candidates": [{"pointer_confidence": 0.1}, {}]}, False),
        ({"reason": "already_injected"}, False),
        ({"reason": "declined"}, False),
    ]
    assert [(row, helps) for row, helps in cases if would_phrases_help(row) != helps] == []


def test_injected_candidates_come_first() -> None:
    candidates = [{"key": key, "confidence": 0.4} for key in "abc"]
    found = outcomes({**NEW, "candidates": candidates, "injected": ["c"], "pointed": ["b"]})
    assert [one.key for one in found] == ["c", "b", "a"]
