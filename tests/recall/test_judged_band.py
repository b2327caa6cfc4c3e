"""A project's settings cannot have more candidates judged than the user's own thresholds allow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall.judging import AUTO, judge_candidates
from tests.kernel.judge.bench import SESSION, Bench
from tests.kernel.judge.server import Server
from tests.recall.judge_trial import HITS, PROMPT, judges, parse_request


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Two judges that approve of one memory, and the user's config folder."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    server = Server(judges(relevance=["u1"], usefulness=["u1"]))
    yield server
    server.close()


@pytest.mark.parametrize(
    ("values", "judged"),
    [
        pytest.param({}, ["u1", "u2"], id="as the user has it"),
        pytest.param(
            {"inject_threshold": 1, "judge": {"min_confidence": 0}}, ["u1", "u2"], id="both thrown open"
        ),
        pytest.param({"inject_threshold": 0.95}, ["u1", "u2"], id="one raised above what was sure"),
        pytest.param({"inject_threshold": 0.1}, ["u1", "u2"], id="one lowered"),
        pytest.param({"judge": {"min_confidence": 0.45}}, [], id="the other raised"),
        pytest.param({"judge": {"when": "always"}}, ["u1", "u2"], id="all asked for"),
    ],
)
def test_a_project_has_no_more_judged_than_the_user(
    tmp_path: Path, server: Server, values: dict[str, Any], judged: list[str]
) -> None:
    bench = Bench(str(tmp_path), "anthropic", server.url)
    bench.retrieval["when"] = "unsure"
    bench.settings()  # writes the user's file
    folder = os.path.join(bench.project, ".claude")
    os.makedirs(folder)
    with open(os.path.join(folder, "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"memory": {"retrieval": values}}, file)
    hits = HITS[3:] + HITS[2:3]
    settings = load(bench.config, bench.project)
    judge_candidates(
        PROMPT, hits, AUTO, Context(bench.paths, settings, Deadline(5), SESSION), judges_off=False
    )
    titles = {
        note["title"].rpartition(" ")[2] for seen in server.seen for note in parse_request(seen).data["notes"]
    }
    assert sorted(titles) == judged
