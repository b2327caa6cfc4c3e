"""Paths: the current project, its main worktree, the config folder, and when there is no state folder."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.paths import (
    Paths,
    config_folder,
    data_path,
    git_folder,
    main_worktree,
    project_root,
    state_folder,
)
from tests.project import Project

AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)


def make_folder(*parts: str) -> str:
    path = os.path.join(*parts)
    os.makedirs(path, exist_ok=True)
    return path


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param({"CLAUDE_CONFIG_DIR": "/x/config", "HOME": "/h"}, "/x/config", id="the chosen one"),
        pytest.param({"CLAUDE_CONFIG_DIR": "/x/../y/", "HOME": "/h"}, "/y", id="made plain"),
        pytest.param(
            {"CLAUDE_CONFIG_DIR": "relative", "HOME": "/h"}, "/h/.claude", id="a relative one does not count"
        ),
        pytest.param({"HOME": "/h"}, "/h/.claude", id="the home's"),
        pytest.param({"USERPROFILE": "/u"}, "/u/.claude", id="as Windows calls it"),
        pytest.param({"HOME": ""}, None, id="an empty home"),
        pytest.param({"HOME": "h"}, None, id="a relative home"),
        pytest.param({}, None, id="no home"),
    ],
)
def test_the_config_folder(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, str], expected: str | None
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert config_folder() == expected


def test_the_project_is_the_git_root_from_any_folder_below(project: Project) -> None:
    below = make_folder(project.root, "a", "b")
    assert project_root(below) == project_root(project.root) == os.path.realpath(project.root)


def test_a_link_into_the_project_leads_to_it(project: Project) -> None:
    link = os.path.join(os.path.dirname(project.root), "link")
    os.symlink(make_folder(project.root, "a"), link)
    assert project_root(link) == os.path.realpath(project.root)


def test_without_git_a_store_marks_the_project_and_nothing_else_does(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    top = os.path.realpath(tmp_path_factory.mktemp("top"))
    below = make_folder(top, "a", "b")
    assert project_root(below) == below
    make_folder(top, ".claude", "memory")
    assert project_root(below) == top
    make_folder(top, "a", ".claude", "memory")
    assert project_root(below) == os.path.join(top, "a")


def test_the_users_own_store_is_not_a_project_root(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", project.config)
    make_folder(project.config, "memory")
    below = os.path.realpath(make_folder(project.home, "work"))
    assert project_root(below) == below


def worktree(project: Project, name: str = "linked") -> str:
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    path = os.path.join(os.path.realpath(os.path.dirname(project.root)), name)
    project.git("worktree", "add", "-q", path)
    return path


def test_a_worktree_knows_its_main_one(project: Project) -> None:
    linked = worktree(project)
    assert main_worktree(linked) == os.path.realpath(project.root)
    assert main_worktree(project.root) is None
    assert git_folder(linked) == os.path.join(os.path.realpath(project.root), ".git", "worktrees", "linked")


@pytest.mark.parametrize(
    "content", ["", "gitdir:", "gitdir: /nowhere", "gitdir: ../project/.git", "x" * 10_000, "gitdir: \0"]
)
def test_a_git_file_that_leads_nowhere_is_not_believed(
    make_project: Callable[..., Project], content: str
) -> None:
    thief = make_folder(os.path.dirname(make_project().root), "thief")
    with open(os.path.join(thief, ".git"), "w", encoding="utf-8") as file:
        file.write(content)
    assert main_worktree(thief) is None


def test_a_git_file_whose_main_repository_does_not_point_back_is_not_believed(project: Project) -> None:
    linked = worktree(project)
    thief = make_folder(os.path.dirname(project.root), "thief")
    with open(os.path.join(linked, ".git"), encoding="utf-8") as file:
        pointer = file.read()
    with open(os.path.join(thief, ".git"), "w", encoding="utf-8") as file:
        file.write(pointer)
    assert main_worktree(thief) is None


def test_a_git_file_that_is_a_pipe_is_not_waited_for(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = str(tmp_path_factory.mktemp("odd"))
    os.mkfifo(os.path.join(folder, ".git"))
    assert git_folder(folder) is None
    assert main_worktree(folder) is None


def test_the_state_lies_below_the_config_folder(project: Project) -> None:
    root = os.path.realpath(project.root)
    assert state_folder(project.config, root) == (project.state, "")


def test_no_home_is_no_state() -> None:
    folder, why = state_folder(None, "/p")
    assert folder is None
    assert "no home folder" in why


def test_a_config_folder_inside_the_project_is_no_state(project: Project) -> None:
    root = os.path.realpath(project.root)
    for inside in (
        make_folder(root, "evil"),
        make_folder(root, "deep", ".claude"),
        make_folder(root, ".claude"),
    ):
        folder, why = state_folder(inside, root)
        assert folder is None
        assert "inside the project" in why


def test_a_linked_config_folder_is_followed_before_it_is_judged(project: Project) -> None:
    root = os.path.realpath(project.root)
    link = os.path.join(project.home, "config")
    os.symlink(make_folder(root, "evil"), link)
    assert state_folder(link, root)[0] is None


def test_a_state_folder_inside_the_project_is_refused(project: Project) -> None:
    root = os.path.realpath(project.root)
    os.symlink(make_folder(root, "evil"), os.path.join(project.config, "lcars"))
    folder, why = state_folder(project.config, root)
    assert folder is None
    assert "leads into the project" in why


def test_the_home_folder_may_be_the_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    home = os.path.realpath(project.home)
    assert state_folder(os.path.join(home, ".claude"), home)[0] is None
    monkeypatch.setenv("HOME", project.home)
    assert state_folder(os.path.join(home, ".claude"), home)[0] is not None
    assert state_folder(os.path.join(home, ".config", "claude"), home)[0] is not None


@AS_ROOT
@pytest.mark.parametrize("part", ["", "lcars/memory"])
def test_a_state_folder_of_another_user_is_refused(project: Project, part: str) -> None:
    os.chown(make_folder(project.config, part), 12345, 12345)
    folder, why = state_folder(project.config, project.root)
    assert folder is None
    assert "belongs to another user" in why


def test_a_path_that_is_not_utf_8_is_refused_in_words() -> None:
    for config, root in (("/home/\udce9/.claude", "/work"), ("/home/a/.claude", "/work/\udce9")):
        folder, why = state_folder(config, root)
        assert (folder, "not UTF-8; rename" in why) == (None, True)


def test_places_name_the_project_for_people_and_surely(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = make_project(), make_project()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", one.config)
    keys = {Paths(project.root).project_key for project in (one, two)}
    assert len(keys) == 2
    assert all(key.startswith("project-") for key in keys)
    assert Paths(one.root).state("a", "b") == os.path.join(one.state, "a", "b")


def test_without_state_a_path_in_it_is_an_error_that_says_why(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", os.path.join(project.root, "evil"))
    with pytest.raises(RuntimeError, match="inside the project"):
        Paths(project.root).state("index")


def test_the_plugin_s_data_is_found() -> None:
    assert os.path.isfile(data_path("defaults.json"))
