"""The real client for tests marked `client`: skipped without one, unless MEMORY_TEST_CLIENT=required."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.client.binary import binary, version
from tests.client.sandbox import Sandbox


def missing(what: str) -> None:
    """Skips the test, or fails it where the client is required."""
    if os.environ.get("MEMORY_TEST_CLIENT") == "required":
        pytest.fail(what)
    pytest.skip(what)


def pytest_report_header() -> str:
    """Which client is tested with."""
    return "client: %s (wanted: %s)" % (binary() or "none", version())


@pytest.fixture
def client() -> str:
    """Return the path of the real client."""
    found = binary()
    if found is None:
        missing("no Claude Code client: run tests/client/install_client.sh, or set CLAUDE_BIN")
    return str(found)


@pytest.fixture
def tmux() -> None:
    """Skip unless there is a terminal to drive."""
    if shutil.which("tmux") is None:
        missing("no tmux")


@pytest.fixture
def make_box(client: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Sandbox]]:
    """Make a sandbox with each call, which takes the script."""
    with ExitStack() as stack:

        def made(script: dict[str, Any] | None = None) -> Sandbox:
            return stack.enter_context(Sandbox(str(tmp_path_factory.mktemp("box")), client, script))

        yield made


@pytest.fixture
def box(make_box: Callable[..., Sandbox]) -> Sandbox:
    """Return a sandbox in which Claude always says hello."""
    return make_box({"default": {"text": "Hello."}})
