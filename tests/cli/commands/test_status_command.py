"""`memory status`: stored and pending memories, decisions and problems; an empty store is not an error."""

from __future__ import annotations

import json
import os

import pytest

from tests.project import Project

ASK = "Should billing use the Postgres database?"


def test_an_empty_store_prints_a_hint_and_prompts_stay_silent(project: Project) -> None:
    run = project.cli("status")
    assert run.returncode == 0
    assert "No memories in this project yet" in run.stdout
    assert run.stdout.endswith("doctor: no problems in the quick check; full check: memory doctor\n")
    assert project.prompt(ASK).stdout == ""


def test_stored_and_pending_memories_are_listed(project: Project) -> None:
    project.save("Use Postgres", "b")
    project.save("Claude's own", "b", inside=True)
    run = project.cli("status")
    assert "project\tdecision\tpending\t1" in run.stdout
    assert "project\tdecision\ttrusted\t1" in run.stdout
    assert "1 memory pending; to decide: memory review\n" in run.stdout
    assert "\n  Claude's own (claudes-own)\n" in run.stdout
    found = project.cli("status", "--json").json
    assert found["stored"] == [
        {"scope": "project", "category": "decision", "trust": "pending", "memories": 1},
        {"scope": "project", "category": "decision", "trust": "trusted", "memories": 1},
    ]
    assert [item["id"] for item in found["waiting"]] == ["claudes-own"]


@pytest.mark.parametrize(
    ("words", "block", "key"),
    [
        (("status",), "retrieval", "enabled"),
        (("doctor",), "retrieval", "enabled"),
        (("session", "find", "lamp"), "sessions.history", "enabled"),
        (("judge", "on"), "retrieval.judge", "enabled"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_the_project_switched_off_is_advised_where_it_can_be_changed(
    project: Project, words: tuple[str, ...], block: str, key: str
) -> None:
    """The user's own settings cannot switch it on, so the advice names the project's file, and helps."""
    memory: dict[str, object] = {key: False}
    for name in reversed(block.split(".")):
        memory = {name: memory}
    path = project.write(".claude/settings.json", {"memory": memory})
    run = project.cli(*words, ANTHROPIC_API_KEY="sk-ant-1")
    said = " ".join((run.stdout + run.stderr).split())
    assert "remove %s.%s from %s" % (block, key, path) in said
    assert "config set" not in said
    if words[0] == "status":
        assert "remove retrieval.enabled from " in project.start().message


def test_recall_that_is_off_is_named_first(project: Project) -> None:
    project.cli("config", "set", "retrieval.enabled", "false")
    assert project.cli("status").stdout.startswith("Recall is off (retrieval.enabled in your settings): ")
    assert project.cli("status", "--json").json["recall"] is False
    assert project.start().message.startswith("memory: recall is off; ")
    project.prompt(ASK)
    assert project.cli("why").stdout.count("memory config set retrieval.enabled true") == 1
    project.cli("config", "unset", "retrieval.enabled")
    why = project.cli("why").stdout
    assert "recall was off in the settings" in why
    assert "retrieval.enabled" not in why


def test_the_last_decisions_with_their_near_misses(project: Project) -> None:
    identity = project.save(
        "Use Postgres for the billing database", "Billing runs on Postgres 16.", "--tags", "billing,database"
    )
    project.prompt(ASK, prompt_id="first")
    project.prompt("write a short poem about the sea, please", prompt_id="second")
    found = project.cli("status", "--json").json["decisions"]
    assert [decision["prompt_id"] for decision in found] == ["second", "first"]
    assert found[1]["outcome"] == "injected"
    assert found[1]["injected"] == ["project:decision/" + identity]
    assert found[0]["injected"] == []
    text = project.cli("status").stdout
    assert "  shown        Use Postgres for the billing database (%s)\n" % identity in text
    assert "near miss" not in text


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"candidates": 7, "injected": "x", "ms": "fast", "floor": None},
        {
            "candidates": [7, None, {}, {"key": ["x"], "confidence": "x"}],
            "injected": [None, {}],
            "outcome": ["\x1b"],
            "time": 7,
        },
        {"candidates": [{"key": "a\x1b[2J", "confidence": 0.25}], "floor": 0.5},
    ],
    ids=str,
)
def test_a_malformed_record_is_listed_as_far_as_possible(project: Project, fields: dict[str, object]) -> None:

    project.prompt(ASK)
    with open(os.path.join(project.state, "recalls.jsonl"), "r+", encoding="utf-8") as file:
        key = json.loads(file.read())["project"]
        file.write(json.dumps({"project": key, **fields}) + "\n")
    run = project.cli("status")
    assert (run.returncode, run.stderr) == (0, "")
    assert "\x1b" not in run.stdout


def test_doctor_problems_are_listed(project: Project) -> None:
    project.write(".claude/memory/decisions/bad.json", "{")
    assert "doctor: problems with memories; details: memory doctor" in project.cli("status").stdout
