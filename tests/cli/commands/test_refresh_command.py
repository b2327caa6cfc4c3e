"""`memory refresh`: it refreshes the index and deletes what is old; one bad store does not stop it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing

import pytest

from tests.project import Project
from tests.recall.store_files import BODY, TITLE, index_file, memory, put, store

RETIRED = memory("Gone", record_status="retired", retired_at="2020-01-01T00:00:00Z", retired_reason="x")


@pytest.fixture
def mine(project: Project) -> Project:
    """Return a project whose store the user trusts, with one memory."""
    project.save(TITLE, BODY)
    return project


def test_refresh_reports_its_counts(mine: Project) -> None:
    os.unlink(index_file(mine))
    put(mine, "broken", "{")
    run = mine.cli("refresh", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    assert {name: run.json[name] for name in ("read", "dropped", "unreadable", "deleted")} == {
        "read": 1,
        "dropped": 0,
        "unreadable": 1,
        "deleted": [],
    }


def test_memories_retired_long_ago_are_deleted(mine: Project) -> None:
    for name in ("gone", "kept"):
        put(mine, name, memory(name))
        assert mine.cli("forget", name).returncode == 0
    path = put(mine, "gone", RETIRED)
    recent = put(mine, "kept", {**RETIRED, "retired_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    assert mine.cli("refresh", "--json").json["deleted"] == [path]
    assert (os.path.exists(path), os.path.exists(recent)) == (False, True)


def test_nothing_is_deleted_in_an_untrusted_store(project: Project) -> None:
    path = put(project, "gone", RETIRED)
    assert project.cli("refresh", "--json").json["deleted"] == []
    assert os.path.exists(path)


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "0000-00-00", "x" * 1000, "\ud800"])
def test_an_invalid_retirement_date_deletes_nothing(mine: Project, moment: str) -> None:
    path = put(mine, "gone", {**RETIRED, "retired_at": moment})
    run = mine.cli("refresh", "--json")
    assert (run.returncode, run.json["deleted"]) == (0, [])
    assert os.path.exists(path)


def test_a_linked_store_is_skipped(mine: Project) -> None:
    away = os.path.join(os.path.dirname(mine.root), "away")
    shutil.move(store(mine), away)
    os.symlink(away, store(mine))
    with open(os.path.join(away, "decisions", "gone.json"), "w", encoding="utf-8") as file:
        file.write("{}")
    assert mine.cli("refresh", "--json").json["deleted"] == []


def test_old_sessions_are_pruned(mine: Project) -> None:
    folder = os.path.join(mine.state, "sessions")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "old.json"), "w", encoding="utf-8") as file:
        file.write("{}")
    os.utime(os.path.join(folder, "old.json"), (0, 0))
    assert mine.cli("refresh", "--json").json["pruned"] == 1


@pytest.mark.slow
def test_a_locked_index_is_reported_as_locked(mine: Project) -> None:
    with closing(sqlite3.connect(index_file(mine), isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        put(mine, "late", memory("Late"))
        run = mine.cli("refresh")
    assert run.returncode == 1
    assert "the index could not be refreshed: " in run.stderr
    assert "bug" not in run.stderr
