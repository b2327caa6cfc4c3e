"""Files that memories name and that are gone: what git or a name says about where they are, and the command that helps."""

from __future__ import annotations

import os

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.memory_files import all_memories, project_store
from memory_plugin.memories.repository import gone_files, not_checked_out
from tests.project import Project

OLD = "src/billing.py"


def stored(project: Project, *files: str) -> None:
    project.git("init", "-q")
    project.write(OLD, "def bill():\n    return 'one of many lines'\n")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "first")
    named = [word for file in files or (OLD,) for word in ("--file", file)]
    project.cli(
        "save", "--category", "decision", "--title", "Bills round half up", "--body", "They do.", *named
    )


def lines(project: Project) -> list[str]:
    return [str(gone) for gone in gone_files(list(all_memories(project_store(Paths(project.root)))))]


def test_what_exists_patterns_and_places_outside_are_not_named(project: Project) -> None:
    stored(project, OLD, "src/*.py", "~/x.py", "/etc/nothing", OLD + ":2")
    assert lines(project) == []


@pytest.mark.parametrize("how", ["commit", "stage", "mv", "other name"])
def test_a_file_that_was_moved_is_found(project: Project, how: str) -> None:
    stored(project, OLD, "Makefile")
    project.write("Makefile", "all:\n")
    new = "pay/rounding.py" if how in ("commit", "stage", "other name") else "pay/billing.py"
    os.makedirs(os.path.join(project.root, "pay"))
    if how in ("commit", "stage"):
        project.git("mv", OLD, new)
    else:
        os.rename(os.path.join(project.root, OLD), os.path.join(project.root, new))
    if how == "commit":
        project.git("commit", "-q", "-m", "moved")
    (line,) = lines(project)
    assert line == "%s was moved to %s: memory edit bills-round-half-up --file %s --file Makefile" % (
        OLD,
        new,
        new,
    )


def test_a_file_that_was_never_committed_is_not_taken_for_a_link(project: Project) -> None:
    stored(project, "plan.py")
    os.symlink("nowhere", os.path.join(project.root, "link"))
    assert [line.partition(";")[0] for line in lines(project)] == ["plan.py is not there"]


def test_a_folder_that_was_moved_twice_is_found(project: Project) -> None:
    stored(project, "src/")
    for new in ("lib", "core"):
        project.git("mv", "src" if new == "lib" else "lib", new)
        project.git("commit", "-q", "-m", new)
    assert "src was moved to core:" in lines(project)[0]


def test_of_two_files_of_a_name_none_is_guessed_and_show_and_check_say_what_is_gone(project: Project) -> None:
    stored(project)
    os.unlink(os.path.join(project.root, OLD))
    for folder in ("a", "b"):
        project.write(folder + "/billing.py", folder)
    (line,) = lines(project)
    assert line.startswith(OLD + " is gone; if the memory still holds: memory edit bills-round-half-up")
    shown = project.cli("show", "bills-round-half-up").stdout
    assert line.replace("; if not:", " if not:") in shown.replace("\n", " ")
    assert "\nmemory forget bills-round-half-up\n" in shown
    run = project.cli("check")
    assert (run.returncode, "gone: " + OLD in run.stdout) == (0, True)
    told = project.prompt("do bills round half up?").context
    assert "Files: %s (gone)" % OLD in told
    project.cli("edit", "bills-round-half-up", "--file", "none")
    assert lines(project) == []


def test_a_shallow_clone_says_that_git_may_know_more(project: Project) -> None:
    stored(project, "plan.py")
    project.write(".git/shallow", "")
    assert (
        "plan.py is not there (to ask git, which has only the last commits here: git fetch"
        in lines(project)[0]
    )


@pytest.mark.parametrize("name", ["billing.py", "src/Billing.py", "billing.py:2"])
def test_the_only_file_of_that_name_is_named_when_a_memory_is_saved(project: Project, name: str) -> None:
    stored(project, "Makefile")
    run = project.cli(
        "save", "--category", "decision", "--title", "Totals", "--body", "Down.", "--file", name
    )
    line = "%s is not there, but %s is:\n  memory edit totals --file %s"
    assert line % (name, OLD, OLD) in run.stdout


