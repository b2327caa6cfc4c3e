"""Fixtures: a bench in its own folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memory_plugin.sessions import past_index
from tests.sessions.bench import Bench
from tests.sessions.past_rows import NOW
from tests.sessions.past_world import World


@pytest.fixture
def make_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bench]:
    """Return a function that creates a bench; keywords are settings of the `sessions` block."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return lambda **sessions: Bench(tmp_path, **sessions)


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """Return a bench whose scripted judge gives one grade."""
    new_bench = make_bench()
    new_bench.script()
    return new_bench


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    monkeypatch.setattr(past_index, "now", lambda: NOW)
    return World(tmp_path)
