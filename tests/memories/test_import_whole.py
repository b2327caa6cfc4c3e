"""What stays one memory: a decision record with all of its parts, and a procedure."""

from __future__ import annotations

import pytest

from tests.memories.conftest import imported
from tests.project import Project

_SPLIT = """# Count the tickets at the gate

* Status: %s
* Deciders:
  * the people at the gate
  * (name, date)
* Feedback deadline: 3 May

## Context and Problem Statement

Nobody knows how full the hall is.

%s

# Pros and Cons of the Options

### Count by hand

* Good, because it needs no device.
* Bad, because the guards must never look away.

# Thoughts

## What it means for others

* The guards move to the gate.
"""


@pytest.mark.parametrize(
    ("name", "decision", "says"),
    [
        ("notes/gate.md", "## Decision Outcome\n\nWe count with a turnstile.", "We count with a turnstile."),
        (
            "notes/gate.md",
            "## Decision\n\n### B) A turnstile\n\n## Figures\n\nIt took a week.",
            "B) A turnstile",
        ),
        ("decisions/0007-gate.md", "## The way to go: a turnstile\n\nWe count with it.", "We count with it."),
        ("docs/architecture-decisions/7-gate.md", "## Plan\n\n- We count with it.", "We count with it."),
        ("notes/gate.md", "## The way to go\n\n- Each gate has one.", "Each gate has one."),
    ],
)
@pytest.mark.parametrize("status", ["accepted", "proposed"])
def test_a_record_is_one_memory_with_its_status_whatever_follows(
    project: Project, status: str, name: str, decision: str, says: str
) -> None:
    found, reading = imported(project, {name: _SPLIT % (status, decision)})
    assert found == {"Count the tickets at the gate": "archived" if status == "proposed" else "active"}
    assert says in reading.drafts[0].data["content"]["decision"]
    assert "Deciders" not in reading.drafts[0].data["content"]["decision"]
    assert not reading.left_out


def test_records_below_each_other_with_titles_of_one_level_stay_apart(project: Project) -> None:
    text = "# ADR-1: Open at nine\n\nStatus: accepted\n\n## Decision\n\nThe doors open at nine.\n\n"
    text += "# ADR-2: Close at six\n\nStatus: rejected\n\n## Decision\n\nThe doors close at six.\n"
    found, _ = imported(project, {"doors.md": text})
    assert found == {"Open at nine": "active", "Close at six": "archived"}
