"""The main job in the real client: recall on the prompts where it matters, silence on all others."""

from __future__ import annotations

import os

import pytest

from tests.client.plugin import (
    ASK,
    PLUGIN,
    SILENT,
    begin,
    hooks_went_well,
    memory,
    recalled,
    times,
    written,
)
from tests.client.sandbox import Sandbox
from tests.release_tree import copy_plugin

pytestmark = pytest.mark.client


def test_a_memory_is_recalled_where_it_matters(box: Sandbox) -> None:
    turn = begin(box).prompt(ASK, plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "Hello.")
    assert turn.init.get("plugin_errors") in (None, [])
    assert recalled(turn)
    assert hooks_went_well(box, turn)
    assert turn.of_kind("other") + turn.of_kind("proxy") == []


def test_silence_where_nothing_fits(box: Sandbox) -> None:
    turn = begin(box).prompt(SILENT, plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "Hello.")
    assert not recalled(turn)
    hooks_went_well(box, turn)
    told = [r for r in box.hook_records(turn.session) if r["type"] == "hook_additional_context"]
    assert [r["hookEvent"] for r in told] == ["SessionStart"], "the catalog, and nothing on the prompt"


def test_silence_in_a_project_without_memories(box: Sandbox) -> None:
    turn = box.prompt(ASK, plugins=PLUGIN)
    assert turn.text == "Hello."
    assert not recalled(turn)
    hooks_went_well(box, turn)


def test_every_decision_is_written_down_without_the_prompt(box: Sandbox) -> None:
    for prompt in (ASK, SILENT):
        begin(box).prompt(prompt, plugins=PLUGIN)
    decisions = [row for row in written(box, "recalls") if row["place"] == "prompt"]
    assert len(decisions) == 2
    assert len({decision["prompt_id"] for decision in decisions}) == 2
    for prompt in (ASK, SILENT):
        assert prompt not in str(decisions)


def test_the_same_memory_is_not_put_there_twice_in_a_session(box: Sandbox) -> None:
    first = begin(box).prompt(ASK, plugins=PLUGIN)
    again = box.prompt(ASK + " Once more?", "--resume", first.session, plugins=PLUGIN)
    assert [times(turn.of_kind("main")[-1]) for turn in (first, again)] == [1, 1]


def test_a_saved_memory_is_there_for_the_next_prompt(box: Sandbox) -> None:
    first = begin(box).prompt(ASK, plugins=PLUGIN)
    runbook = "Restart the payment gateway with `systemctl restart paygate` and drain the queue before."
    memory(box, "save", "--category", "runbook", "--title", "Restart the payment gateway", "--body", runbook)
    turn = box.prompt("How do I restart the payment gateway?", "--resume", first.session, plugins=PLUGIN)
    assert turn.sent("<memory-context>.*systemctl restart paygate")


def test_the_plugins_own_folder_stays_as_it_was(box: Sandbox) -> None:
    folder = copy_plugin(os.path.join(box.folder, "plug in's"))

    def files() -> list[str]:
        found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        return sorted(path for path in found if "__pycache__" not in path)

    before = files()
    assert recalled(begin(box).prompt(ASK, plugins=(folder,)))
    assert files() == before
