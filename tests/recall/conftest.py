"""Fixtures of the recall tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernel.judge.bench import Bench
from tests.kernel.judge.server import Act, Server
from tests.recall.judge_trial import MakeTrial, Trial


@pytest.fixture
def make_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeTrial]:
    """Yield a function that returns a trial whose server acts as given."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    servers: list[Server] = []

    def make(act: Act) -> Trial:
        servers.append(Server(act))
        return Trial(Bench(str(tmp_path), "anthropic", servers[0].url), servers[0])

    yield make
    for server in servers:
        server.close()
