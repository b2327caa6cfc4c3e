"""The real client for tests marked `client`: run when they are named, skipped without one unless MEMORY_TEST_CLIENT=required."""

from __future__ import annotations

import os
import re
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


def is_wanted(config: pytest.Config) -> bool:
    """Return whether the run names these tests: they take as long as all others, so a run of everything leaves them out."""
    named = any("client" in re.split(r"[/\\:]", argument) for argument in config.args)
    return named or "client" in config.option.markexpr or "MEMORY_TEST_CLIENT" in os.environ


@pytest.fixture
def client(request: pytest.FixtureRequest) -> str:
    """Return the path of the real client."""
    if not is_wanted(request.config):
        pytest.skip("the real client runs with `pytest tests/client` or with MEMORY_TEST_CLIENT set")
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
