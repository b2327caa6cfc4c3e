"""Recall at tool calls in the real client: before the edit Claude has the memory of the file, after an error its runbook, each once."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, hooks_went_well, memory, repository, written
from tests.client.sandbox import Sandbox
from tests.client.turn import Turn

pytestmark = pytest.mark.client
RULE, TABLE = "Fault codes are append-only; a number is never used again.", "app/fault_codes.h"
STEPS = "Copy SHADOW_DATABASE_URL from .env.example and run it again."
FAILS = (
    "echo 'Error: P3014 Prisma Migrate could not create the shadow database' >&2; false prisma migrate dev"
)
ALLOWED = ("--allowedTools", "Bash,Read,Edit", "--permission-mode", "default")


def known(box: Sandbox, *turns: dict[str, Any]) -> Turn:
    """Return what Claude got in a session with these tool calls, in a project with two memories."""
    repository(box)
    box.write(os.path.join(box.project, TABLE), "#define F_001 1\n")
    memory(box, "save", "--category", "constraint", "--title", "Fault codes", "--body", RULE, "--file", TABLE)
    title = "P3014 could not create the shadow database means SHADOW_DATABASE_URL is missing"
    memory(box, "save", "--category", "runbook", "--title", title, "--body", STEPS)
    for number in range(3):
        memory(box, "save", "--category", "decision", "--title", "Choice %d" % number, "--body", "It holds.")
    box.say({"turns": list(turns), "default": {"text": "All done."}})
    turn = box.prompt("Go on with the task, please.", *ALLOWED, plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "All done.")
    return turn


def on_file(box: Sandbox, name: str, **more: str) -> dict[str, Any]:
    """Return a turn that calls a tool on the file."""
    path = os.path.join(os.path.realpath(box.project), TABLE)
    return {"tool_use": [{"name": name, "input": {"file_path": path, **more}}]}


def requests_with(turn: Turn, text: str) -> list[int]:
    """Return how often each request of the session holds a text."""
    return [sum(part.count(text) for part in request.texts) for request in turn.of_kind("main")]


def test_the_memory_of_a_file_is_there_before_the_edit(box: Sandbox) -> None:
    edit = on_file(box, "Edit", old_string="#define F_001 1", new_string="#define F_002 2")
    turn = known(box, on_file(box, "Read"), edit, on_file(box, "Read"))
    assert hooks_went_well(box, turn)
    assert requests_with(turn, RULE) == [0, 1, 1, 1]
    assert [(row["place"], row["outcome"]) for row in written(box, "recalls") if row["place"] == "tool"] == [
        ("tool", "injected")
    ]


def test_a_failed_command_brings_its_runbook_once(box: Sandbox) -> None:
    turn = known(box, bash(FAILS), bash(FAILS))
    assert hooks_went_well(box, turn)
    assert requests_with(turn, STEPS) == [0, 1, 1]
    assert [row["outcome"] for row in written(box, "recalls") if row["place"] == "failure"] == ["injected"]


def test_other_calls_get_nothing(box: Sandbox) -> None:
    turn = known(box, bash("ls"), bash("cat missing.txt"))
    assert requests_with(turn, "<memory ") == [0, 0, 0]
    assert [row for row in written(box, "recalls") if row["place"] in {"tool", "failure"}] == []
