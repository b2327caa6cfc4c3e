"""Tool calls that no memory applies to are counted, not logged."""

from __future__ import annotations

import os

from memory_plugin.host import MAX_SILENT
from tests.project import Project

READ = {"tool_name": "Read", "tool_input": {"file_path": "src/app.py"}}


def calls(project: Project, number: int) -> None:
    """Run the hook on a file that no memory names."""
    for _ in range(number):
        run = project.hook("PreToolUse", project.event("PreToolUse", **READ))
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_status_reports_how_many_tool_calls_no_memory_applied_to(project: Project) -> None:
    project.save("Use Postgres for billing", "Invoices are in Postgres.")
    assert project.cli("status", "--json").json["silent_calls"] == 0
    calls(project, 3)
    assert project.cli("status", "--json").json["silent_calls"] == 3
    assert not [row for row in project.ledger("recalls") if row.get("place") == "tool"]


def test_a_count_that_cannot_be_saved_is_harmless(project: Project) -> None:
    os.makedirs(os.path.join(project.state, "silent"))
    os.mkdir(os.path.join(project.state, "silent", "in-the-way"))
    calls(project, 1)
    folder = os.path.join(project.state, "silent")
    (name,) = (one for one in os.listdir(folder) if one != "in-the-way")
    os.unlink(os.path.join(folder, name))
    os.mkdir(os.path.join(folder, name))
    calls(project, 1)


def test_the_count_has_an_end(project: Project) -> None:
    calls(project, 1)
    folder = os.path.join(project.state, "silent")
    path = os.path.join(folder, *os.listdir(folder))
    os.truncate(path, MAX_SILENT)
    calls(project, 1)
    assert os.path.getsize(path) == MAX_SILENT
    assert project.cli("status", "--json").json["silent_calls"] == MAX_SILENT
