"""Scores and configs for Langfuse: created once, validated before they are sent, without keys and secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.judge.question import JudgeError
from memory_plugin.sessions.langfuse import (
    ensure_configs,
    score_bodies,
    score_configs,
)
from memory_plugin.sessions.langfuse_client import LangfuseClient, find_access
from memory_plugin.sessions.rows import latest_rows
from tests.sessions.bench import IDS, Bench, push_scores
from tests.sessions.grades import reply
from tests.sessions.langfuse.server import Langfuse


def send_all(bench: Bench) -> None:
    """Send all scores of a bench."""
    assert push_scores(bench).pending == 0


def test_configs_are_found_among_many_and_created_once(graded: Bench, langfuse: Langfuse) -> None:
    scorer = graded.scorer
    client = LangfuseClient(find_access(scorer.paths, scorer.settings), Deadline(20))
    for n in range(120):
        langfuse._post_config({"name": "other %d" % n, "dataType": "NUMERIC"})
    other_scale = {**score_configs()["tool_efficiency"], "maxValue": 10}
    langfuse._post_config(other_scale)
    first = ensure_configs(client)
    assert len(langfuse.seen) == 3 + 7, "no page beyond the last is asked for"
    assert list(first) == list(score_configs())
    assert ensure_configs(client) == first
    assert len(langfuse.configs) == 128
    langfuse._post_config(dict(score_configs()["output_quality"]))
    assert ensure_configs(client) == first


def test_comments_name_turns(graded: Bench, langfuse: Langfuse) -> None:
    send_all(graded)
    row = next(row for row in langfuse.scores.values() if row["name"] == "tool_efficiency")
    assert row["comment"] == "Because of tool_efficiency.\nT1: seen"
    assert row["metadata"]["by"] == "api"
    assert row["timestamp"].endswith("Z")


def test_an_unscored_dimension_is_not_sent_as_zero(graded: Bench, langfuse: Langfuse) -> None:
    graded.script(reply(tool_efficiency=None))
    graded.grade(graded.transcript(IDS[5]))
    send_all(graded)
    sent = {row["name"] for row in langfuse.scores.values() if row["sessionId"] == IDS[5]}
    assert sent == set(score_configs()) - {"tool_efficiency", "overall_quality"}


OUT_OF_SCALE = {"goal_achievement": 7, "tool_efficiency": "x", "output_quality": {"score": 1.2}}


@pytest.mark.parametrize(
    "changes",
    [
        {"dimensions": {}},
        {"dimensions": OUT_OF_SCALE, "overall_quality": 1.1},
        {"session": 5},
        {"dimensions": [1]},
    ],
)
def test_an_invalid_ledger_line_has_no_scores(graded: Bench, changes: dict[str, Any]) -> None:
    (first, *_) = graded.rows()
    with open(graded.config / "lcars" / "memory" / "sessions.jsonl", "w", encoding="utf-8") as file:
        file.write(json.dumps({**first, "overall_quality": None, **changes, "scorer": 3}) + "\n")
    rows = latest_rows(graded.scorer.paths).values()
    assert [body for row in rows for body in score_bodies(row)] == []


@pytest.mark.parametrize(
    ("variables", "host", "failure"),
    [
        ({"LANGFUSE_SECRET_KEY": ""}, None, "no_key"),
        ({"LANGFUSE_PUBLIC_KEY": "a:b"}, None, "no_key"),
        ({}, "http://langfuse.example", "bad_url"),
        ({}, "ftp://x", "bad_url"),
    ],
)
def test_keys_and_address_must_be_valid(
    graded: Bench, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], host: str | None, failure: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    scorer = graded.scorer
    if host:
        scorer.settings.set_value("sessions.langfuse.host", host, "user")
    with pytest.raises(JudgeError) as error:
        find_access(scorer.paths, scorer.settings)
    assert error.value.name == failure
    with pytest.raises(JudgeError, match="disabled"):
        find_access(scorer.paths, scorer.settings, "the project sets LANGFUSE_HOST")


def test_keys_stay_out_of_files(graded: Bench, langfuse: Langfuse) -> None:
    send_all(graded)
    for path in (graded.config / "lcars").rglob("*"):
        if path.is_file():
            assert b"sk-lf" not in path.read_bytes()
            assert b"cGstbGYt" not in path.read_bytes()
