"""`memory search`: all memories with their status; one-line errors."""

from __future__ import annotations

import os

import pytest

from tests.project import Project
from tests.recall.store_files import BODY, TITLE, index_file, memory, put


@pytest.fixture
def stored(project: Project) -> Project:
    """Return a project with one trusted memory."""
    project.save(TITLE, BODY, "--tags", "db,billing")
    return project


def test_a_result_has_every_documented_field(stored: Project) -> None:
    (row,) = stored.cli("search", "billing database", "--json").json["results"]
    assert {"id", "title", "score", "category", "path", "trust"} <= set(row)
    assert (row["title"], row["category"], row["trust"], row["tags"]) == (
        TITLE,
        "decision",
        "trusted",
        ["db", "billing"],
    )
    assert os.path.isfile(row["path"])


def test_the_older_flag_syntax_finds_the_same(stored: Project) -> None:
    place = os.path.join(stored.root, ".claude", "memory")
    run = stored.memory("--mode", "search", "--query", "billing database", "--root", place)
    assert TITLE in run.stdout


def test_pending_and_expired_memories_are_found_and_marked(stored: Project) -> None:
    put(stored, "old", memory("The billing database of old", "Billing was on DB2.", expires_at="2020-01-01"))
    stored.save("The billing database of Claude", "Billing is on SQLite.", inside=True)
    rows = {row["title"]: row for row in stored.cli("search", "billing database", "--json").json["results"]}
    assert rows["The billing database of old"]["expired"] is True
    assert rows["The billing database of Claude"]["trust"] == "pending"
    text = stored.cli("search", "billing database").stdout
    assert "expired" in text
    assert "pending" in text


def test_query_syntax_is_treated_as_words(stored: Project) -> None:
    syntax = ("$(touch x)", "`id`", "'; DROP TABLE documents; --", '" OR 1 NEAR(', "\\", "%s %d", "-- -x")
    for query in (*syntax, "\u202e"):
        for run in (stored.cli("search", "--", query), stored.cli("search", "-", stdin=query)):
            assert (run.returncode, run.stderr) == (0, ""), query
    assert not os.path.exists(os.path.join(stored.root, "x"))


def test_standard_input_may_hold_any_query(stored: Project) -> None:
    run = stored.memory("search", "-", "--root", stored.root, stdin=b"\xff\0 billing database " * 50_000)
    assert (run.returncode, run.stderr) == (0, "")
    assert TITLE in run.stdout


@pytest.mark.parametrize(("limit", "found"), [(None, 10), (20, 20), (30, 30), (100, 45)])
def test_a_search_gives_as_many_as_asked(project: Project, limit: int | None, found: int) -> None:
    for at in range(45):
        put(project, "service-%d" % at, memory("Authentication of service %d" % at))
    words = [] if limit is None else ["--limit", str(limit)]
    assert len(project.cli("search", "authentication", "--json", *words).json["results"]) == found


@pytest.mark.parametrize("limit", ["0", "101", "-1", "many"])
def test_a_wrong_limit_is_a_usage_error(stored: Project, limit: str) -> None:
    run = stored.cli("search", "billing", "--limit=" + limit)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)


def test_limit_bounds_the_results(stored: Project) -> None:
    for number in range(5):
        put(stored, "m%d" % number, memory("Billing database %d" % number, BODY))
    assert len(stored.cli("search", "billing database", "--limit", "2", "--json").json["results"]) == 2


def test_no_result_is_not_an_error(stored: Project) -> None:
    run = stored.cli("search", "zebra")
    assert (run.returncode, run.stdout) == (0, "No memories match. To list all: memory list\n")
    assert stored.cli("search", "zebra", "--json").json["results"] == []


def test_a_damaged_index_is_rebuilt(stored: Project) -> None:
    with open(index_file(stored), "r+b") as file:
        file.seek(2000)
        file.write(b"\xff" * 20_000)
    assert TITLE in stored.cli("search", "billing database").stdout


@pytest.mark.parametrize("state", ["no folder for it", "damaged and not to be replaced"])
def test_without_a_writable_index_every_file_is_read(stored: Project, state: str) -> None:
    whole = stored.cli("search", "billing database", "--json")
    path = index_file(stored)
    if state == "no folder for it":
        stored.remove(os.path.dirname(path))
        with open(os.path.dirname(path), "w", encoding="utf-8"):
            pass
    else:
        os.unlink(path)
        os.makedirs(os.path.join(path, "in-the-way"))
    run = stored.cli("search", "billing database", "--json")
    assert run.returncode == 0
    assert [row["id"] for row in run.json["results"]] == [row["id"] for row in whole.json["results"]]
    assert "the index cannot be used" in run.stderr
    assert "Errno" not in run.stderr


def test_a_missing_home_is_reported_in_one_line(stored: Project) -> None:
    run = stored.cli("search", "billing", HOME=None, CLAUDE_CONFIG_DIR=None)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "no home folder" in run.stderr


def test_a_title_cannot_move_the_cursor(stored: Project) -> None:
    put(stored, "evil", memory("Billing database \x1b[2J\x1b[H\u202egnp.exe", "x"))
    output = stored.cli("search", "billing database").stdout
    assert "\x1b" not in output
    assert "\u202e" not in output
