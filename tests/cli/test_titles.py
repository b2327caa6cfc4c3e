"""Titles are unique within a scope, whichever command would store a second memory."""

from __future__ import annotations

import json
import os

from tests.project import Project

TITLE = "Postgres for billing"


def titles(project: Project) -> list[str]:
    """Return the titles of the project's active memories."""
    return sorted(memory["title"] for memory in project.memories())


def test_import_skips_a_taken_title_and_says_which_memory_has_it(project: Project) -> None:
    name = project.save(TITLE, "Billing runs on Postgres 16.")
    rows = [
        {"title": "postgres  FOR billing", "body": "Billing runs on Postgres 17."},
        {"title": TITLE, "body": "Billing runs on Postgres 16.", "category": "decision"},
        {"title": "Tabs", "body": "Indent with tabs."},
        {"title": "Tabs", "body": "Never indent with tabs in YAML, which forbids them."},
    ]
    path = project.write("notes.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    for words in (("import", path, "--dry-run"), ("import", path)):
        run = project.cli(*words)
        assert run.returncode == 1
        taken = "%s already has this title; to change that one: memory edit %s" % (name, name)
        assert "skipped: %s:1: %s" % (os.path.basename(path), taken) in run.stderr
    assert titles(project) == [TITLE, "Tabs", "Tabs"]


def test_edit_does_not_give_a_memory_the_title_of_another(project: Project) -> None:
    taken = project.save(TITLE, "Billing runs on Postgres 16.")
    other = project.save("MySQL for reports", "Reports read from a MySQL replica.")
    run = project.cli("edit", other, "--title", TITLE)
    assert run.returncode == 1
    assert run.stderr == (
        "memory: %s already has this title. Choose a different one; if both say the same: memory edit %s --superseded-by %s\n"
        % (taken, other, taken)
    )
    assert titles(project) == ["MySQL for reports", TITLE]
    assert project.cli("edit", other, "--title", "mysql for Reports").returncode == 0
    assert project.cli("forget", "--keep", taken).returncode == 0
    assert project.cli("edit", other, "--title", TITLE).returncode == 0


def test_finish_writes_nothing_while_a_title_is_taken(project: Project) -> None:
    assert project.cli("interview", "start", "billing export", "--json").returncode == 0
    answer_text = "question: How fast?\nanswer: It takes a minute at most\nconcept: constraint | one minute | 1 | 0.9 | a minute at most\n"
    answered = project.cli("interview", "answer", "--json", stdin=answer_text)
    assert answered.returncode == 0, answered.stderr
    proposed = project.cli("interview", "finish", "--json").json["memories"]
    assert proposed
    taken = project.save(proposed[0]["title"], "Something else that was known before.")
    run = project.cli("interview", "finish", "--confirm")
    assert run.returncode == 1
    assert "%s already has this title" % taken in run.stderr
    assert "Nothing was written" in run.stderr
    confirmation = "memory: %s\ntitle: The export takes a minute\n" % proposed[0]["concept"]
    finished = project.cli("interview", "finish", "--confirm", stdin=confirmation)
    assert finished.returncode == 0, finished.stderr
    assert "The export takes a minute" in titles(project)
