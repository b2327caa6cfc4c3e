"""What git did, read from its own log."""

from __future__ import annotations

import os

import pytest

from memory_plugin.memories import gitlog
from memory_plugin.memories.gitlog import Mark, is_settled, mark, moved_since
from tests.project import Project

NEVER = Mark(0, "")


def log(project: Project) -> str:
    return os.path.join(project.root, ".git", "logs", "HEAD")


def commit(project: Project, *options: str) -> None:
    project.git("commit", "-q", "--allow-empty", "-m", "words", *options)


def test_no_git_and_no_commit_are_the_beginning(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for folder in (project.root, str(tmp_path_factory.mktemp("plain"))):
        assert mark(folder) == NEVER
        assert not moved_since(folder, NEVER)


def test_the_user_s_commits_are_no_move(project: Project) -> None:
    commit(project)
    before = mark(project.root)
    commit(project)
    commit(project, "--amend")
    assert mark(project.root) != before
    assert not moved_since(project.root, NEVER)
    assert not moved_since(project.root, before)


@pytest.mark.parametrize(
    "deed",
    [
        ("checkout", "-q", "-b", "other"),
        ("reset", "-q", "--hard", "HEAD~1"),
        ("pull", "-q", ".", "side"),
        ("cherry-pick", "--allow-empty", "side"),
    ],
    ids=lambda deed: deed[0],
)
def test_everything_else_is_a_move(project: Project, deed: tuple[str, ...]) -> None:
    commit(project)
    commit(project)
    project.git("checkout", "-q", "-b", "side")
    commit(project)
    project.git("checkout", "-q", "main")
    before = mark(project.root)
    assert not moved_since(project.root, before)
    project.git(*deed)
    assert moved_since(project.root, before)


def rewritten(path: str) -> None:
    with open(path, "r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(content.replace(b"words", b"WORDS"))


def grown(path: str) -> None:
    with open(path, "ab") as file:
        file.truncate(64 << 20)


@pytest.mark.parametrize(
    "change",
    [os.unlink, rewritten, grown, lambda path: os.truncate(path, 3)],
    ids=["gone", "rewritten", "huge", "cut"],
)
def test_a_log_that_cannot_be_followed_counts_as_moved(project: Project, change: object) -> None:
    commit(project)
    before = mark(project.root)
    assert callable(change)
    change(log(project))
    assert moved_since(project.root, before)


@pytest.mark.parametrize(
    "odd", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)], ids=["pipe", "folder", "link"]
)
def test_a_log_that_is_no_file_is_not_waited_for(project: Project, odd: object) -> None:
    commit(project)
    before = mark(project.root)
    os.unlink(log(project))
    assert callable(odd)
    odd(log(project))
    assert mark(project.root) == NEVER
    assert moved_since(project.root, before)


def test_a_worktree_has_a_log_of_its_own(project: Project) -> None:
    commit(project)
    linked = os.path.join(os.path.dirname(project.root), "linked")
    project.git("worktree", "add", "-q", linked)
    assert mark(linked) not in (NEVER, mark(project.root))


def test_git_is_at_rest_when_it_holds_no_lock_and_changed_nothing_just_now(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert is_settled(str(tmp_path_factory.mktemp("plain")))
    assert is_settled(project.root)
    project.write("a.txt", "x")
    project.git("add", "a.txt")
    assert not is_settled(project.root)
    monkeypatch.setattr(gitlog, "_SETTLE_SECONDS", 0.0)
    assert is_settled(project.root)
    with open(os.path.join(project.root, ".git", "index.lock"), "w", encoding="utf-8"):
        pass
    assert not is_settled(project.root)
