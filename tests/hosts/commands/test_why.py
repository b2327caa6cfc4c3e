"""`memory why`: a decision explained, also from a ledger that somebody wrote into."""

from __future__ import annotations

import json
import os

import pytest

from tests.project import Project
from tests.recall.store_files import ASK, BODY, TITLE


@pytest.fixture
def asked(project: Project) -> Project:
    """A project with one memory, and three prompts."""
    project.save(TITLE, BODY)
    for number, prompt in enumerate(("ok", "a haiku about the sea please", ASK)):
        project.prompt(prompt, "prompt-%d" % number)
    return project


def test_the_last_decision_is_explained(asked: Project) -> None:
    text = asked.cli("why").stdout
    assert "prompt prompt-2" in text
    assert "told Claude 1 memory" in text
    assert "floor" in text
    assert "use-postgres-for-the-billing-database" in text


@pytest.mark.parametrize(
    ("which", "words"), [("prompt-0", "confirmation or small talk"), ("prompt-1", "silent: ")]
)
def test_a_prompt_is_found_by_its_id(asked: Project, which: str, words: str) -> None:
    assert words in asked.cli("why", which).stdout
    assert asked.cli("why", which, "--json").json["prompt_id"] == which


def test_what_was_never_decided_is_an_error(asked: Project) -> None:
    run = asked.cli("why", "nothing-like-it")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)


@pytest.mark.parametrize(
    "fields",
    [
        {"candidates": 5, "injected": 5, "outcome": "injected"},
        {
            "candidates": [5, {"confidence": "high", "score": None, "parts": 7, "key": ["x"]}, {}],
            "injected": {},
        },
        {
            "candidates": [{"confidence": 1e308, "key": "\x1b[2J", "parts": {"a": {"b": 1}}}],
            "trouble": ["x"],
            "ms": "soon",
        },
        {"time": {}, "prompt_id": [], "reason": {"a": 1}, "answered_by": 5, "floor": []},
    ],
    ids=["numbers", "wrong types", "strange values", "objects"],
)
def test_a_line_of_another_form_is_shown_as_far_as_it_goes(asked: Project, fields: dict[str, object]) -> None:
    row = {**asked.ledger("recalls")[-1], **fields}
    with open(os.path.join(asked.state, "recalls.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    run = asked.cli("why")
    assert (run.returncode, run.stderr) == (0, "")
    assert "\x1b" not in run.stdout
