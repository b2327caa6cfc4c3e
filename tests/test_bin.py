"""bin/memory finds the plugin and a Python from anywhere, or says what is missing."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.project import PLUGIN_ROOT, Project, Run

PRINT_ARGUMENTS = "import sys\nprint(sys.flags.isolated, sys.flags.no_site, sys.argv[1:])\n"


def make_plugin(project: Project, name: str = "plugin") -> str:
    """Make a plugin folder whose command line prints its arguments; return the path of its bin/memory."""
    root = os.path.join(os.path.dirname(project.root), name)
    for folder in ("bin", "scripts"):
        os.makedirs(os.path.join(root, folder))
    with open(os.path.join(root, "scripts", "memory.py"), "w", encoding="utf-8") as file:
        file.write(PRINT_ARGUMENTS)
    return shutil.copy(os.path.join(PLUGIN_ROOT, "bin", "memory"), os.path.join(root, "bin", "memory"))


def make_path(project: Project, python: str | None) -> str:
    """Return a PATH with the tools that any system has, and a Python of this name unless it is None."""
    folder = os.path.join(os.path.dirname(project.root), "tools")
    os.makedirs(folder)
    for name in ("dirname", "readlink"):
        os.symlink(shutil.which(name) or name, os.path.join(folder, name))
    if python:
        os.symlink(os.path.realpath(sys.executable), os.path.join(folder, python))
    return folder


@pytest.mark.parametrize("python", ["python3", "python"])
def test_arguments_pass_unchanged(project: Project, python: str) -> None:
    memory, path = make_plugin(project), make_path(project, python)
    run = project.process([memory, "save", "--title", "it's $HOME `id` *", ""], PATH=path)
    assert run == Run(0, "1 1 ['save', '--title', \"it's $HOME `id` *\", '']\n", "")


def test_symbolic_links_lead_to_the_plugin(project: Project) -> None:
    memory, path = make_plugin(project, "plug in's"), make_path(project, "python3")
    first, second = os.path.join(project.root, "first"), os.path.join(project.root, "second")
    os.symlink(os.path.relpath(memory, project.root), first)
    os.symlink(first, second)
    assert project.process([second, "x"], PATH=path, CDPATH="/") == Run(0, "1 1 ['x']\n", "")
    assert project.process(["./first", "x"], PATH=path) == Run(0, "1 1 ['x']\n", "")


def test_a_missing_python_is_reported_in_one_line(project: Project) -> None:
    run = project.process([make_plugin(project)], PATH=make_path(project, None))
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "memory: neither python3 nor python is on the PATH; Python 3.9 or newer is needed\n"
