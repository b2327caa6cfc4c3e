"""The house: imports go down only, the prompt path imports next to nothing, code stays in small pieces."""

from __future__ import annotations

import ast
import glob
import json
import os
import re
import statistics
import sys
from functools import cache
from typing import NamedTuple

import pytest

from tests.project import PLUGIN_ROOT, Project, Run

PACKAGE = os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin")
FEATURES = ("recall", "replies", "sessions", "interview", "evaluation", "capture")
FLOORS = {"kernel": 0, "memories": 1, **dict.fromkeys(FEATURES, 2), "hooks": 3, "cli": 4}
# What a prompt may import: builtins, the C halves behind kernel/fastjson.py, and what `os` itself needs.
OS = {"os", "os.path", "posixpath", "genericpath", "stat", "_stat", "abc", "_abc", "_collections_abc"}
SKIPPED = {
    *OS,
    "sys",
    "gc",
    "time",
    "math",
    "zlib",
    "fcntl",
    "errno",
    "itertools",
    "_json",
    "_blake2",
    "__future__",
}


class Function(NamedTuple):
    """A function's place and its length in lines, decorators left out."""

    place: str
    lines: int


def sources(*folders: str) -> list[str]:
    """Return the Python files below some folders of the plugin."""
    found = [glob.glob(os.path.join(PLUGIN_ROOT, f, "**", "*.py"), recursive=True) for f in folders]
    return sorted(path for paths in found for path in paths)


@cache
def parsed(path: str) -> ast.Module:
    """Return a file's syntax tree."""
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read(), path)


def imported(path: str) -> list[str]:
    """Return the parts below `memory_plugin` that a module of the package imports, as dotted names."""
    package = ["memory_plugin", *os.path.relpath(path, PACKAGE).split(os.sep)[:-1]]
    names: list[str] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [module + "." + alias.name for alias in node.names]
    return [name.split(".", 1)[1] for name in names if name.startswith("memory_plugin.")]


def functions() -> list[Function]:
    """All functions of the plugin itself."""
    found = []
    for path in sources("hooks", "scripts"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                place = "%s:%d %s" % (os.path.relpath(path, PLUGIN_ROOT), node.lineno, node.name)
                found.append(Function(place, (node.end_lineno or node.lineno) - node.lineno + 1))
    return found


def test_every_part_stands_on_a_floor() -> None:
    parts = {os.path.relpath(path, PACKAGE).split(os.sep)[0] for path in sources("scripts/memory_plugin")}
    assert (
        {"__init__.py", "kernel", "memories", "recall", "hooks", "cli"} <= parts <= {"__init__.py", *FLOORS}
    )


def test_imports_go_down_only() -> None:
    wrong = []
    for path in sources("scripts/memory_plugin"):
        own = os.path.relpath(path, PACKAGE).split(os.sep)[0]
        if own in FLOORS:
            parts = [(name, name.split(".")[0]) for name in imported(path)]
            wrong += [(path, n) for n, part in parts if FLOORS.get(part, -1) > FLOORS[own]]
            wrong += [(path, n) for n, part in parts if part != own and FLOORS.get(part) == FLOORS[own]]
    assert wrong == []


def test_nothing_in_a_script_folder_is_named_like_the_standard_library() -> None:
    names = {os.path.basename(path)[:-3] for path in sources("hooks")} | set(
        os.listdir(PLUGIN_ROOT + "/scripts")
    )
    assert {
        name for name in names if name.replace(".py", "") in getattr(sys, "stdlib_module_names", ())
    } == set()


def modules_of(project: Project, options: list[str], stdin: bytes = b"") -> tuple[set[str], Run]:
    """Return the modules that a Python process imports beyond those of an empty one, ours left out; and its run."""
    runs = [
        project.process([project.python, "-I", "-S", "-X", "importtime", *command], stdin)
        for command in (["-c", "pass"], options)
    ]
    before, after = ({line.split("|")[-1].strip() for line in run.stderr.splitlines()} for run in runs)
    return {name for name in after - before if name.split(".")[0] != "memory_plugin"}, runs[1]


@pytest.mark.parametrize(
    ("prompt", "recalls", "searches"),
    [
        pytest.param("ok", False, False, id="a skipped prompt"),
        pytest.param("Which database do we use for the billing service?", True, True, id="a recalled prompt"),
        pytest.param("please write a short poem about the sea", False, True, id="a prompt that nothing fits"),
    ],
)
def test_the_prompt_path_imports_next_to_nothing(
    project: Project, prompt: str, *, recalls: bool, searches: bool
) -> None:
    """From Python 3.10 on SQLite's C module itself imports functools and with it collections."""
    project.save(
        "Use Postgres for the billing database", "The billing service stores invoices in Postgres 15."
    )
    project.prompt("Which database do we use for the billing service?", session_id="warm")
    project.cli("refresh")  # so that no refresh is due, however slow the machine
    event = json.dumps(project.event("UserPromptSubmit", prompt=prompt, prompt_id="p9"))
    hook = os.path.join(PLUGIN_ROOT, "hooks", "user_prompt_submit.py")
    found, run = modules_of(project, [hook], event.encode())
    sqlite, _ = modules_of(project, ["-c", "import _sqlite3"])
    assert bool(run.stdout) == recalls
    assert ("_sqlite3" in found) == searches
    assert found <= SKIPPED | (sqlite if searches else set())


def test_no_module_is_long() -> None:
    lengths = {}
    for path in sources("hooks", "scripts", "tests", "benchmarks"):
        with open(path, encoding="utf-8") as file:
            lengths[os.path.relpath(path, PLUGIN_ROOT)] = sum(1 for _ in file)
    assert {path: lines for path, lines in lengths.items() if lines > 400} == {}


def test_functions_are_small() -> None:
    """Half of them have about 10 lines, nine in ten fewer than 40, none more than 60."""
    found = functions()
    assert [function for function in found if function.lines > 60] == []
    assert statistics.median(function.lines for function in found) <= 12
    assert sum(function.lines >= 40 for function in found) <= len(found) / 10


def test_processes_are_read_with_an_encoding() -> None:
    """What a process's `text` decodes with differs between machines; CI turns the warning of that into an error."""
    found = []
    for path in sources("hooks", "scripts", "tests", "benchmarks"):
        with open(path, encoding="utf-8") as file:
            found += [(path, line) for line in file if re.search(r"\b(text|universal_newlines)=True", line)]
    assert found == []
