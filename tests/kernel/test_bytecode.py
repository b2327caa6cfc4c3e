"""Damaged bytecode files, as a full disk leaves them: commands work all the same, and the files are deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.util import cache_from_source

import pytest

from tests.project import PLUGIN_ROOT, Project
from tests.recall.store_files import ASK, BODY, TITLE, TOLD, no_threshold
from tests.rows import every

PARTS = {"half": 0.5, "all but a byte": 1.0, "its first word": 0.0}


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a plugin folder whose modules Python has cached."""
    folder = str(tmp_path_factory.mktemp("plugin"))
    for name in ("config", "hooks", "scripts", "skills"):
        shutil.copytree(
            os.path.join(PLUGIN_ROOT, name),
            os.path.join(folder, name),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    project = Project(str(tmp_path_factory.mktemp("box")), plugin_root=folder)
    project.save(TITLE, BODY)
    assert project.prompt(ASK).returncode == project.cli("list").returncode == 0
    return folder


@pytest.fixture
def installed(make_project: Callable[..., Project], plugin: str) -> Project:
    """Return a project with its own plugin folder, whose modules Python has cached, and one memory that answers ASK."""
    project = make_project()
    no_threshold(project)
    project.save(TITLE, BODY)
    assert TOLD in project.prompt(ASK, session_id="before").context
    project.plugin_root = os.path.join(os.path.dirname(project.root), "plugin")
    shutil.copytree(
        plugin, project.plugin_root, copy_function=os.link
    )  # a copy of 900 files takes half a second
    return project


def damage(project: Project, module: str, share: float = 0.5) -> str:
    """Return the path of a module's cache file, cut after that share of its code (1.0: before its last byte)."""
    path = cached(project, module)
    size = os.path.getsize(path)
    cut(path, min(16 + 4 + int((size - 20) * share), size - 1))
    return path


def cut(path: str, size: int) -> None:
    """Replace a file, which may be hard-linked from other folders, with its first bytes."""
    with open(path, "rb") as file:
        content = file.read(size)
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(content)


def cached(project: Project, module: str) -> str:
    """Return the path of a module's cache file."""
    return cache_from_source(os.path.join(project.plugin_root, "scripts", "memory_plugin", module + ".py"))


@pytest.mark.parametrize(
    "share",
    [
        pytest.param(0.5, id="half"),
        *(pytest.param(PARTS[name], id=name, marks=pytest.mark.slow) for name in list(PARTS)[1:]),
    ],
)
@pytest.mark.parametrize(
    "module",
    every(
        3,
        [
            "hooks/entry",
            "hooks/prompt",
            "kernel/fastjson",
            "kernel/quick_start",
            "recall/pipeline",
        ],
    ),
)
def test_a_prompt_is_answered_past_half_a_bytecode_file(
    installed: Project, module: str, share: float
) -> None:
    damaged = damage(installed, module, share)
    run = installed.prompt(ASK, session_id="after")
    assert (run.returncode, run.stderr) == (0, "")
    assert TOLD in run.context
    assert os.path.getsize(damaged) > 100  # cached again, complete
    assert TOLD in installed.prompt(ASK, session_id="later").context
    assert "error" not in {row["kind"] for row in installed.ledger("events")}


@pytest.mark.parametrize(
    "module",
    [
        pytest.param("cli/command_line", marks=pytest.mark.slow),
        pytest.param("cli/commands/show_command", marks=pytest.mark.slow),
        pytest.param("kernel/quick_start", marks=pytest.mark.slow),
        "recall/memory_search",
    ],
)
def test_a_command_runs_past_half_a_bytecode_file(installed: Project, module: str) -> None:
    whole = installed.cli("list")
    damaged = damage(installed, module)
    assert installed.cli("list") == whole
    assert TITLE in whole.stdout
    assert os.path.getsize(damaged) > 100


@pytest.mark.parametrize("module", ["__init__", "hooks/__init__", "cli/__init__", "kernel/__init__"])
def test_the_guard_s_own_files_fit_into_a_block_and_may_be_empty(installed: Project, module: str) -> None:
    damage(installed, "recall/pipeline")
    assert TOLD in installed.prompt(ASK, session_id="guarded").context
    assert os.path.getsize(cached(installed, module)) < 4096
    cut(cached(installed, module), 0)
    damage(installed, "recall/pipeline")
    assert TOLD in installed.prompt(ASK, session_id="empty").context


def files(folder: str) -> set[str]:
    """Return the paths of all files below a folder."""
    return {os.path.join(at, name) for at, _, names in os.walk(folder) for name in names}


def test_only_what_is_damaged_is_written_again(installed: Project) -> None:
    written = {path: os.stat(path).st_mtime_ns for path in files(installed.plugin_root)}
    damaged = {damage(installed, "recall/pipeline"), damage(installed, "kernel/quick_start")}
    assert TOLD in installed.prompt(ASK, session_id="after").context
    assert {path for path, time in written.items() if os.stat(path).st_mtime_ns != time} == damaged
