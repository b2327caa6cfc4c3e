"""`memory check`: each kind of problem is found in its file, without false alarms and without local state."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memory_plugin.memories.record import categories, new_memory
from tests.project import Project

TOKEN = "ghp_" + "q7Zx2KpW9dLm4RtY8vBn3HsJ6fGc1TaQ0eUi"


def put(project: Project, name: str, kind: str = "decision", **fields: object) -> str:
    """Write a memory that has no problem but those in `fields`; return its path."""
    chosen = categories()[kind]
    data = new_memory(chosen, name, "Title of " + name, {chosen.primary: "The body of %s." % name}, {})
    return project.write(".claude/memory/%s/%s.json" % (chosen.folder, name), {**data, **fields})


def check(project: Project, *paths: str) -> list[tuple[str, str]]:
    """Return the file's name and the rule of each finding; the exit code must agree."""
    run = project.cli("check", *paths, "--json")
    found: list[Any] = run.json["findings"]
    assert run.returncode == (1 if found else 0), run.stderr
    return [(os.path.basename(finding["path"]), finding["rule"]) for finding in found]


def test_a_store_in_order(project: Project) -> None:
    put(project, "a", tags=["x"], asked_as=["how"], expires_at="2031-01-01", supersedes=["b"])
    put(project, "b", superseded_by="a")
    put(project, "c", "constraint", guard={"commands": ["git push --force"], "action": "ask"})
    put(project, "gone", record_status="retired", title="Title of a")
    run = project.cli("check")
    assert (run.returncode, run.stdout) == (0, "no problems in 4 memories\n")


def test_a_problem_is_named_by_its_file(project: Project) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"title": "x" * 121}, "format"),
        ({"title": "one\ntwo"}, "format"),
        ({"tags": "x"}, "format"),
        ({"tags": [1]}, "format"),
        ({"asked_as": ["p%d" % number for number in range(9)]}, "format"),
        ({"superseded_by": 5}, "format"),
        ({"content": {}}, "format"),
        ({"expires_at": "soon"}, "expiry"),
        ({"guard": {"commands": ["a && b"]}}, "guard"),
        ({"guard": {"files": 5}}, "guard"),
        ({"supersedes": ["nobody"]}, "dangling"),
        ({"superseded_by": "runbook/nobody"}, "dangling"),
        ({"title": ""}, "file"),
        ({"record_status": "odd"}, "file"),
        ({"content": {"decision": "The token is %s." % TOKEN}}, "secret"),
    ]
    put(project, "fine")
    for number, (fields, _) in enumerate(cases):
        put(project, "odd-%02d" % number, **fields)
    expected = [("odd-%02d.json" % number, rule) for number, (_, rule) in enumerate(cases)]
    assert sorted(check(project)) == expected
    run = project.cli("check")
    assert all(".claude/memory/decisions/" + name in run.stdout for name, _ in expected)
    assert run.stdout.splitlines()[-1].startswith("%d problems in " % len(cases))
    assert TOKEN not in run.stdout


def test_a_name_in_the_user_s_own_store_cannot_be_checked(project: Project) -> None:
    put(project, "a", supersedes=["user:decision/mine"])
    assert check(project) == []


@pytest.mark.parametrize(
    "links",
    [
        {"a": {"superseded_by": "b"}, "b": {"superseded_by": "a"}},
        {"a": {"supersedes": ["b"]}, "b": {"supersedes": ["a"]}},
        {"a": {"superseded_by": "b"}, "b": {"superseded_by": "c"}, "c": {"supersedes": ["d"], "superseded_by": "a"}},
    ],
    ids=["two", "two that replace", "three"],
)  # fmt: skip
def test_memories_that_replace_each_other_are_named(
    project: Project, links: dict[str, dict[str, Any]]
) -> None:
    for name in ("a", "b", "c", "d"):
        put(project, name, **links.get(name, {}))
    assert check(project) == [(name + ".json", "circle") for name in links]
    assert "memory restore a" in project.cli("check").stdout


def test_what_git_keeps_in_a_store_is_not_searched(project: Project) -> None:
    put(project, "a")
    project.write(".claude/memory/.git/config", "url = https://ada:%s@example.org/x.git" % TOKEN)
    assert check(project) == []


@pytest.mark.parametrize("same", [{"title": "TITLE of  a"}, {"content": {"decision": "The body of a."}}])
def test_duplicates(project: Project, same: dict[str, Any]) -> None:
    put(project, "a", created_at="2026-01-01T00:00:00Z")
    put(project, "b", created_at="2026-02-01T00:00:00Z", **same)
    assert check(project) == [("b.json", "duplicate")]


@pytest.mark.parametrize("first", ["  ", "{"], ids=["inside", "at the beginning"])
def test_merge_conflict_markers_are_reported_as_such(project: Project, first: str) -> None:
    path = put(project, "a")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    project.write(".claude/memory/decisions/a.json", text.replace(first, "<<<<<<< HEAD\n" + first, 1))
    run = project.cli("check")
    assert run.returncode == 1
    assert "a.json: file: it contains a merge conflict" in run.stdout


def test_no_memory_file_is_passed_over(project: Project) -> None:
    os.symlink("/etc/hostname", os.path.join(os.path.dirname(put(project, "a")), "link.json"))
    assert check(project) == [("link.json", "file")]


def test_only_the_given_files_are_reported_but_all_are_compared(project: Project) -> None:
    first = put(project, "a", created_at="2026-01-01T00:00:00Z")
    second = put(project, "b", created_at="2026-02-01T00:00:00Z", title="Title of a")
    put(project, "c", expires_at="soon")
    assert check(project, first) == []
    assert check(project, first, second) == [("b.json", "duplicate")]
    assert len(check(project, os.path.dirname(first))) == 2
    assert len(check(project, project.root)) == 2


def test_a_path_without_a_store_is_a_mistake_and_a_project_without_one_is_not(project: Project) -> None:
    assert check(project) == []
    assert project.cli("check", project.home).returncode == 2
    assert project.cli("check", "nowhere").returncode == 2
    os.makedirs(project.root + "-other")
    put(project, "a", expires_at="soon")
    assert project.cli("check", project.root + "-other").returncode == 2
    assert project.cli("check", os.path.dirname(project.root)).returncode == 2


def test_it_needs_no_home_and_writes_nothing(project: Project) -> None:
    put(project, "a", expires_at="soon")
    run = project.cli("check", "--json", HOME="/nonexistent", CLAUDE_CONFIG_DIR=None)
    assert run.returncode == 1
    assert len(run.json["findings"]) == 1
    project.cli("check")
    assert not os.path.exists(os.path.join(project.state, "trust"))


def test_the_text_of_a_file_is_shown_without_control_characters(project: Project) -> None:
    put(project, "a", expires_at="\x1b[31mred", supersedes=["\x1b]0;x\x07"])
    out = json.loads(project.cli("check", "--json").stdout)
    assert len(out["findings"]) == 2
    assert not any(ord(sign) < 32 for finding in out["findings"] for sign in finding["text"])
