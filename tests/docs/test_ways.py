"""The steps of a prompt in docs/architecture.md are on the call path that a trace finds."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.structure import TracedProject, call_paths
from tests.docs.pages import page, section


def documented_steps() -> list[str]:
    """Return the files that the page lists as steps of a prompt, in its order."""
    text = section(page("docs/architecture.md"), "A prompt, step by step")
    return re.findall(r"^\d+\. `scripts/memory_plugin/([^`]+\.py)`", text, re.MULTILINE)


def test_the_steps_of_a_prompt_are_traced(tmp_path: Path) -> None:
    traced = call_paths(TracedProject(str(tmp_path)))["prompt"]
    steps = documented_steps()
    assert len(steps) > 10
    assert [name for name in steps if name not in traced] == []


def test_a_traced_project_has_its_own_home(tmp_path: Path) -> None:
    project = TracedProject(str(tmp_path))
    assert project.environment["HOME"].startswith(str(tmp_path))
