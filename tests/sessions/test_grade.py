"""Grading a session, from the transcript to the ledger, and runs over many sessions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from memory_plugin.kernel.context import LedgerError
from memory_plugin.kernel.judge.asking import Judge
from memory_plugin.kernel.judge.question import Verdict
from memory_plugin.sessions import grade, material
from memory_plugin.sessions.grade import grade_one_by_one, grade_session
from memory_plugin.sessions.material import prepare
from memory_plugin.sessions.rows import grade_row, latest_rows, ungraded
from tests.kernel.transcript.rows import answer, text_block, user
from tests.sessions.bench import IDS, Bench
from tests.sessions.grades import LEVELS, NUMBERS, reply

LONG = [user("Go"), *(answer("m%d" % n, text_block("w%d " % n * 100)) for n in range(40))]


def test_a_grade_becomes_a_row(bench: Bench) -> None:
    graded = bench.grade(bench.transcript(IDS[1]))
    (row,) = bench.rows()
    assert graded.row is not None
    assert row == {**{key: row[key] for key in ("schema", "time", "version")}, **graded.row}
    assert (row["session"], row["kind"], row["overall_quality"], row["missing"]) == (
        IDS[1],
        "score",
        0.6233,
        [],
    )
    assert (row["root_cause"], row["confidence"]) == ("none", 0.8)
    assert row["dimensions"]["goal_achievement"]["label"] == "complete"
    assert row["project"].startswith("project-")
    assert row["scorer"]["by"] == "api"
    assert (row["signals"], row["turns"]) == ({"completions": 2}, 3)
    (call,) = bench.rows("judge-calls")
    assert (call["feature"], call["question"], call["session"]) == (
        "sessions",
        "sessions/score",
        IDS[1],
    )


def test_evidence_for_missing_turns_is_removed_and_counted(bench: Bench) -> None:
    bench.script(
        reply(
            tool_efficiency={"score": 0.5, "evidence": [{"turn": 4, "what": "x"}, {"turn": 2, "what": "y"}]}
        )
    )
    row = bench.grade(bench.transcript(IDS[1])).row
    assert row is not None
    assert (row["dimensions"]["tool_efficiency"]["evidence"], row["struck"]) == (
        [{"turns": [2], "what": "y"}],
        1,
    )


def test_a_second_grade_replaces_the_first_and_keeps_the_stamp(bench: Bench) -> None:
    path = bench.transcript(IDS[1])
    bench.grade(path)
    bench.script(reply(goal_achievement=0))
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"type":"user","uuid":"new","message":{"content":"More"}}\n')
    bench.grade(path)
    rows = bench.rows()
    assert [row["dimensions"]["goal_achievement"]["score"] for row in rows] == [2, 0]
    assert rows[0]["stamp"] == rows[1]["stamp"]
    assert rows[0]["session"] == rows[1]["session"]
    scorer = bench.scorer
    assert [row["dimensions"]["goal_achievement"]["score"] for row in latest_rows(scorer.paths).values()] == [
        0
    ]


def test_a_missing_dimension_leaves_the_overall_unscored(bench: Bench) -> None:
    bench.script(reply(tool_efficiency=None))
    row = bench.grade(bench.transcript(IDS[1])).row
    assert row is not None
    assert (row["missing"], row["overall_quality"]) == (["tool_efficiency"], None)


@pytest.mark.parametrize(
    ("settings", "script", "failure"),
    [
        ({"judge": {"enabled": False}}, (reply(),), "disabled"),
        ({}, ("overloaded",), "overloaded"),
        ({}, ({"scores": 1},), "parse_error"),
    ],
)
def test_without_a_grade_there_is_no_row(
    make_bench: Callable[..., Bench], settings: dict[str, Any], script: tuple[Any, ...], failure: str
) -> None:
    bench = make_bench(**settings)
    bench.script(*script)
    graded = bench.grade(bench.transcript(IDS[1]))
    assert (graded.row, graded.failures, bench.rows()) == (None, [failure], [])
    assert graded.prepared.signals.totals.turns == 3


def test_an_empty_transcript_is_not_sent(bench: Bench) -> None:
    path = bench.transcript(IDS[1])
    with open(path, "wb"):
        pass
    graded = bench.grade(path)
    assert (graded.failures, bench.rows("judge-calls")) == (["empty"], [])


def test_a_session_of_a_project_that_sets_an_endpoint_is_not_sent(bench: Bench) -> None:
    scorer = bench.scorer._replace(off="the project sets ANTHROPIC_BASE_URL")
    graded = grade_session(prepare(bench.transcript(IDS[1])), scorer)
    assert (graded.row, graded.failures, graded.detail) == (
        None,
        ["disabled"],
        "the project sets ANTHROPIC_BASE_URL",
    )


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split sessions above 2,000 tokens into parts of about 1,000."""
    monkeypatch.setattr(material, "_UNSPLIT_TOKENS", 2000)
    monkeypatch.setattr(material, "_PART_TOKENS", 1000)


