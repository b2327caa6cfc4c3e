"""The pipeline of recall: how much time each part has."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall import pipeline as lookup
from memory_plugin.recall.gate import Answer, Prompt, admit
from memory_plugin.recall.history import RecallHistory
from memory_plugin.recall.index_file import index_path
from memory_plugin.recall.pipeline import recall
from tests.project import Project
from tests.recall.store_files import ASK, BODY, TITLE, at_home, no_threshold


def recalled(text: str, context: Context, history: RecallHistory | None = None) -> Answer:
    """Return the answer to a prompt."""
    answer, prompt = Answer("prompt"), Prompt(text, "p", "")
    if admit(answer, prompt, context.settings):
        recall(answer, prompt, 9500, context, history)
    return answer


@pytest.mark.parametrize(("left", "most"), [(12.0, 3.0), (1.0, 1.0)], ids=["plenty", "little"])
def test_ranking_leaves_time_for_the_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: float, most: float
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    given: list[float] = []

    class Watched(lookup.Lookup):
        def __init__(self, answer: Answer, context: Context) -> None:
            given.append(context.deadline.remaining())
            super().__init__(answer, context)

    monkeypatch.setattr(lookup, "Lookup", Watched)
    context = Context(Paths(str(tmp_path / "project")), load(None, None), Deadline(left), "s")
    answer = recalled("Which database does billing use?", context)
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
            recalled(text, context, history).record
            for text in (ASK, "ok", ASK, "A haiku about the sea, please.")
        ]
        assert [result["outcome"] for result in results] == ["injected", "skipped", "silent", "silent"]
        assert [result["reason"] for result in results[1:3]] == ["confirmation", "already_injected"]
        assert results[0]["injected"] == ["project:decision/use-postgres-for-the-billing-database"]
        assert results[0]["tokens"] > 20
        assert sorted(os.listdir(paths.state())) == before
    assert project.ledger("recalls") == []


@pytest.mark.parametrize("bug", [TypeError, ValueError, KeyError, IndexError])
def test_a_bug_is_raised_and_rebuilds_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch, bug: type[Exception]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise bug("a bug")

    project.save(TITLE, BODY)
    monkeypatch.setattr(lookup, "rank", fail)
    with at_home(project) as paths:
        before = os.stat(index_path(paths)).st_mtime_ns
        context = Context(paths, load(paths.config_dir, paths.project_root), Deadline(60), "s")
        with pytest.raises(bug, match="a bug"):
            recalled(ASK, context)
        assert os.stat(index_path(paths)).st_mtime_ns == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE meta SET value = 'no JSON'",
        "UPDATE meta SET value = x'00' WHERE name = 'watched'",
        "DELETE FROM totals",
        "DELETE FROM documents",
        "UPDATE documents SET tags = 'no JSON'",
        "UPDATE documents SET inject = x'ff'",
        "UPDATE vectors SET body = x'00'",
        "UPDATE vocabulary SET strong = x'31'",
    ],
)
def test_a_prompt_rebuilds_a_damaged_index_once_a_day(project: Project, damage: str) -> None:
    no_threshold(project)
    project.save(TITLE, BODY)
    outcomes = []
    with at_home(project) as paths:
        path, settings = index_path(paths), load(paths.config_dir, paths.project_root)
        for day in (0, 0, 1):
            if day:
                project.write(path + ".rebuilt", {"day": "2001-01-01"})
            with closing(sqlite3.connect(path)) as connection:
                connection.execute(damage)
                connection.commit()
            context = Context(paths, settings, Deadline(60), "")
            answer = recalled(ASK, context, RecallHistory(paths, ""))
            outcomes.append((answer.record["outcome"], answer.record["problem"], answer.needs_refresh))
    rebuilt = ("injected", "index_damaged", True)
    assert outcomes == [rebuilt, ("silent", "index_damaged", False), rebuilt]
