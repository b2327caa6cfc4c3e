"""Fixtures of all tests: no real home, no network beyond loopback, and fresh projects."""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import settings

from tests.guards import Guard, install_guard
from tests.project import PLUGIN_ROOT, Project

# Prefixes of variables that the host or a developer may have set and that would change a result.
CLEARED_PREFIXES = ("CLAUDE", "ANTHROPIC_", "MEMORY_", "LANGFUSE_", "XDG_", "GIT_")
TEMP = tempfile.gettempdir()
# A file system in memory: on a disk, each of many thousand small files and each `fsync` is waited for.
MEMORY = "/dev/shm"  # noqa: S108 (pytest makes a private folder in it)
MEMORY_NEEDED = 4 << 30

# Where it is off, each worker would compile every test. The programs that tests start write bytecode into the same folders in any case.
sys.dont_write_bytecode = False

_numbers = itertools.count()

# Few examples for each property here; a step of CI runs more.
EXAMPLES = int(os.environ.get("MEMORY_TEST_EXAMPLES", "10"))

settings.register_profile("shared", deadline=None, database=None, max_examples=EXAMPLES)
settings.register_profile("ci", settings.get_profile("shared"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "shared")


def pytest_report_header() -> str:
    """Return the version of SQLite and whether it has FTS5, on which recall depends."""
    with closing(sqlite3.connect(":memory:")) as connection:
        options = {row[0] for row in connection.execute("PRAGMA compile_options")}
    fts5 = "with" if "ENABLE_FTS5" in options else "without"
    return "sqlite: %s %s FTS5" % (sqlite3.sqlite_version, fts5)


def pytest_configure() -> None:
    """Let tests have their folders in memory, where there is room and programs may run."""
    with suppress(AttributeError, OSError):  # as on Windows
        status = os.statvfs(MEMORY)
        has_room = status.f_bavail * status.f_frsize >= MEMORY_NEEDED
        if has_room and not status.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(MEMORY, os.W_OK):
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the workers of `-n auto`: one more than there are cores, because tests often wait for processes."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip slow tests unless the run has `-m` or names a file. A step of CI runs them."""
    if config.option.markexpr or any(".py" in os.path.basename(name) for name in config.args):
        return
    reason = pytest.mark.skip(reason="slow; `-m slow` runs these")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(reason)


def pytest_collection(session: pytest.Session) -> None:
    """Switch off garbage collection while the tests are collected: it takes a fifth of that time and frees nothing.

    In a run of all tests, each worker first imports another part of the modules: in a new checkout, each module is then compiled once, and
    not once by each worker.
    """
    gc.disable()
    worker, workers = (
        os.environ.get("PYTEST_XDIST_WORKER", ""),
        os.environ.get("PYTEST_XDIST_WORKER_COUNT", ""),
    )
    if not worker or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    root = session.config.rootpath
    paths = sorted((root / "tests").rglob("test_*.py"))
    first = len(paths) * int(worker[2:]) // int(workers)
    for path in paths[first:] + paths[:first]:
        with suppress(
            Exception, pytest.skip.Exception
        ):  # the collection imports it again and reports the error
            importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, which would scan them during each test."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def guard() -> Guard:
    """Return the guard that refuses the real home and the network."""
    return install_guard([PLUGIN_ROOT, TEMP, sys.prefix])


@pytest.fixture(scope="session", autouse=True)
def _empty_home(guard: Guard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    assert guard.refused == []
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(CLEARED_PREFIXES)]:
            if not name.startswith(("MEMORY_TEST_", "CLAUDE_BIN")):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("USERPROFILE", str(home))
        patch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
        yield


@pytest.fixture(autouse=True)
def _nothing_refused(guard: Guard) -> Iterator[None]:
    yield
    refused, guard.refused[:] = list(guard.refused), []
    assert refused == []


@pytest.fixture
def plugin_root() -> str:
    """Return the folder of the plugin under test."""
    return PLUGIN_ROOT


def _new_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a new folder. The factory itself would list all earlier ones to find a free number."""
    return factory.mktemp("test-%d" % next(_numbers), numbered=False)


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new folder, in the place of pytest's own fixture."""
    return _new_folder(tmp_path_factory)


@pytest.fixture
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Project]:
    """Return a function that makes a project in its own folder; keywords go to Project."""
    return lambda **options: Project(str(_new_folder(tmp_path_factory)), **options)


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    """Return a new project with an empty home."""
    return make_project()
