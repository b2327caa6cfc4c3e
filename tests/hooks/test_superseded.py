"""A superseded memory is never injected, checked through the commands and the hook as they run."""

from __future__ import annotations

import json
import os

import pytest

from tests.project import Project

MYSQL = ("Invoices are stored in MySQL", "The billing service keeps invoices in MySQL 5 on db-1.")
POSTGRES = ("Invoices are stored in Postgres", "The billing service keeps invoices in Postgres 16 on db-2.")
ASK = "which database are the invoices of the billing service stored in?"


@pytest.fixture
def old(project: Project) -> str:
    return project.save(*MYSQL, "--asked-as", "the vault of bills", "--tags", "billing")


def recalled(project: Project, prompt: str = ASK) -> str:
    return project.prompt(prompt, session_id=os.urandom(4).hex()).context


def stored(project: Project, name: str) -> dict[str, object]:
    path = os.path.join(project.root, ".claude", "memory", "decisions", name + ".json")
    with open(path, encoding="utf-8") as file:
        found: dict[str, object] = json.load(file)
    return found


def test_the_newer_memory_is_injected_and_matches_the_older_ones_phrases(project: Project, old: str) -> None:
    assert "MySQL 5" in recalled(project)
    project.save(*POSTGRES, "--supersedes", old)
    for prompt in (ASK, "tell me about the vault of bills please"):
        assert "Postgres 16" in recalled(project, prompt)
        assert "MySQL" not in recalled(project, prompt)


def test_both_memory_files_record_the_replacement(project: Project, old: str) -> None:
    new = project.save(*POSTGRES, "--supersedes", old)
    files = {name: stored(project, name) for name in (old, new)}
    assert files[old]["superseded_by"] == new
    assert files[new]["supersedes"] == [old]


def test_search_marks_a_superseded_memory(project: Project, old: str) -> None:
    new = project.save(*POSTGRES, "--supersedes", old)
    rows = {row["id"]: row["superseded_by"] for row in project.cli("search", ASK, "--json").json["results"]}
    assert rows == {old: new, new: ""}
    assert "replaced by " + new in project.cli("search", ASK).stdout


@pytest.mark.parametrize("way", ["edit", "restore"])
def test_a_replacement_can_be_undone(project: Project, old: str, way: str) -> None:
    project.save(*POSTGRES, "--supersedes", old)
    words = ("edit", old, "--superseded-by", "none") if way == "edit" else ("restore", old)
    assert "active)" in project.cli(*words).stdout
    both = project.cli("show", old, "--json").json, project.cli("list", "--json").json["memories"]
    assert both[0]["superseded_by"] == ""
    assert all(memory["supersedes"] == [] for memory in both[1])
    assert "MySQL 5" in recalled(project)


def test_an_unrequested_save_supersedes_nothing_until_it_is_accepted(project: Project, old: str) -> None:
    new = project.save(*POSTGRES, "--supersedes", old, inside=True)
    assert "MySQL 5" in recalled(project)
    assert "it replaces " + old in project.cli("accept", new).stdout
    assert "Postgres 16" in recalled(project)
    assert "MySQL" not in recalled(project)


def test_forgetting_the_newer_memory_reports_that_the_older_one_stays_superseded(
    project: Project, old: str
) -> None:
    new = project.save(*POSTGRES, "--supersedes", old)
    output = project.cli("forget", new).stdout
    assert (
        "%s, which it had replaced, stays replaced; to bring it back: memory restore %s" % (old, old)
        in output
    )
    assert recalled(project) == ""
    project.cli("restore", old)
    assert "MySQL 5" in recalled(project)


def test_archiving_the_only_record_of_a_replacement_restores_the_older_memory(
    project: Project, old: str
) -> None:
    new = project.save(*POSTGRES, "--supersedes", old, inside=True)
    project.cli("accept", new)
    assert "%s, which it had replaced, is shown again" % old in project.cli("forget", "--keep", new).stdout
    assert "MySQL 5" in recalled(project)


def test_a_memory_cannot_be_superseded_by_one_it_supersedes(project: Project, old: str) -> None:
    new = project.save(*POSTGRES, "--supersedes", old)
    run = project.cli("edit", new, "--superseded-by", old)
    assert run.returncode == 1
    assert "first run: memory edit %s --superseded-by none" % old in run.stderr
    assert "Postgres 16" in recalled(project)


def test_a_memory_cannot_be_superseded_by_a_pending_one(project: Project, old: str) -> None:
    new = project.save(*POSTGRES, inside=True)
    run = project.cli("edit", old, "--superseded-by", new)
    assert run.returncode == 1
    assert "first run: memory accept " + new in run.stderr
    assert "MySQL 5" in recalled(project)


def test_a_pending_memory_does_not_become_trusted_by_being_replaced(project: Project) -> None:
    project.write(
        ".claude/memory/decisions/theirs.json",
        {"title": MYSQL[0], "content": {"decision": MYSQL[1]}, "asked_as": ["the vault of bills"]},
    )
    project.save(*POSTGRES, "--supersedes", "theirs")
    record = project.cli("show", "theirs", "--json").json
    assert (record["life"], record["trust"]) == ("superseded", "pending")
    assert recalled(project, "tell me about the vault of bills please") == ""


def test_a_project_memory_replaces_a_user_memory_in_that_project_only(project: Project) -> None:
    own = project.save(*MYSQL, "--scope", "user")
    project.save(*POSTGRES, "--supersedes", own)
    assert "MySQL" not in recalled(project)
    with open(os.path.join(project.config, "memory", "decisions", own + ".json"), encoding="utf-8") as file:
        assert "superseded_by" not in json.load(file)


def test_a_rebuilt_index_still_leaves_out_the_superseded_memory(project: Project, old: str) -> None:
    project.save(*POSTGRES, "--supersedes", old)
    folder = os.path.join(project.state, "index")
    for name in os.listdir(folder):
        if name.endswith(".sqlite3"):
            os.unlink(os.path.join(folder, name))
    assert "MySQL" not in recalled(project)
    assert "Postgres 16" in recalled(project)


def test_the_doctor_names_a_superseded_memory_whose_successor_is_gone(project: Project, old: str) -> None:
    project.save(*POSTGRES)
    assert "superseded_by" not in project.cli("doctor").stdout
    new = project.save("Invoices are stored in S3", "A bucket.", "--supersedes", old)
    project.cli("forget", new, "--now")
    said = " ".join(project.cli("doctor").stdout.split())
    assert "%s.json: dangling: superseded_by: no memory is called %s" % (old, new) in said


def test_deleting_the_middle_of_a_chain_leaves_the_first_memory_superseded(
    project: Project, old: str
) -> None:
    middle = project.save(*POSTGRES, "--supersedes", old, inside=True)
    project.cli("accept", middle)
    project.save(
        "Invoices are stored in S3", "The billing service keeps invoices in a bucket.", "--supersedes", middle
    )
    project.cli("forget", middle, "--now")
    assert "a bucket" in recalled(project)
    assert "MySQL" not in recalled(project)
    assert "a bucket" in recalled(project, "tell me about the vault of bills please")
