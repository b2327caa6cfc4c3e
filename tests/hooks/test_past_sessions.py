"""Past sessions through the hooks and the command line: who is told what, with a receipt, a record and a way to forget."""

from __future__ import annotations

import glob
import os
import threading

import pytest

from memory_plugin.kernel.files import FileLock
from tests.project import Project
from tests.sessions.past_rows import FOG, LAMP, QUICK, Said, rows_of, write_rows, write_sessions

ASK = "what did we do about the flickering lamp?"


@pytest.fixture
def told(project: Project) -> Project:
    """Return a project whose past sessions are indexed."""
    write_sessions(project.config, project.root)
    assert project.cli("refresh").returncode == 0
    return project


def test_an_ask_is_answered_with_a_receipt_a_record_and_an_explanation(told: Project) -> None:
    run = told.prompt(ASK)
    assert "stable level" in run.context
    assert run.message == "memory: showed Claude 1 past session (Oct 5)"
    rows = {row["place"]: row for row in told.ledger("recalls")}
    assert rows["past"]["sessions"] == ["2026-10-05 " + LAMP]
    assert rows["prompt"]["outcome"] in ("silent", "skipped")
    assert LAMP in told.cli("why", "last").stdout
    assert LAMP in told.cli("status").stdout
    assert "answered from past sessions" in told.cli("report", "--text").stdout


def test_a_trial_shows_what_the_hook_would(told: Project) -> None:
    text = " ".join(told.cli("why", ASK).stdout.split())
    assert "Showed no memory: " in text
    assert "Also in this turn: Claude was shown what was done in earlier sessions" in text
    assert LAMP in text
    for silent in ("make the lamp brighter please", ASK + " #nomem"):
        assert "earlier sessions" not in told.cli("why", silent).stdout


@pytest.mark.parametrize(
    "text",
    ["make the lamp brighter", "which relay does the lamp use", ASK + " #nomem", "/memory:search " + ASK],
)
def test_other_prompts_are_silent(told: Project, text: str) -> None:
    assert "past-sessions" not in told.prompt(text).stdout


def test_settings_switch_it_off(told: Project) -> None:
    told.write_settings(sessions={"history": {"enabled": False}})
    assert told.prompt(ASK).stdout == ""
    assert told.start().context == ""
    assert told.cli("session", "find", "lamp").returncode == 1


def test_a_project_can_only_switch_it_off(told: Project) -> None:
    told.write_settings(sessions={"history": {"enabled": False}})
    told.write(
        ".claude/settings.json", {"memory": {"sessions": {"history": {"enabled": True, "days": 3650}}}}
    )
    assert told.prompt(ASK).stdout == ""


def test_the_first_session_starts_at_once_and_indexes_in_the_background(project: Project) -> None:
    write_sessions(project.config, project.root)
    assert project.start().context == ""
    project.wait_for_background()
    start = project.start().context
    assert [line for line in start.split("\n") if line.startswith("2026")] == [
        "2026-10-07 Fog horn schedule",
        "2026-10-05 Lamp flickers",
        "2026-10-07 quick",
    ]
    assert "memory session find" in start


def test_find_show_and_list(told: Project) -> None:
    (found, *_) = told.cli("session", "find", "flickering", "lamp", "--json").json["exchanges"]
    assert (found["session"], found["turn"], found["files"], found["passed"]) == (
        LAMP,
        1,
        ["lamp/relay.py"],
        ["pytest tests/test_relay.py"],
    )
    assert "claude --resume " + LAMP in told.cli("session", "find", "flickering lamp").stdout
    assert told.cli("session", "find", "flickering lamp", "--days", "1", "--json").json == {"exchanges": []}
    assert "quiet hours" in told.cli("session", "show", FOG[:8]).stdout
    assert told.cli("session", "show", "nothing-there").returncode == 1
    rows = told.cli("session", "list", "--json").json["sessions"]
    assert [(row["session"], row["prompts"], row["grade"]) for row in rows] == [
        (QUICK, 1, None),
        (FOG, 2, None),
        (LAMP, 2, None),
    ]
    assert "1 past session matches" in told.cli("search", "flickering lamp relay").stdout


def test_find_sees_what_was_just_written(told: Project) -> None:
    said = [Said("2026-10-08T09:00:00Z", "paint the gallery", "The gallery is white.")]
    write_rows(
        told.config, told.root, "6f70-gallery", rows_of("6f70-gallery", "", said, os.path.realpath(told.root))
    )
    assert told.cli("session", "find", "gallery", "--json").json["exchanges"][0]["session"] == "6f70-gallery"


def test_a_reply_that_ends_while_another_process_indexes_is_indexed_after_it(told: Project) -> None:
    said = [Said("2026-10-08T09:00:00Z", "paint the gallery", "The gallery is white.", ("gallery.py",))]
    rows = rows_of("6f70-gallery", "", said, os.path.realpath(told.root))
    transcript = write_rows(told.config, told.root, "6f70-gallery", rows)
    (path,) = glob.glob(os.path.join(told.state, "past", "*.sqlite3"))
    event = told.event("Stop", session_id="6f70-gallery", transcript_path=transcript)
    lock = FileLock(path + ".lock", 0).__enter__()
    threading.Timer(1, lock.__exit__).start()
    told.hook("Stop", {**event, "last_assistant_message": "The gallery is white."})
    assert "is white" in told.prompt("what did we do about the gallery?").context


def test_forgetting_needs_the_user(told: Project) -> None:
    assert told.cli("session", "forget", "--all", inside=True).returncode == 1
    assert told.cli("session", "forget", LAMP[:8]).stdout.startswith("1 session forgotten")
    assert told.prompt(ASK).stdout == ""
    assert told.cli("session", "forget", "--all", "--json").json == {"forgotten": 2}
    assert told.cli("session", "list", "--json").json == {"sessions": []}


def test_the_doctor_counts_sessions_that_only_the_index_has(told: Project) -> None:
    (check,) = [
        each for each in told.cli("doctor", "--json").json["checks"] if each["name"] == "past sessions"
    ]
    assert (
        check["text"] == "3 sessions indexed, 0 of them without a transcript; "
        "Claude Code deletes transcripts after 30 days (its setting cleanupPeriodDays)"
    )


def test_a_command_says_that_another_process_is_indexing(told: Project) -> None:
    (path,) = glob.glob(os.path.join(told.state, "past", "*.sqlite3"))
    with FileLock(path + ".lock", 0):
        run = told.cli("session", "find", "flickering", "lamp")
    assert "being indexed by another process" in run.stderr
    assert LAMP in run.stdout


def test_a_damaged_index_is_rebuilt_once_a_day(told: Project) -> None:
    (path,) = glob.glob(os.path.join(told.state, "past", "*.sqlite3"))
    found = []
    for _ in range(2):
        with open(path, "r+b") as file:
            file.write(b"no database at all")
        found.append(LAMP in told.cli("session", "find", "flickering", "lamp").stdout)
    assert found == [True, False]
