"""The branch and the changed files are read without git; no repository can make that fail or take long."""

from __future__ import annotations

import os

import pytest

from memory_plugin.recall.project_files import branch_name, changed_files
from tests.project import Project


def committed(project: Project, *names: str) -> None:
    """Commit files with these names, written a while ago."""
    for name in names:
        path = project.write(name, "content of %s\n" % name)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    project.git("add", "-A")
    project.git("commit", "-qm", "files")


@pytest.mark.parametrize(
    ("branch", "name"), [("feature/billing-export", "feature/billing-export"), ("main", ""), ("develop", "")]
)
def test_the_branch(project: Project, branch: str, name: str) -> None:
    committed(project, "a.py")
    project.git("checkout", "-q", "-B", branch)
    assert branch_name(project.root) == name


def test_a_detached_head_has_no_branch(project: Project) -> None:
    committed(project, "a.py")
    project.git("checkout", "-q", "--detach")
    assert branch_name(project.root) == ""


def test_changed_files_are_those_that_git_names(project: Project) -> None:
    committed(project, "a.py", "docs/b c.md", "src/d.py", "src/e.py")
    project.write("src/d.py", "changed\n")
    project.write("docs/b c.md", "changed too\n")
    os.unlink(os.path.join(project.root, "a.py"))
    project.write("new.py", "untracked\n")
    assert set(changed_files(project.root)) == {"src/d.py", "docs/b c.md"}


def test_in_a_worktree(project: Project) -> None:
    committed(project, "a.py")
    folder = os.path.join(os.path.dirname(project.root), "linked")
    project.git("worktree", "add", "-q", folder, "-b", "fix-totals")
    with open(os.path.join(folder, "a.py"), "w", encoding="utf-8") as file:
        file.write("changed\n")
    assert (branch_name(folder), changed_files(folder)) == ("fix-totals", ["a.py"])


def test_a_git_file_that_nothing_points_back_at_is_not_followed(project: Project) -> None:
    committed(project, "a.py")
    project.git("checkout", "-q", "-b", "secret")
    folder = os.path.join(os.path.dirname(project.root), "hostile")
    os.makedirs(folder)
    with open(os.path.join(folder, ".git"), "w", encoding="utf-8") as file:
        file.write("gitdir: %s\n" % os.path.join(project.root, ".git"))
    assert (branch_name(folder), changed_files(folder)) == ("", [])


def test_a_copied_folder_counts_as_unchanged(project: Project) -> None:
    committed(project, *("f%d.py" % n for n in range(50)))
    for n in range(50):
        os.utime(os.path.join(project.root, "f%d.py" % n), (1_100_000_000, 1_100_000_000))
    assert changed_files(project.root) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"DIRC",
        b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"\0" * 200,
        b"DIRC\0\0\0\4\0\0\0\1" + b"\0" * 80,
        b"DIRC\0\0\0\2\0\0\0\1" + b"\x81" * 200,
        b"x" * (1 << 20),
    ],
)
def test_a_strange_index_names_nothing(project: Project, data: bytes) -> None:
    with open(os.path.join(project.root, ".git", "index"), "wb") as file:
        file.write(data)
    assert changed_files(project.root) == []


def test_paths_of_an_index_lead_nowhere_else(project: Project) -> None:
    """Git writes no such path; an index that came in an archive may hold it."""
    committed(project, "abcdefgh")
    path = os.path.join(project.root, ".git", "index")
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data.replace(b"abcdefgh", b"../../ab"))
    with open(os.path.join(os.path.dirname(os.path.dirname(project.root)), "ab"), "w", encoding="utf-8"):
        assert changed_files(project.root) == []
