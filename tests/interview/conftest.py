"""Fixtures: a project and a store of interviews in their own folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_plugin.interview.interview_store import InterviewStore
from memory_plugin.kernel.paths import Paths


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """Return the paths of an empty project."""
    os.makedirs(tmp_path / "project" / ".git")
    return Paths(str(tmp_path / "project"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[InterviewStore]:
    """Yield a store in its own folder."""
    made = InterviewStore(str(tmp_path / "state"), "p", "")
    yield made
    made.close()
