"""bin/memory: finds the plugin and a Python from anywhere, or says what is missing."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.project import PLUGIN_ROOT, Project, Run

SHOW = "import sys\nprint(sys.flags.isolated, sys.flags.no_site, sys.argv[1:])\n"


def plugin(project: Project, name: str = "plugin") -> str:
    """Return the path of bin/memory in a plugin folder whose command line shows what it was given."""
    root = os.path.join(os.path.dirname(project.root), name)
    for folder in ("bin", "scripts"):
        os.makedirs(os.path.join(root, folder))
    with open(os.path.join(root, "scripts", "memory.py"), "w", encoding="utf-8") as file:
        file.write(SHOW)
    return shutil.copy(os.path.join(PLUGIN_ROOT, "bin", "memory"), os.path.join(root, "bin", "memory"))


def tools(project: Project, python: str | None) -> str:
    """Return a PATH with the tools that any system has, and a Python of this name (None: no Python at all)."""
    folder = os.path.join(os.path.dirname(project.root), "tools")
    os.makedirs(folder)
    for name in ("dirname", "readlink"):
        os.symlink(shutil.which(name) or name, os.path.join(folder, name))
    if python:
        os.symlink(os.path.realpath(sys.executable), os.path.join(folder, python))
    return folder


@pytest.mark.parametrize("python", ["python3", "python"])
def test_arguments_pass_as_they_are(project: Project, python: str) -> None:
    memory, path = plugin(project), tools(project, python)
    run = project.process([memory, "save", "--title", "it's $HOME `id` *", ""], PATH=path)
    assert run == Run(0, "1 1 ['save', '--title', \"it's $HOME `id` *\", '']\n", "")


def test_links_lead_to_the_plugin(project: Project) -> None:
    memory, path = plugin(project, "plug in's"), tools(project, "python3")
    first, second = os.path.join(project.root, "first"), os.path.join(project.root, "second")
    os.symlink(os.path.relpath(memory, project.root), first)
    os.symlink(first, second)
    assert project.process([second, "x"], PATH=path, CDPATH="/") == Run(0, "1 1 ['x']\n", "")
    assert project.process(["./first", "x"], PATH=path) == Run(0, "1 1 ['x']\n", "")


def test_no_python_is_said_in_one_line(project: Project) -> None:
    run = project.process([plugin(project)], PATH=tools(project, None))
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "memory: neither python3 nor python is on the PATH; Python 3.9 or newer is needed\n"
