"""Decisions read back from the ledger, whatever lies in it."""

from __future__ import annotations

import ast
import glob
import os

import pytest

from memory_plugin.kernel.ledger import Ledger
from memory_plugin.recall.explain import REASONS, decisions, find_decision, sentence
from tests.project import PLUGIN_ROOT, Project
from tests.recall.store_files import at_home


def written_reasons() -> set[str]:
    """The reasons that the code of recall gives to `silent`, as texts."""
    found = set()
    for path in glob.glob(os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin", "recall", "*.py")):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "silent"
            ):
                found |= {
                    n.value
                    for n in ast.walk(node.args[0])
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                }
    return found


def test_every_reason_has_its_words() -> None:
    assert written_reasons()
    assert written_reasons() <= set(REASONS)


def test_the_last_decision_of_this_project_comes_first(project: Project) -> None:
    with at_home(project) as places:
        ledger = Ledger(places.state(), "recalls")
        for number in range(30):
            ledger.append("s%d" % (number % 2), places.project_key, {"prompt_id": "p%d" % number})
        ledger.append("s0", "another-project", {"prompt_id": "q"})
        assert [row["prompt_id"] for row in decisions(places, last=3)] == ["p29", "p28", "p27"]
        assert [row["prompt_id"] for row in decisions(places, "s0", last=2)] == ["p28", "p26"]
        assert (find_decision(places, "last") or {})["prompt_id"] == "p29"
        assert (find_decision(places, "p1") or {})["prompt_id"] == "p19"
        assert find_decision(places, "q") is None


def test_lines_that_are_none_are_passed_over(project: Project) -> None:
    with at_home(project) as places:
        os.makedirs(places.state())
        with open(places.state("recalls.jsonl"), "wb") as file:
            file.write(b"{cut off\n[1]\n\xff\n" + b"[" * 100_000 + b"\n" + b'{"project": 5}\n\n')
        assert decisions(places) == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"outcome": "injected", "injected": ["a"]}, "told Claude 1 memory"),
        ({"outcome": "injected", "injected": ["a", "b"]}, "told Claude 2 memories"),
        ({"outcome": "injected", "injected": 7}, "told Claude 0 memories"),
        ({"outcome": "silent", "reason": "no_match"}, "silent: no memory shares a telling word with it"),
        ({"reason": ["x"]}, "silent: ['x']"),
        ({}, "silent: no reason noted"),
    ],
)
def test_a_decision_is_put_into_words(row: dict[str, object], words: str) -> None:
    assert sentence(row) == words
