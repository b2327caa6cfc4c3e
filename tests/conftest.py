"""What every test gets: no real home, no network beyond loopback, and projects to try things in."""

from __future__ import annotations

import gc
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from hypothesis import settings

from tests.guards import Guard, installed
from tests.project import PLUGIN_ROOT, Project

# What the host or a developer may have set, and what would change a result.
FROM_OUTSIDE = ("CLAUDE", "ANTHROPIC_", "MEMORY_", "LANGFUSE_", "XDG_", "GIT_")
TEMP = tempfile.gettempdir()

# Few for each property here; CI has a step of its own with more of them.
EXAMPLES = int(os.environ.get("MEMORY_TEST_EXAMPLES", "10"))

settings.register_profile("shared", deadline=None, database=None, max_examples=EXAMPLES)
settings.register_profile("ci", settings.get_profile("shared"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "shared")


def pytest_report_header() -> str:
    """Return the versions that decide what recall can do."""
    with closing(sqlite3.connect(":memory:")) as connection:
        options = {row[0] for row in connection.execute("PRAGMA compile_options")}
    fts5 = "with" if "ENABLE_FTS5" in options else "without"
    return "sqlite: %s %s FTS5" % (sqlite3.sqlite_version, fts5)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return what `-n auto` means: a worker more than cores, since tests often wait for processes and for time to pass."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests to runs that name them: by `-m`, or by their file; CI has a step of its own for them."""
    if config.option.markexpr or any(".py" in os.path.basename(name) for name in config.args):
        return
    reason = pytest.mark.skip(reason="slow; `-m slow` runs these")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(reason)


def pytest_collection() -> None:
    """Leave the garbage collector out of collecting ten thousand tests, none of which is garbage: a fifth of that time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Take the ten thousand tests out of what the garbage collector looks through during each of them."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def guard() -> Guard:
    """Return the guard that refuses the real home and the network."""
    return installed([PLUGIN_ROOT, TEMP, sys.prefix])


@pytest.fixture(scope="session", autouse=True)
def _empty_home(guard: Guard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    assert guard.refused == []
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FROM_OUTSIDE)]:
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


@pytest.fixture
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Project]:
    """Make a new project, in a folder of its own, with each call; takes `plugin_root` and `python`."""
    return lambda **options: Project(str(tmp_path_factory.mktemp("box")), **options)


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    """Return a new project with an empty home."""
    return make_project()
