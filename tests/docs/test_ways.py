"""The call paths in docs/architecture.md list the files that a trace finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.structure import TracedProject, call_paths
from tests.docs.pages import page


def documented_path(text: str, name: str) -> list[str]:
    """Return the files that a page lists for a call path, in its order."""
    section = re.search(r"^### Path of a %s\n(.*?)(?=^#|\Z)" % name, text, re.MULTILINE | re.DOTALL)
    lines = section.group(1) if section else ""
    return re.findall(r"^\d+\. `scripts/memory_plugin/([^`]+\.py)`", lines, re.MULTILINE)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the files on each call path, traced once."""
    return call_paths(TracedProject(str(tmp_path_factory.mktemp("structure"))))


@pytest.mark.parametrize("name", ["prompt", "reply", "transcript row"])
def test_a_call_path_lists_the_files_that_are_traced(traced: dict[str, list[str]], name: str) -> None:
    listed = documented_path(page("docs/architecture.md"), name)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(traced[name])


def test_a_call_path_without_a_section_is_empty() -> None:
    assert documented_path("### Path of a prompt\n\n1. `scripts/memory_plugin/a.py`: x\n", "reply") == []
    assert documented_path("### Path of a prompt\n\n1. `scripts/memory_plugin/a.py`: x\n", "prompt") == [
        "a.py"
    ]


def test_a_traced_project_has_its_own_home(tmp_path: Path) -> None:
    project = TracedProject(str(tmp_path))
    assert project.environment["HOME"].startswith(str(tmp_path))
