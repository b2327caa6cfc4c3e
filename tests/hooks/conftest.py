"""A project that recalls, for tests of what may go wrong."""

from __future__ import annotations

import pytest

from tests.project import IS_WINDOWS, Project
from tests.recall.store_files import ASK, BODY, TITLE, TOLD, no_threshold


@pytest.fixture
def recalling(project: Project) -> Project:
    """Return a project whose one memory answers ASK."""
    no_threshold(project)
    project.save(TITLE, BODY)
    assert TOLD in project.prompt(ASK, session_id="before").context
    if IS_WINDOWS:  # removes no index that a process has open
        project.wait_for_background()
    return project
