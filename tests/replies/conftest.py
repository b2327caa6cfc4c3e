"""Paths of a project with an empty home."""

from __future__ import annotations

from typing import Any

import pytest

from memory_plugin.kernel.paths import Paths


@pytest.fixture
def paths(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Paths:  # noqa: ANN401
    """Return the paths of a new project with its own config folder."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "project").mkdir()
    return Paths(str(tmp_path / "project"))
