"""The pipeline of recall: how much time each part has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_plugin.kernel.clock import Deadline
from memory_plugin.kernel.context import Context
from memory_plugin.kernel.paths import locate
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall import lookup
from memory_plugin.recall.gate import Prompt
from memory_plugin.recall.history import Answer, RecallHistory
from memory_plugin.recall.pipeline import recall
from tests.project import Project
from tests.recall.store_files import ASK, BODY, TITLE, at_home, no_threshold


@pytest.mark.parametrize(("left", "most"), [(12.0, 3.0), (1.0, 1.0)], ids=["plenty", "little"])
def test_ranking_leaves_time_for_the_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: float, most: float
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    given: list[float] = []

    class Watched(lookup.Lookup):
        def __init__(self, context: Context) -> None:
            given.append(context.deadline.remaining())
            super().__init__(context)

    monkeypatch.setattr(lookup, "Lookup", Watched)
    context = Context(locate(str(tmp_path / "project")), load(None, None), Deadline(left), "s")
    answer = recall(Answer("prompt"), Prompt("Which database does billing use?", "p", ""), 9500, context)
    assert answer.block == ""
    assert most - 0.5 < given[0] <= most


def test_a_trial_gives_the_result_of_a_prompt_and_writes_nothing(project: Project) -> None:
    no_threshold(project)
    project.save(TITLE, BODY)
    with at_home(project) as paths:
        context = Context(paths, load(paths.config_dir, paths.project_root), Deadline(60), "")
        before = sorted(os.listdir(paths.state()))
        history = RecallHistory(paths, "")
        results = [
            recall(Answer("prompt"), Prompt(text, "p", ""), 9500, context, history).record
            for text in (ASK, "ok", ASK, "A haiku about the sea, please.")
        ]
        assert [result["outcome"] for result in results] == ["injected", "skipped", "silent", "silent"]
        assert [result["reason"] for result in results[1:3]] == ["confirmation", "already_injected"]
        assert results[0]["injected"] == ["project:decision/use-postgres-for-the-billing-database"]
        assert results[0]["tokens"] > 20
        assert sorted(os.listdir(paths.state())) == before
    assert project.ledger("recalls") == []
