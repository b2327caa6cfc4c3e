"""The locations of stores, including worktrees and the home folder."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.paths import Paths, locate
from memory_plugin.memories.memory_files import PROJECT, USER, named_store, project_store, store_key, stores
from tests.project import Project


def test_the_project_s_store_is_found_from_any_folder_below(project: Project, paths: Paths) -> None:
    below = os.path.join(project.root, "src", "deep")
    os.makedirs(below)
    assert project_store(locate(below)) == project_store(paths)
    assert project_store(paths).root == os.path.join(paths.project_root, ".claude", "memory")


def test_both_stores_are_searched_the_project_s_first(paths: Paths) -> None:
    assert [store.scope for store in stores(paths)] == [PROJECT, USER]
    assert named_store(paths, USER).root == os.path.join(str(paths.config_dir), "memory")


def test_in_the_home_folder_there_is_one_store(project: Project, paths: Paths) -> None:
    assert [store.scope for store in stores(locate(project.home))] == [USER]


def worktree(project: Project) -> str:
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    path = os.path.join(os.path.dirname(project.root), "linked")
    project.git("worktree", "add", "-q", path)
    return path


def test_a_worktree_without_a_store_shares_the_main_one(project: Project, paths: Paths) -> None:
    linked = locate(worktree(project))
    assert project_store(linked).root.startswith(linked.project_root)
    os.makedirs(project_store(paths).root)
    assert project_store(linked).root == project_store(paths).root
    os.makedirs(os.path.join(linked.project_root, ".claude", "memory"))
    assert project_store(linked).root == os.path.join(linked.project_root, ".claude", "memory")


def test_a_git_file_that_the_main_repository_does_not_know_is_not_believed(
    make_project: Callable[..., Project], project: Project, paths: Paths
) -> None:
    worktree(project)
    os.makedirs(project_store(paths).root)
    thief = make_project()
    os.rename(os.path.join(thief.root, ".git"), os.path.join(thief.root, "git"))
    with open(os.path.join(thief.root, ".git"), "w", encoding="utf-8") as file:
        file.write("gitdir: %s\n" % os.path.join(project.root, ".git", "worktrees", "linked"))
    assert project_store(locate(thief.root)).root.startswith(os.path.realpath(thief.root))


def test_every_store_has_a_key_of_its_own(paths: Paths) -> None:
    assert len({store_key(store) for store in stores(paths)}) == 2


def test_without_a_config_folder_there_is_no_user_store(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    paths = locate(project.root)
    assert [store.scope for store in stores(paths)] == [PROJECT]
    with pytest.raises(RuntimeError, match="no home folder"):
        named_store(paths, USER)
