"""The structure of the code: imports go down only, the prompt path imports next to nothing, functions and modules stay small."""

from __future__ import annotations

import ast
import glob
import json
import os
import re
import statistics
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.events import PLUGIN_ROOT, PROMPT_HOOK
from tests.project import Project, Run

PACKAGE = os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin")
FEATURES = ("recall", "replies", "sessions", "interview", "evaluation", "capture")
LAYERS = {
    "kernel": 0,
    "host": 1,
    "memories": 2,
    **dict.fromkeys(FEATURES, 3),
    "work": 4,
    "hooks": 5,
    "cli": 6,
}
# A prompt may import builtins, the C halves behind kernel/fastjson.py, and what `os` itself needs.
OS_IMPORTS = {"os", "os.path", "posixpath", "genericpath", "stat", "_stat", "abc", "_abc", "_collections_abc"}
ALLOWED_IMPORTS = {
    *OS_IMPORTS,
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
    """A function's place, and its length in lines without decorators."""

    place: str
    lines: int


def sources(*folders: str) -> list[str]:
    """Return the Python files below some folders of the plugin."""
    patterns = [os.path.join(PLUGIN_ROOT, folder, "**", "*.py") for folder in folders]
    return sorted(path for pattern in patterns for path in glob.glob(pattern, recursive=True))


@cache
def syntax_tree(path: str) -> ast.Module:
    """Return a file's syntax tree."""
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read(), path)


def imported_modules(path: str) -> list[str]:
    """Return what a module of the package imports from the package, as dotted names below `memory_plugin`."""
    package = ["memory_plugin", *os.path.relpath(path, PACKAGE).split(os.sep)[:-1]]
    names: list[str] = []
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [module + "." + alias.name for alias in node.names]
    return [name.split(".", 1)[1] for name in names if name.startswith("memory_plugin.")]


def functions() -> list[Function]:
    """Return all functions of the plugin itself."""
    found = []
    for path in sources("hooks", "scripts"):
        for node in ast.walk(syntax_tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                place = "%s:%d %s" % (os.path.relpath(path, PLUGIN_ROOT), node.lineno, node.name)
                found.append(Function(place, (node.end_lineno or node.lineno) - node.lineno + 1))
    return found


def test_every_package_has_a_layer() -> None:
    parts = {os.path.relpath(path, PACKAGE).split(os.sep)[0] for path in sources("scripts/memory_plugin")}
    assert (
        {"__init__.py", "kernel", "host", "memories", "recall", "work", "hooks", "cli"}
        <= parts
        <= {"__init__.py", *LAYERS}
    )


def test_imports_go_down_only() -> None:
    wrong = []
    for path in sources("scripts/memory_plugin"):
        package = os.path.relpath(path, PACKAGE).split(os.sep)[0]
        if package not in LAYERS:
            continue
        for name in imported_modules(path):
            other = name.split(".")[0]
            if other != package and LAYERS.get(other, -1) >= LAYERS[package]:
                wrong.append((path, name))
    assert wrong == []


def test_no_script_folder_shadows_the_standard_library() -> None:
    names = {os.path.basename(path) for path in sources("hooks")} | set(os.listdir(PLUGIN_ROOT + "/scripts"))
    modules = {name.replace(".py", "") for name in names}
    assert modules & set(getattr(sys, "stdlib_module_names", ())) == set()


def modules_of(project: Project, options: list[str], stdin: bytes = b"") -> tuple[set[str], Run]:
    """Return the modules outside the plugin that a Python process imports beyond those of an empty one, and its run."""
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
        pytest.param("please write a short poem about the sea", False, True, id="a prompt without a match"),
    ],
)
def test_the_prompt_path_imports_next_to_nothing(
    project: Project, prompt: str, *, recalls: bool, searches: bool
) -> None:
    """What SQLite's C module imports itself is allowed: from Python 3.10 on that is functools, and with it collections."""
    project.save(
        "Use Postgres for the billing database", "The billing service stores invoices in Postgres 15."
    )
    project.prompt("Which database do we use for the billing service?", session_id="warm")
    project.cli("refresh")  # so that no refresh is due, however slow the machine
    event = json.dumps(project.event("UserPromptSubmit", prompt=prompt, prompt_id="p9"))
    modules, run = modules_of(project, [PROMPT_HOOK], event.encode())
    sqlite, _ = modules_of(project, ["-c", "import _sqlite3"])
    assert bool(run.stdout) == recalls
    assert ("_sqlite3" in modules) == searches
    assert modules <= ALLOWED_IMPORTS | (sqlite if searches else set())


