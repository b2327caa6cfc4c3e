"""The notes of Claude Code's own memory in `list` and `status`, and `memory import promote`."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.recall.test_native_notes import NOTE, folder


@pytest.fixture
def noted(project: Project) -> Project:
    """Return a project for which Claude Code keeps two notes."""
    folder(project, project.root)
    return project


def test_notes_are_listed_and_counted(noted: Project) -> None:
    rows = noted.cli("list", "--notes", "--json").json["notes"]
    assert [(row["name"], row["title"]) for row in rows] == [
        ("MEMORY.md#1", "Ledger proxy"),
        ("MEMORY.md#2", "Deploy"),
    ]
    assert noted.cli("list", "--json").json["notes"] == rows
    assert "MEMORY.md#2\tDeploy" in noted.cli("list", "--notes").stdout
    assert "Also 2 notes in Claude Code's own memory" in noted.cli("list").stdout
    assert "own memory" not in noted.cli("list", "--status", "pending").stdout
    assert noted.cli("status", "--json").json["notes"] == 2
    assert "2 notes in Claude Code's own memory" in noted.cli("status").stdout


def test_a_note_that_a_prompt_was_shown_is_called_by_its_file(noted: Project) -> None:
    assert "Ledger proxy" in noted.prompt("which proxy does the ledger need?").message
    text = noted.cli("why").stdout
    assert "MEMORY.md" in text
    assert "(deleted)" not in text + noted.cli("status").stdout


def test_notes_that_no_session_confirms_are_named_with_the_reason(project: Project) -> None:
    path = folder(project, "/another/project")
    assert project.cli("list", "--notes", "--json").json["notes"] == []
    text = project.cli("list", "--notes").stdout
    assert text.startswith("Claude Code has notes in %s/memory, but no session in that folder " % path)


def test_notes_that_are_switched_off_are_not_listed(noted: Project) -> None:
    noted.write_settings(native={"enabled": False})
    assert noted.cli("list", "--notes", "--json").json["notes"] == []
    assert noted.cli("import", "promote", "MEMORY.md#1").returncode == 1


def test_a_note_becomes_a_trusted_memory_of_the_team(noted: Project) -> None:
    run = noted.cli(
        "import",
        "promote",
        "MEMORY.md#2",
        "--category",
        "runbook",
        "--asked-as",
        "how do we ship",
        "--tags",
        "a,b",
    )
    assert run.returncode == 0, run.stderr
    assert "the note stays in" in run.stdout
    (row,) = noted.memories()
    assert (row["title"], row["category"], row["trust"], row["tags"]) == (
        "Deploy",
        "runbook",
        "trusted",
        ["a", "b"],
    )
    shown = noted.cli("show", row["id"], "--json").json
    assert "make ship" in shown["body"]
    assert shown["asked_as"] == ["how do we ship"]


def test_title_and_scope_can_be_chosen(noted: Project) -> None:
    run = noted.cli("import", "promote", "MEMORY.md#1", "--title", "Port 7777", "--scope", "user", "--json")
    assert (run.json["id"], run.json["scope"], run.json["trust"]) == ("port-7777", "user", "trusted")


def test_claude_promotes_nothing_unasked(noted: Project) -> None:
    assert noted.cli("import", "promote", "MEMORY.md#1", inside=True).returncode == 1
    assert noted.memories() == []
    assert noted.cli_allowed("import", "promote", "MEMORY.md#1", "--json").returncode == 0
    assert [row["trust"] for row in noted.memories()] == ["trusted"]


@pytest.mark.parametrize("name", ["style", "Name branches after tickets", "name branches", "STYLE.md"])
def test_a_note_is_also_named_by_its_title_or_a_start(noted: Project, name: str) -> None:
    text = "---\ndescription: Name branches after tickets\n---\nSuch as AB-12."
    folder(noted, noted.root, text, "style.md")
    run = noted.cli("import", "promote", name, "--json")
    assert run.json["id"] == "name-branches-after-tickets", run.stderr


def test_an_unknown_or_ambiguous_note_is_an_error(noted: Project) -> None:
    folder(noted, noted.root, "One thing only.", "style.md")
    assert noted.cli("import", "promote", "style.md", "--json").json["id"] == "style"
    assert "2 notes" in noted.cli("import", "promote", "MEMORY.md").stderr
    run = noted.cli("import", "promote", "nothing.md")
    assert run.returncode == 1
    assert "memory list --notes" in run.stderr


def test_a_secret_in_a_note_is_not_stored(noted: Project) -> None:
    folder(noted, noted.root, NOTE + "\n## Token\n\nghp_" + "q7Zx2KpW9dLm4RtY8vBn3HsJ6fGc1TaQ0eUi\n")
    run = noted.cli("import", "promote", "MEMORY.md#3", "--json")
    assert run.json["redacted"]
