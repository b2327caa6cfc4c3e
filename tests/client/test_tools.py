"""Recall at tool calls in the real client: a file's memory before the edit, an error's runbook after it, each once."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, hooks_succeeded, ledger_rows, make_repository, memory
from tests.client.sandbox import Sandbox
from tests.client.turn import Turn

pytestmark = pytest.mark.client
RULE, TABLE = "Fault codes are append-only; a number is never used again.", "app/fault_codes.h"
STEPS = "Copy SHADOW_DATABASE_URL from .env.example and run it again."
FAILING = (
    "echo 'Error: P3014 Prisma Migrate could not create the shadow database' >&2; false prisma migrate dev"
)
ALLOWED = ("--allowedTools", "Bash,Read,Edit", "--permission-mode", "default")


def run_calls(sandbox: Sandbox, *turns: dict[str, Any]) -> Turn:
    """Save memories on a file and an error, run a session with these tool calls, and return it."""
    make_repository(sandbox)
    sandbox.write(os.path.join(sandbox.project, TABLE), "#define F_001 1\n")
    memory(
        sandbox, "save", "--category", "constraint", "--title", "Fault codes", "--body", RULE, "--file", TABLE
    )
    title = "P3014 could not create the shadow database means SHADOW_DATABASE_URL is missing"
    memory(sandbox, "save", "--category", "runbook", "--title", title, "--body", STEPS)
    for number in range(3):
        memory(
            sandbox, "save", "--category", "decision", "--title", "Choice %d" % number, "--body", "It holds."
        )
    sandbox.set_script({"turns": list(turns), "default": {"text": "All done."}})
    turn = sandbox.prompt("Go on with the task, please.", *ALLOWED, plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "All done.")
    return turn


def call_on_file(sandbox: Sandbox, name: str, **more: str) -> dict[str, Any]:
    """Return a reply that calls a tool on the file."""
    path = os.path.join(os.path.realpath(sandbox.project), TABLE)
    return {"tool_use": [{"name": name, "input": {"file_path": path, **more}}]}


def count_in_requests(turn: Turn, text: str) -> list[int]:
    """Return how often a text occurs in each request of the session."""
    return [sum(part.count(text) for part in request.texts) for request in turn.of_kind("main")]


def test_a_files_memory_is_recalled_before_the_edit(sandbox: Sandbox) -> None:
    edit = call_on_file(sandbox, "Edit", old_string="#define F_001 1", new_string="#define F_002 2")
    turn = run_calls(sandbox, call_on_file(sandbox, "Read"), edit, call_on_file(sandbox, "Read"))
    assert hooks_succeeded(sandbox, turn)
    assert count_in_requests(turn, RULE) == [0, 1, 1, 1]
    assert [
        (row["place"], row["outcome"]) for row in ledger_rows(sandbox, "recalls") if row["place"] == "tool"
    ] == [("tool", "injected")]


def test_a_failed_command_recalls_its_runbook_once(sandbox: Sandbox) -> None:
    turn = run_calls(sandbox, bash(FAILING), bash(FAILING))
    assert hooks_succeeded(sandbox, turn)
    assert count_in_requests(turn, STEPS) == [0, 1, 1]
    assert [row["outcome"] for row in ledger_rows(sandbox, "recalls") if row["place"] == "failure"] == [
        "injected"
    ]


def test_other_calls_recall_nothing(sandbox: Sandbox) -> None:
    turn = run_calls(sandbox, bash("ls"), bash("cat missing.txt"))
    assert count_in_requests(turn, "<memory ") == [0, 0, 0]
    assert [row for row in ledger_rows(sandbox, "recalls") if row["place"] in {"tool", "failure"}] == []
