"""A bench in a temporary folder; the environment is restored after each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kernel.judge.bench import Bench


@pytest.fixture
def make_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bench]:
    """Make the test's bench: backend, url, and keys of the block `judge`."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    return lambda *args, **options: Bench(str(tmp_path), *args, **options)
