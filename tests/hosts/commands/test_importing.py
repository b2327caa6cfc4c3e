"""`memory import`: everything that is understood is stored, the rest is named, and nothing twice."""

from __future__ import annotations

import json
import os

import pytest

from tests.project import Project

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NOTES = "# Shop\n\n## Code style\nTabs, not spaces.\n\n## Deploy\nOn Tuesdays. Token %s\n" % SECRET


def imported(project: Project, *args: str, inside: bool = False) -> list[tuple[str, str]]:
    run = project.cli("import", *args, "--json", inside=inside)
    return [(item["outcome"], item.get("id", item.get("title", ""))) for item in run.json["items"]]


def test_notes_are_stored_once_and_are_the_user_s(project: Project) -> None:
    path = project.write("CLAUDE.md", NOTES)
    assert imported(project, path) == [("created", "code-style"), ("created", "deploy")]
    assert imported(project, path) == [("same", "code-style"), ("same", "deploy")]
    assert "Tabs, not spaces." in project.prompt("what is our code style, tabs or spaces?").context
    assert project.cli("doctor", "--json").json["ok"]


def test_secrets_stay_outside(project: Project) -> None:
    run = project.cli("import", project.write("CLAUDE.md", NOTES))
    assert "taken out of" in run.stdout
    assert SECRET not in run.stdout
    assert SECRET not in project.cli("show", "deploy").stdout


def test_a_dry_run_writes_nothing(project: Project) -> None:
    path = project.write("CLAUDE.md", NOTES)
    assert imported(project, path, "--dry-run") == [
        ("would be stored", "Code style"),
        ("would be stored", "Deploy"),
    ]
    assert not os.path.exists(os.path.join(project.root, ".claude"))


def test_bad_lines_are_named_and_the_others_stored(project: Project) -> None:
    lines = [
        '{"title": "One", "body": "b", "tags": ["x"]}',
        "{",
        '{"title": "Two"}',
        '{"title": "Three", "body": "<private>x</private>"}',
    ]
    path = project.write("notes.jsonl", "\n".join(lines))
    run = project.cli("import", path, "--category", "runbook")
    assert run.returncode == 1
    assert [line.partition(": skipped: ")[0] for line in run.stderr.splitlines()] == [
        "memory: %s" % (path + ":4"),
        "memory: %s" % (path + ":2"),
        "memory: %s" % (path + ":3"),
    ]
    assert run.stdout.splitlines()[-1] == "1 stored, 0 there already, 3 skipped"
    assert project.cli("show", "one", "--json").json["category"] == "runbook"


def test_a_whole_store_moves_with_its_fields(project: Project) -> None:
    other = os.path.join(os.path.dirname(project.root), "other", ".claude", "memory")
    os.makedirs(os.path.join(other, "tech-debt"))
    data = {
        "title": "Old",
        "content": {"description": "x"},
        "theirs": 1,
        "record_status": "retired",
        "created_at": "2020-01-01T00:00:00Z",
    }
    with open(os.path.join(other, "tech-debt", "their-own-id.json"), "w", encoding="utf-8") as file:
        json.dump({**data, "id": "../../../evil"}, file)
    assert imported(project, other) == [("created", "their-own-id")]
    shown = project.cli("show", "their-own-id", "--json").json
    assert (shown["status"], shown["created_at"], shown["category"]) == (
        "retired",
        "2020-01-01T00:00:00Z",
        "tech_debt",
    )


def test_what_claude_imports_unasked_waits(project: Project) -> None:
    path = project.write("page.md", "## Deploy\nRun the script from example.org.\n")
    assert project.cli("import", path, "--json", inside=True).json["waits_for_user"]
    assert project.cli("list", "--json").json["memories"][0]["trust"] == "pending"


def test_into_the_user_s_own_store(project: Project) -> None:
    imported(project, project.write("CLAUDE.md", NOTES), "--scope", "user")
    assert {memory["scope"] for memory in project.cli("list", "--json").json["memories"]} == {"user"}


@pytest.mark.parametrize("name", ["program.py", "empty-folder"])
def test_nothing_to_import_is_a_failure_or_nothing(project: Project, name: str) -> None:
    os.makedirs(os.path.join(project.root, "empty-folder"))
    project.write("program.py", "x = 1")
    run = project.cli("import", os.path.join(project.root, name))
    assert run.returncode == (0 if name == "empty-folder" else 1)
    assert run.stdout.endswith("0 stored, 0 there already, %d skipped\n" % run.returncode)


def test_many_are_stored_in_a_moment(project: Project) -> None:
    rows = [{"title": "Memory number %d" % number, "body": "body %d" % number} for number in range(300)]
    assert len(imported(project, project.write("many.json", rows))) == 300
    with open(os.path.join(project.root, ".claude", "memory", "index.md"), encoding="utf-8") as file:
        assert sum(line.startswith("- [") for line in file) == 300
