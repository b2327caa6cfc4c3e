"""A command that is killed, or finds the disk full or failing at any of its system calls, trusts nothing without approval."""

from __future__ import annotations

import os
import sys

import pytest

from tests.memories.faults import COMMANDS
from tests.project import PLUGIN_ROOT, Project

TRUSTING = {
    "save",
    "edit",
    "supersede",
    "restore",
    "archive",
    "accept",
    "accept all",
    "interview",
    "promote",
    "scan fix",
}
PROGRAM = os.path.join(PLUGIN_ROOT, "tests", "memories", "faults.py")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("command", "fault", "word"),
    [
        *((command, fault, "word") for fault in ("kill", "full") for command in COMMANDS),
        *((command, "broken", "word") for command in ("save", "accept", "reject", "forget")),
        *((command, "kill", "unasked") for command in ("save", "import")),
    ],
)
def test_no_fault_trusts_or_loses_anything(project: Project, command: str, fault: str, word: str) -> None:
    box = os.path.dirname(project.root)
    os.rename(project.root, box + "/unused")
    project.root = box
    run = project.process([sys.executable, PROGRAM, box, command, fault, word])
    assert run.returncode == 0, run.stderr
    assert run.json["wrong"] == []
    assert run.json["runs"] > 3
    is_approved = command in TRUSTING and word == "word"
    assert run.json["trusts"] == ("with" if is_approved else "without"), (
        "the command does what it is tried for"
    )