@pytest.mark.usefixtures("small_parts")
def test_a_long_session_is_graded_in_parts(bench: Bench) -> None:
    row = bench.grade(bench.transcript(IDS[1], LONG)).row
    assert row is not None
    parts = len(row["dimensions"]["tool_efficiency"]["merge"]["parts"])
    assert parts > 2
    assert row["dimensions"]["tool_efficiency"]["merge"] == {
        "rule": "tokens",
        "parts": [0.8] * parts,
    }
    assert row["overall_quality"] == 0.6233


@pytest.mark.usefixtures("small_parts")
def test_after_a_lasting_failure_no_more_parts_are_sent(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def ask_all(_judge: object, questions: list[object], *_: object, **__: object) -> list[Verdict]:
        sizes.append(len(questions))
        return [Verdict(None, "over_budget") for _ in questions]

    monkeypatch.setattr(Judge, "ask_all", ask_all)
    graded = bench.grade(bench.transcript(IDS[1], LONG))
    assert sizes == [4]
    assert len(graded.failures) > 4


def test_a_sub_agents_answer_is_checked_and_stored(bench: Bench) -> None:
    prepared = prepare(bench.transcript(IDS[1]), 60_000)
    scores = prepared.read_grade(reply(output_quality={"score": 1, "evidence": ["turn 77 says so"]}))
    assert scores is not None
    row = grade_row(prepared, [scores], {"by": "agent", "failures": []}, bench.paths)
    assert (
        row["scorer"]["by"],
        row["struck"],
        row["dimensions"]["output_quality"]["score"],
    ) == ("agent", 1, 1.0)


def test_a_full_disk_is_an_error(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise LedgerError("sessions: No space left on device")

    monkeypatch.setattr(grade, "append_row", full)
    path = bench.transcript(IDS[1])
    with pytest.raises(LedgerError, match="No space"):
        bench.grade(path)
    run = grade_one_by_one([path], bench.scorer, quiet)
    assert list(run.failed.values()) == ["sessions: No space left on device"]


def test_the_sample_reply_has_all_dimensions() -> None:
    assert set(LEVELS) | set(NUMBERS) == {
        name for name in reply() if name not in ("root_cause", "improvements", "confidence")
    }


def quiet(_line: str) -> None:
    """Show no progress."""


def test_a_second_run_skips_graded_sessions(bench: Bench) -> None:
    paths = [bench.transcript(identity) for identity in IDS[:4]]
    bench.grade(paths[0])
    assert ungraded(paths, bench.scorer.paths) == paths[1:]
    with open(paths[1], "wb"):
        pass
    run = grade_one_by_one(paths, bench.scorer, quiet)
    assert (len(run.graded), run.already, run.failed) == (2, 1, {})
    assert ungraded(paths, bench.scorer.paths) == [paths[1]]
    os.utime(paths[2])
    with open(paths[2], "a", encoding="utf-8") as file:
        file.write("\n")
    assert ungraded(paths, bench.scorer.paths) == [paths[1], paths[2]]


def test_a_lasting_failure_ends_the_run(bench: Bench) -> None:
    bench.script("http_401")
    paths = [bench.transcript(identity) for identity in IDS[:4]]
    run = grade_one_by_one(paths, bench.scorer, quiet)
    assert (run.graded, run.already) == ([], 0)
    assert list(run.failed.values()) == ["http_401"] * 4
    assert len(bench.rows("judge-calls")) == 1
