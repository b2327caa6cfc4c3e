"""Runs over many sessions: graded sessions are skipped, and a lasting failure ends the run."""

from __future__ import annotations

import os

from memory_plugin.sessions.grading_runs import grade_one_by_one
from memory_plugin.sessions.pipeline import grade_session
from memory_plugin.sessions.score_rows import ungraded
from tests.sessions.bench import IDS, Bench


def quiet(_line: str) -> None:
    """Show no progress."""


def test_a_second_run_skips_graded_sessions(bench: Bench) -> None:
    paths = [bench.transcript(identity) for identity in IDS[:4]]
    grade_session(paths[0], bench.scorer)
    assert ungraded(paths, bench.scorer.paths, bench.scorer.settings) == paths[1:]
    with open(paths[1], "wb"):
        pass
    run = grade_one_by_one(paths, bench.scorer, quiet, again=False)
    assert (len(run.rows), run.graded_before, run.failed) == (2, 1, {})
    assert ungraded(paths, bench.scorer.paths, bench.scorer.settings) == [paths[1]]
    os.utime(paths[2])
    with open(paths[2], "a", encoding="utf-8") as file:
        file.write("\n")
    assert ungraded(paths, bench.scorer.paths, bench.scorer.settings) == [paths[1], paths[2]]


def test_a_lasting_failure_ends_the_run(bench: Bench) -> None:
    bench.script("http_401")
    paths = [bench.transcript(identity) for identity in IDS[:4]]
    run = grade_one_by_one(paths, bench.scorer, quiet, again=False)
    assert (run.rows, run.graded_before) == ([], 0)
    assert list(run.failed.values()) == ["http_401"] * 4
    assert len(bench.rows("judge-calls")) == 1
