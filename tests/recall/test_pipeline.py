"""The pipeline of recall: how much time each part has."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_plugin.kernel.clock import Deadline
from memory_plugin.kernel.context import Context
from memory_plugin.kernel.paths import locate
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall import lookup
from memory_plugin.recall.answer import Answer
from memory_plugin.recall.gate import Prompt
from memory_plugin.recall.pipeline import recall


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
