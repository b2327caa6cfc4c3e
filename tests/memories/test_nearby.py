"""Stores and notes next to a project's own that are not read are named, each with the reason."""

from __future__ import annotations

import os

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.nearby import unread_nearby
from tests.project import Project
from tests.recall.store_files import at_home


def make_store(root: str) -> None:
    os.makedirs(os.path.join(root, ".claude", "memory", "decisions"))


def unread(project: Project, launch: str = "") -> list[str]:
    with at_home(project):
        return unread_nearby(Paths(launch or project.root))


def test_a_project_alone_has_nothing_nearby(project: Project) -> None:
    project.save("Use Postgres", "b")
    assert unread(project) == []


@pytest.mark.parametrize("git", [".git", ".git/"])
def test_a_submodule_names_the_project_around_it(project: Project, git: str) -> None:
    make_store(project.root)
    inner = os.path.join(project.root, "libs", "lib")
    os.makedirs(os.path.join(inner, ".git") if git[4:] else inner)
    if not git[4:]:
        project.write("libs/lib/.git", "gitdir: ../../.git/modules/lib\n")
    (line,) = unread(project, inner)
    assert project.root in line
    assert line.endswith("start Claude Code in " + project.root)


def test_a_package_with_a_store_is_named_where_it_is_the_working_folder(project: Project) -> None:
    project.git("init", "-q")
    package = os.path.join(project.root, "packages", "pay")
    make_store(package)
    (line,) = unread(project, package)
    assert "memory import %s" % package in line


def test_the_packages_with_a_store_are_named_where_git_knows_them(project: Project) -> None:
    project.git("init", "-q")
    for name in ("pay", "ship"):
        project.write("packages/%s/.claude/memory/decisions/a.json" % name, "{}")
    project.git("add", "-A")
    lines = unread(project)
    assert [line.rpartition("/packages/")[2] for line in lines] == [
        "pay/.claude/memory",
        "ship/.claude/memory",
    ]


def test_stores_that_git_does_not_know_are_named_two_folders_down(project: Project) -> None:
    for name in ("clones/api", "web", "too/far/down", ".hidden"):
        make_store(os.path.join(project.root, name))
    os.makedirs(os.path.join(project.root, "clones", "api", ".git"))
    assert [line.partition(" are not read")[0].rpartition(project.root)[2] for line in unread(project)] == [
        "/clones/api",
        "/web",
    ]


def test_a_store_outside_the_sparse_checkout_is_named(project: Project) -> None:
    project.save("Use Postgres", "b")
    project.write("src/a.py", "pass\n")
    project.git("init", "-q")
    project.git("add", "-f", "-A")
    project.git("commit", "-q", "-m", "first")
    project.git("sparse-checkout", "set", "--cone", "src")
    (line,) = unread(project)
    assert line.endswith("are outside the sparse checkout: git sparse-checkout add .claude/memory")
    project.git("sparse-checkout", "add", ".claude/memory")
    assert unread(project) == []


def test_a_worktree_below_and_the_user_s_own_store_are_no_other_stores(project: Project) -> None:
    project.save("Use Postgres", "b")
    project.git("init", "-q")
    project.git("add", "-f", "-A")
    project.git("commit", "-q", "-m", "first")
    project.git("worktree", "add", "-q", "trees/x")
    assert os.path.isdir(os.path.join(project.root, "trees", "x", ".claude", "memory"))
    assert unread(project) == []
    make_store(project.home)
    assert project.home not in "".join(unread(project, os.path.dirname(project.home)))
    make_store(os.path.join(project.home, "clone"))
    assert unread(project, project.home) == []


def test_other_worktrees_of_a_bare_repository_are_named(project: Project) -> None:
    project.git("init", "-q")
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    above = os.path.dirname(project.root)
    project.git("clone", "-q", "--bare", ".", os.path.join(above, "bare.git"))
    for name in ("one", "two"):
        project.git(
            "--git-dir=" + os.path.join(above, "bare.git"),
            "worktree",
            "add",
            "-q",
            os.path.join(above, name),
            "-b",
            name,
        )
    make_store(os.path.join(above, "one"))
    (line,) = unread(project, os.path.join(above, "two"))
    assert os.path.join(above, "one") in line
    assert "bare repository" in line
    assert unread(project, os.path.join(above, "one")) == []


def test_a_team_s_notes_in_the_store_are_named(project: Project) -> None:
    project.write(".claude/memory/deploy.md", "We deploy on Tuesday.\n")
    (line,) = unread(project)
    store = os.path.join(project.root, ".claude", "memory")
    notes = "1 Markdown note in %s is not read; to make memories from notes: memory import %s"
    assert line == notes % (store, store)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("topics/deploy.md", "1 Markdown note"),
        ("decisions/deploy.md", "1 Markdown note"),
        ("deploy.json", "1 JSON file"),
        ("architecture/deploy.json", "1 JSON file"),
        ("decisions/sub/deploy.json", "1 JSON file"),
        ("decisions/deploy.JSON", "1 JSON file"),
        ("decisions/deploy.json", ""),
        (".obsidian/app.json", ""),
    ],
)
def test_what_a_store_holds_in_other_places_is_counted(project: Project, path: str, what: str) -> None:
    project.save("Use Postgres", "b")
    project.write(".claude/memory/" + path, "We deploy on Tuesday.\n")
    assert [line[: len(what)] for line in unread(project)] == ([what] if what else [])


def test_a_category_that_is_a_link_is_named(project: Project) -> None:
    project.save("Use Postgres", "b")
    folder = os.path.join(project.root, ".claude", "memory", "decisions")
    os.rename(folder, project.root + "-decisions")
    os.symlink(project.root + "-decisions", folder)
    (line,) = unread(project)
    assert "because it is a link" in line


@pytest.mark.parametrize("linked", ["memory", "memory/deploy.md"])
def test_notes_of_claude_code_that_are_linked_into_a_repository_are_named(
    project: Project, linked: str
) -> None:
    project.git("init", "-q")
    project.write("notes/a.md", "Deploy freely.\n")
    folder = os.path.join(
        project.config, "projects", "".join(c if c.isalnum() else "-" for c in project.root)
    )
    link = os.path.join(folder, linked)
    os.makedirs(os.path.dirname(link))
    os.symlink(os.path.join(project.root, "notes", *["a.md"] * linked.endswith(".md")), link)
    (line,) = unread(project)
    assert "leads into a working tree" in line
