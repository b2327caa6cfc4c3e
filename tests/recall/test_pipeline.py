"""The straight line of recall, where no other test sees it: how much time each part has."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_plugin.kernel.clock import Deadline
from memory_plugin.kernel.paths import Places, locate
from memory_plugin.kernel.settings.load import Settings, load
from memory_plugin.recall import lookup
from memory_plugin.recall.pipeline import Answer, Prompt, recall


@pytest.mark.parametrize(("left", "most"), [(12.0, 3.0), (1.0, 1.0)], ids=["plenty", "little"])
def test_ranking_leaves_time_for_the_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: float, most: float
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    given: list[float] = []

    class Watched(lookup.Lookup):
        def __init__(self, places: Places, settings: Settings, deadline: Deadline) -> None:
            given.append(deadline.remaining())
            super().__init__(places, settings, deadline)

    monkeypatch.setattr(lookup, "Lookup", Watched)
    settings = load(None, None)
    prompt = Prompt("Which database does billing use?", "s", "p", "")
    answer = recall(Answer(), prompt, locate(str(tmp_path / "project")), settings, Deadline(left))
    assert answer.context == ""
    assert most - 0.5 < given[0] <= most
