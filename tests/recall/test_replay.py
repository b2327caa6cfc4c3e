"""Past prompts are read from transcripts and replayed without writing anything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.kernel.clock import Deadline
from memory_plugin.kernel.context import Context
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall.gate import Prompt
from memory_plugin.recall.history import RecallHistory
from memory_plugin.recall.replay import past_prompts, try_prompt
from tests.project import Project
from tests.recall.store_files import ASK, BODY, TITLE, at_home, no_threshold
from tests.replies.builders import assistant_record, call_record, result_record, user_record, write_transcript

JANUARY, MARCH = "2026-01-05T10:00:00Z", "2026-03-05T10:00:00Z"
FEBRUARY = 1769904000.0  # 2026-02-01


def prompt(text: str, time: str = MARCH, **fields: object) -> dict[str, Any]:
    """Return a typed prompt's row with a time."""
    return user_record(text, timestamp=time, **fields)


def texts(folder: Path, *rows: object, oldest: float = 0.0) -> list[str]:
    """Return the prompts found in a transcript of these rows."""
    path = write_transcript(str(folder / "t.jsonl"), *rows)
    return [past.text for past, _ in past_prompts(path, oldest)]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        pytest.param([prompt("one"), prompt("two")], ["one", "two"], id="prompts in order"),
        pytest.param([prompt("old", JANUARY), prompt("new")], ["new"], id="older ones are left out"),
        pytest.param([user_record("without a time")], ["without a time"], id="no time"),
        pytest.param([prompt("one"), prompt("one")], ["one"], id="a repeated row"),
        pytest.param(
            [prompt("one", uuid=""), prompt("two", uuid="")], ["one", "two"], id="rows without an id"
        ),
        pytest.param([prompt("main"), prompt("side", isSidechain=True)], ["main"], id="a sub-agent's"),
        pytest.param([prompt("<command-name>/clear</command-name>")], [], id="a command of the client"),
        pytest.param([call_record("Bash", {"command": "ls"}), result_record("x")], [], id="tools"),
        pytest.param([b'{"a\n', b"\xff\n", prompt("after")], ["after"], id="damaged lines"),
    ],
)
def test_prompts_of_a_transcript(tmp_path: Path, rows: list[object], found: list[str]) -> None:
    assert texts(tmp_path, *rows, oldest=FEBRUARY) == found


def test_the_turn_before_goes_with_a_prompt(tmp_path: Path) -> None:
    rows = [prompt("Where are invoices kept?"), assistant_record("In Postgres."), prompt("and the tests?")]
    path = write_transcript(str(tmp_path / "t.jsonl"), *rows)
    assert [past.previous_turn for past, _ in past_prompts(path, 0.0)] == [
        "",
        "Where are invoices kept? \nIn Postgres.",
    ]


def test_a_missing_transcript_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        list(past_prompts("/no/such/file", 0.0))


def test_a_replay_gives_the_result_of_a_prompt_and_writes_nothing(project: Project) -> None:
    no_threshold(project)
    project.save(TITLE, BODY)
    with at_home(project) as paths:
        context = Context(paths, load(paths.config_dir, paths.project_root), Deadline(60), "")
        before = sorted(os.listdir(paths.state()))
        history = RecallHistory(paths, "")
        results = [
            try_prompt(Prompt(text, "p", ""), history, context, 9500)
            for text in (ASK, "ok", ASK, "A haiku about the sea, please.")
        ]
        assert [result["outcome"] for result in results] == ["injected", "skipped", "silent", "silent"]
        assert [result["reason"] for result in results[1:3]] == ["confirmation", "already_injected"]
        assert results[0]["injected"] == ["project:decision/use-postgres-for-the-billing-database"]
        assert results[0]["tokens"] > 20
        assert sorted(os.listdir(paths.state())) == before
    assert project.ledger("recalls") == []
