"""What stays one memory: a decision record with all of its parts, and a procedure."""

from __future__ import annotations

import time

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
    text = str(reading.drafts[0].data["content"])
    assert not [head for head in ("Deciders", "(name, date)", "3 May") if head in text]
    assert not reading.left_out


def test_records_below_each_other_with_titles_of_one_level_stay_apart(project: Project) -> None:
    text = "# ADR-1: Open at nine\n\nStatus: accepted\n\n## Decision\n\nThe doors open at nine.\n\n"
    text += "# ADR-2: Close at six\n\nStatus: rejected\n\n## Decision\n\nThe doors close at six.\n"
    found, _ = imported(project, {"doors.md": text})
    assert found == {"Open at nine": "active", "Close at six": "archived"}


def test_the_step_that_keeps_the_data_stays_with_the_one_that_deletes(project: Project) -> None:
    text = "# Archive guidelines\n\nThe archive is full.\n\n## Moving the archive\n\n"
    text += "1. Copy every reel to the new shelf.\n1. Count the reels.\n\n```{note}\nThe count may take long.\n```\n\n"
    text += "1. Throw the old reels away.\n"
    found, reading = imported(project, {"archive.md": text})
    kept = [str(draft.data["content"]) for draft in reading.drafts]
    assert any("Copy every reel" in one and "Throw the old" in one for one in kept)
    assert "Moving the archive" in found


@pytest.mark.parametrize(
    "said",
    [
        "This guide explains how the reels are moved.",
        "This file defines how people work with the reels.",
        "(For all shelves)",
        'User: "where is it"\nBot:\n- "Which reel do you mean?"\n- Then show the shelf',
    ],
)
def test_names_for_links_and_openings_and_dialogs_are_no_memory(project: Project, said: str) -> None:
    found, _ = imported(
        project, {"reels.md": "# Reels\n\n%s\n\n## Care\n\n- Never wind a reel twice.\n" % said}
    )
    assert list(found) == ["Never wind a reel twice"]


def test_many_empty_items_in_a_note_take_no_quadratic_time(project: Project) -> None:
    started = time.process_time()
    found, _ = imported(
        project, {"reels.md": "---\ntags: [a]\n---\nReels are kept.\n%send\n" % ("-\n" * 20_000)}
    )
    assert len(found) == 1
    assert time.process_time() - started < 5
