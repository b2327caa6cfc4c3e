"""In the real client, a prompt that a memory matches recalls it, and every other prompt is silent."""

from __future__ import annotations

import os

import pytest

from tests.client.plugin import (
    ASK,
    PLUGIN,
    SILENT,
    count_memory,
    hooks_succeeded,
    is_recalled,
    ledger_rows,
    memory,
    with_memory,
)
from tests.client.sandbox import Sandbox
from tests.release_tree import copy_plugin

pytestmark = pytest.mark.client


def test_a_matching_prompt_recalls_the_memory(sandbox: Sandbox) -> None:
    turn = with_memory(sandbox).prompt(ASK, plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "Hello.")
    assert turn.init.get("plugin_errors") in (None, [])
    assert is_recalled(turn)
    assert hooks_succeeded(sandbox, turn)
    assert turn.of_kind("other") + turn.of_kind("proxy") == []


def test_another_prompt_recalls_nothing(sandbox: Sandbox) -> None:
    turn = with_memory(sandbox).prompt(SILENT, plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "Hello.")
    assert not is_recalled(turn)
    hooks_succeeded(sandbox, turn)
    records = sandbox.hook_records(turn.session)
    contexts = [record for record in records if record["type"] == "hook_additional_context"]
    assert [record["hookEvent"] for record in contexts] == ["SessionStart"], "only the catalog"


def test_a_project_without_memories_is_silent(sandbox: Sandbox) -> None:
    turn = sandbox.prompt(ASK, plugins=PLUGIN)
    assert turn.text == "Hello."
    assert not is_recalled(turn)
    hooks_succeeded(sandbox, turn)


def test_every_decision_is_recorded_without_the_prompt(sandbox: Sandbox) -> None:
    for prompt in (ASK, SILENT):
        with_memory(sandbox).prompt(prompt, plugins=PLUGIN)
    decisions = [row for row in ledger_rows(sandbox, "recalls") if row["place"] == "prompt"]
    assert len(decisions) == 2
    assert len({decision["prompt_id"] for decision in decisions}) == 2
    for prompt in (ASK, SILENT):
        assert prompt not in str(decisions)


def test_a_memory_is_recalled_once_in_a_session(sandbox: Sandbox) -> None:
    first = with_memory(sandbox).prompt(ASK, plugins=PLUGIN)
    again = sandbox.prompt(ASK + " Once more?", "--resume", first.session, plugins=PLUGIN)
    assert [count_memory(turn.of_kind("main")[-1]) for turn in (first, again)] == [1, 1]


def test_a_saved_memory_is_recalled_on_the_next_prompt(sandbox: Sandbox) -> None:
    first = with_memory(sandbox).prompt(ASK, plugins=PLUGIN)
    runbook = "Restart the payment gateway with `systemctl restart paygate` and drain the queue before."
    memory(
        sandbox, "save", "--category", "runbook", "--title", "Restart the payment gateway", "--body", runbook
    )
    turn = sandbox.prompt("How do I restart the payment gateway?", "--resume", first.session, plugins=PLUGIN)
    assert turn.sent("<memory-context>.*systemctl restart paygate")


def test_the_plugins_folder_does_not_change(sandbox: Sandbox) -> None:
    folder = copy_plugin(os.path.join(sandbox.folder, "plug in's"))

    def files() -> list[str]:
        found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        return sorted(path for path in found if "__pycache__" not in path)

    before = files()
    assert is_recalled(with_memory(sandbox).prompt(ASK, plugins=(folder,)))
    assert files() == before
