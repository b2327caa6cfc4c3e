"""`memory demo`: five prompts through the real hook, without leaving files behind."""

from __future__ import annotations

import os

from tests.project import Project


def test_the_demo_shows_five_prompts_and_leaves_nothing(project: Project) -> None:
    box = os.path.dirname(project.root)
    before = {at: (folders, names) for at, folders, names in os.walk(box) if ".git" not in at}
    run = project.cli("demo", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    prompts = run.json["prompts"]
    assert [bool(row["told"]) for row in prompts].count(False) == 2
    assert len(prompts) == 5
    assert all(row["why"] for row in prompts)
    assert {at: (folders, names) for at, folders, names in os.walk(box) if ".git" not in at} == before


def test_the_demo_needs_no_home_and_no_project(project: Project) -> None:
    run = project.cli("demo", HOME=None, CLAUDE_CONFIG_DIR=None)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count("\n> ") == 5
    assert run.stdout.count("(nothing)") == 2
    assert "Order queue is stuck" in run.stdout
    assert "% (the full text needs 50%), " in run.stdout
    assert "<memory" not in run.stdout


def test_the_demo_works_inside_the_client_too(project: Project) -> None:
    assert project.cli("demo", inside=True).stdout.count("(nothing)") == 2