def hot_modules() -> set[str]:
    """Return the modules that pyproject.toml lists as imported while somebody waits for a hook, such as `hooks/entry`."""
    with open(os.path.join(PLUGIN_ROOT, "pyproject.toml"), encoding="utf-8") as file:
        (listed,) = re.findall(r'"!scripts/memory_plugin/\{(.*)\}\.py" = \["TC"\]', file.read())
    return set(listed.split(","))


def test_only_hot_modules_import_types_for_the_checker_alone() -> None:
    """And the list names no module that is gone."""
    names = {
        path: os.path.relpath(path, PACKAGE)[:-3].replace(os.sep, "/")
        for path in sources("scripts/memory_plugin")
    }
    users = {name for path, name in names.items() if "TYPE_CHECKING" in Path(path).read_text("utf-8")}
    assert users - hot_modules() == set()
    assert hot_modules() - set(names.values()) == set()


LOADED = """
import sys
sys.path.insert(0, %r)
from memory_plugin.hooks import run_hook
run_hook(%r)
sys.stderr.write(" ".join(name[14:].replace(".", "/") for name in sys.modules if name.startswith("memory_plugin.")))
"""


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("UserPromptSubmit", {"prompt": "ok"}),
        ("UserPromptSubmit", {"prompt": "Which database do we use for the billing service?"}),
        ("SessionStart", {"source": "startup"}),
        ("SubagentStart", {"agent_type": "general-purpose", "agent_id": "a"}),
        ("PreToolUse", {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}),
        (
            "PostToolUseFailure",
            {"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "no billing"},
        ),
        ("Stop", {"last_assistant_message": "Done."}),
    ],
)
def test_a_hook_that_somebody_waits_for_imports_hot_modules_only(
    project: Project, event: str, fields: dict[str, object]
) -> None:
    project.save("Use Postgres for the billing database", "The billing service stores invoices in Postgres.")
    for path in glob.glob(os.path.join(project.root, ".claude", "memory", "*", "*.json")):
        os.utime(path, (1e9, 1e9))  # else the hook reads the file again, which may still be open for writing
    project.cli("refresh")
    code = LOADED % (os.path.join(PLUGIN_ROOT, "scripts"), event)
    data = json.dumps(project.event(event, prompt_id="p", **fields)).encode()
    loaded = project.process([project.python, "-I", "-S", "-c", code], data).stderr.split()
    packages = {name for name in loaded if os.path.isdir(os.path.join(PACKAGE, name))}
    assert {"hooks/entry", "kernel/fastjson"} <= set(loaded) - packages <= hot_modules()


def test_no_module_is_long() -> None:
    lengths = {}
    for path in sources("hooks", "scripts", "tests", "benchmarks"):
        with open(path, encoding="utf-8") as file:
            lengths[os.path.relpath(path, PLUGIN_ROOT)] = sum(1 for _ in file)
    assert {path: lines for path, lines in lengths.items() if lines > 400} == {}


def test_functions_are_small() -> None:
    """Half of them have at most 12 lines, nine in ten fewer than 40, none more than 60."""
    lengths = [function.lines for function in functions()]
    assert [function for function in functions() if function.lines > 60] == []
    assert statistics.median(lengths) <= 12
    assert sum(lines >= 40 for lines in lengths) <= len(lengths) / 10


def test_process_output_is_decoded_with_a_named_encoding() -> None:
    """The default encoding differs between machines. CI turns the warning about it into an error."""
    found = []
    for path in sources("hooks", "scripts", "tests", "benchmarks"):
        with open(path, encoding="utf-8") as file:
            found += [(path, line) for line in file if re.search(r"\b(text|universal_newlines)=True", line)]
    assert found == []