@pytest.mark.parametrize("name", ["pay/", "pay/*.py"])
def test_a_file_with_the_name_of_a_folder_is_not_its_namesake(project: Project, name: str) -> None:
    project.write("bin/pay", "echo paid\n")
    stored(project, name)
    (line,) = lines(project)
    assert line.startswith(name + " is not there; if the memory still holds:")


@pytest.mark.parametrize("how", ["sparse", "ignored", "ignored folder", "submodule"])
def test_what_a_working_tree_need_not_have_is_not_gone(project: Project, how: str) -> None:
    names = {
        "sparse": OLD,
        "ignored": "local.env",
        "ignored folder": "dist/app.js",
        "submodule": "libs/x/a.py",
    }
    project.write(".gitignore", "*.env\ndist/\n")
    project.write("keep/a.py", "a = 1\n")
    stored(project, names[how])
    if how == "sparse":
        project.git("sparse-checkout", "set", "keep", ".claude")
    elif how == "submodule":
        project.git("update-index", "--add", "--cacheinfo", "160000,%s,libs/x" % ("1" * 40))
        os.makedirs(os.path.join(project.root, "libs", "x"))
    assert not os.path.exists(os.path.join(project.root, names[how]))
    assert lines(project) == []
    assert "(gone)" not in project.prompt("do bills round half up?").context


def test_a_missing_file_in_a_submodule_hides_nothing_of_the_others(project: Project) -> None:
    project.write(".gitignore", "*.env\n")
    project.git("update-index", "--add", "--cacheinfo", "160000,%s,libs/x" % ("1" * 40))
    project.write("libs/x/b.py", "b = 1\n")
    project.write("forced.env", "PORT=1\n")
    project.git("add", "-f", "forced.env")
    os.unlink(os.path.join(project.root, "forced.env"))
    paths = ["libs/x/a.py", "local.env", "pay.py", "forced.env"]
    assert not_checked_out(paths, project.root) == {"local.env"}


def test_a_missing_file_in_a_folder_that_nobody_may_list_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.makedirs(os.path.join(project.root, "vault"))
    stored(project, "vault/keys.md")

    def refuse(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("memory_plugin.memories.repository.os.listdir", refuse)
    (gone,) = gone_files(list(all_memories(project_store(Paths(project.root)))))
    assert gone.change == "vault/keys.md is not there"


def test_one_command_names_all_files_as_they_are_now(project: Project) -> None:
    stored(project, OLD, "src/*.py", "README", "Makefile")
    project.write("Makefile", "all:\n")
    project.git("mv", "src", "pay")
    project.git("commit", "-q", "-m", "moved")
    command = "memory edit bills-round-half-up --file pay/billing.py --file 'pay/*.py' --file Makefile"
    found = lines(project)
    assert [line.partition(": ")[0] for line in found[:2]] == [
        OLD + " was moved to pay/billing.py",
        "src/*.py was moved to pay/*.py",
    ]
    assert found[2].startswith("README is not there; ")
    assert all(command in line for line in found)
    project.cli(*command.replace("'", "").split()[1:])
    assert lines(project) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs another user's files")
def test_git_is_asked_in_a_project_of_another_user(project: Project) -> None:
    stored(project)
    project.git("mv", "src", "pay")
    project.git("commit", "-q", "-m", "moved")
    for folder in (project.root, os.path.join(project.root, ".git")):
        os.chown(folder, 1000, 1000)
    assert lines(project)[0].startswith(OLD + " was moved to pay/billing.py")


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "not committed"])
def test_a_file_that_was_beside_it_is_another_one(project: Project, is_committed: bool) -> None:
    stored(project)
    project.write("lib/billing.py", "def pay():\n    return 2\n")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "another")
    project.git("rm", "-q", OLD)
    if is_committed:
        project.git("commit", "-q", "-m", "gone")
    (line,) = lines(project)
    assert line.startswith(OLD + " is gone; ")
