"""The real client for tests marked `client`. They run only if named, and are skipped without a client unless it is required."""

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


def skip_or_fail(what: str) -> None:
    """Skip the test, or fail it if MEMORY_TEST_CLIENT=required."""
    if os.environ.get("MEMORY_TEST_CLIENT") == "required":
        pytest.fail(what)
    pytest.skip(what)


def pytest_report_header() -> str:
    """Return the client and the version to test with."""
    return "client: %s (expected: %s)" % (binary() or "none", version())


def is_selected(config: pytest.Config) -> bool:
    """Return whether the run names these tests. They take as long as all others, so a run of everything skips them."""
    is_named = any("client" in re.split(r"[/\\:]", argument) for argument in config.args)
    return is_named or "client" in config.option.markexpr or "MEMORY_TEST_CLIENT" in os.environ


@pytest.fixture
def client(request: pytest.FixtureRequest) -> str:
    """Return the path of the real client."""
    if not is_selected(request.config):
        pytest.skip("the real client runs with `pytest tests/client` or with MEMORY_TEST_CLIENT set")
    path = binary()
    if path is None:
        skip_or_fail("no Claude Code client: run tests/client/install_client.sh, or set CLAUDE_BIN")
    return str(path)


@pytest.fixture
def tmux() -> None:
    """Skip the test if there is no tmux."""
    if shutil.which("tmux") is None:
        skip_or_fail("no tmux")


@pytest.fixture
def make_sandbox(client: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Sandbox]]:
    """Yield a function that makes a sandbox whose fake API follows a script."""
    with ExitStack() as stack:

        def make(script: dict[str, Any] | None = None) -> Sandbox:
            return stack.enter_context(Sandbox(str(tmp_path_factory.mktemp("sandbox")), client, script))

        yield make


@pytest.fixture
def sandbox(make_sandbox: Callable[..., Sandbox]) -> Sandbox:
    """Return a sandbox in which Claude always says hello."""
    return make_sandbox({"default": {"text": "Hello."}})
