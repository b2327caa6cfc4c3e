"""After an upgrade from 0.1.0, the store, settings and ledgers of that version are used; its index stays unchanged."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest

from memory_plugin import VERSION
from memory_plugin.kernel.paths import locate
from memory_plugin.recall.index_file import SCHEMA
from tests.project import Project

MEMORY = {
    "schema_version": "1.0",
    "category": "decision",
    "id": "postgres",
    "title": "Use Postgres",
    "content": {"decision": "Billing runs on Postgres."},
    "asked_as": ["which database"],
}
ASK = "which database does billing run on?"
OLD_RETRIEVAL = {"high_floor": 0.6, "low_floor": 0.3, "max_inject": 2}
RECALL = {
    "schema": 1,
    "time": "2026-11-20T10:00:00Z",
    "session": "old",
    "version": "0.1.0",
    "place": "prompt",
    "outcome": "silent",
    "reason": "below_floor",
    "answered_by": "fts5",
    "candidates": [{"key": "project:decision/postgres", "confidence": 0.2, "score": 3.0, "parts": {}}],
    "injected": [],
    "found": 1,
    "floor": 0.5,
    "healed": 1,
    "trouble": "",
    "prompt_id": "p0",
    "ms": 30.0,
}


@pytest.fixture
def old_index(project: Project, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the state of 0.1.0 into a project and its home; return the path of the old index."""
    with monkeypatch.context() as patch:
        for name, value in project.environment().items():
            patch.setenv(name, value)
        paths = locate(project.root)
    index = paths.state("index", paths.project_key + ".sqlite3")
    project.write(".claude/memory/decisions/postgres.json", MEMORY)
    project.write_settings(retrieval=OLD_RETRIEVAL)
    os.makedirs(os.path.dirname(index), exist_ok=True)
    with open(paths.state("recalls.jsonl"), "w", encoding="utf-8") as file:
        file.write(json.dumps({**RECALL, "project": paths.project_key}) + "\n")
    connection = sqlite3.connect(index)
    connection.execute("CREATE TABLE memories (key TEXT)")
    connection.execute("PRAGMA user_version = 3")
    connection.commit()
    connection.close()
    return index


def test_a_memory_is_recalled_once_it_is_accepted(project: Project, old_index: str) -> None:
    assert project.prompt(ASK).stdout == ""
    assert project.cli("accept", "postgres").returncode == 0
    assert "Billing runs on Postgres." in project.prompt(ASK, session_id="next").context
    assert project.ledger("events") == []


def test_the_old_ledger_is_explained_and_counted(project: Project, old_index: str) -> None:
    assert "not good enough" in project.cli("why", "p0", "--verbose").stdout
    report = project.cli("report", "--json", "--days", "3650").json
    assert report["recall"]["reasons"] == [{"reason": "below_floor", "prompts": 1}]
    assert "The best match was not good enough" in project.cli("report", "--text", "--days", "3650").stdout
    project.prompt(ASK)
    assert [row["version"] for row in project.ledger("recalls")] == ["0.1.0", VERSION]


def test_renamed_settings_are_reported_and_the_others_apply(project: Project, old_index: str) -> None:
    checked = project.cli("config", "check")
    assert "high_floor" in checked.stdout + checked.stderr
    assert "inject_threshold" in checked.stdout + checked.stderr
    assert project.cli("config", "get", "retrieval.max_inject").stdout.strip().startswith("2")


def test_each_version_keeps_its_own_index(project: Project, old_index: str) -> None:
    """With a shared index, a plugin and a command of different versions would rebuild it on each call."""
    before = os.stat(old_index)
    project.prompt(ASK)
    assert os.stat(old_index).st_mtime_ns == before.st_mtime_ns
    assert os.path.isfile(old_index.replace(".sqlite3", ".%d.sqlite3" % SCHEMA))
