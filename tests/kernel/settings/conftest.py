"""A config folder and a project for each test of the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernel.settings.files import Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """Return a config folder and a project, both without settings."""
    return Box(str(tmp_path))
