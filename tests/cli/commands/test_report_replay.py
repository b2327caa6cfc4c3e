"""`memory report replay`: past prompts under the settings in effect and under a trial file."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.work.trial import past_prompts
from tests.project import SESSION, Project
from tests.recall.store_files import ASK, BODY, TITLE
from tests.replies.builders import assistant_record, call_record, result_record, user_record, write_transcript

ID = "use-postgres-for-the-billing-database"
JANUARY, MARCH = "2026-01-05T10:00:00Z", "2026-03-05T10:00:00Z"
FEBRUARY = 1769904000.0  # 2026-02-01


@pytest.fixture
def project_with_history(project: Project) -> Project:
    """Return a project with one memory and a transcript of three prompts."""
    project.save(TITLE, BODY)
    folder = re.sub(r"[^A-Za-z0-9]", "-", project.root)
    rows = [
        user_record(ASK, cwd=project.root, sessionId=SESSION),
        assistant_record("Postgres."),
        user_record("ok", cwd=project.root),
        user_record("A haiku about the sea, please.", cwd=project.root),
    ]
    write_transcript(os.path.join(project.config, "projects", folder, SESSION + ".jsonl"), *rows)
    return project


def write_trial(project: Project, **retrieval: object) -> str:
    """Write a settings file to try, and return its path."""
    return project.write("trial.json", {"memory": {"retrieval": retrieval}})


def test_the_settings_in_effect_are_counted(project_with_history: Project) -> None:
    found = project_with_history.cli("report", "replay", "--json").json
    tokens = found["now"].pop("tokens")
    assert found == {"now": {"injected": 1, "pointed": 0, "silent": 2, "prompts": 3}, "differences": []}
    assert tokens > 20
    assert "SETTINGS" in project_with_history.cli("report", "replay").stdout
    assert project_with_history.ledger("recalls") == []


def test_a_trial_file_shows_the_differences(project_with_history: Project) -> None:
    path = write_trial(project_with_history, inject_threshold=1.0, pointer_threshold=0.3)
    found = project_with_history.cli("report", "replay", "--config", path, "--json").json
    assert (found["now"]["injected"], found["trial"]["injected"], found["trial"]["pointed"]) == (1, 0, 1)
    (difference,) = found["differences"]
    assert (difference["prompt"], difference["trial"]["outcome"]) == (ASK, "pointed")
    shown = project_with_history.cli("report", "replay", "--config", path).stdout
    assert "1 of 3 prompts differ:" in shown
    assert "now:   shown %s" % ID in shown
    assert "trial: title shown %s" % ID in shown


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "expected JSON"),
        ({"memory": {"retrieval": {"inject_threshold": 7}}}, "inject_threshold"),
        ({"memory": {"retrieval": {"inject_treshold": 0.7}}}, "inject_treshold"),
    ],
    ids=["no JSON", "out of range", "unknown key"],
)
def test_a_trial_file_with_a_problem_is_an_error(
    project_with_history: Project, content: object, says: str
) -> None:
    path = project_with_history.write(
        "trial.json", content if isinstance(content, str) else json.dumps(content)
    )
    run = project_with_history.cli("report", "replay", "--config", path)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr
    assert "trial.json" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--config", "/no/such/file"], "no such file"), (["--days", "0"], "expected 1 to 3650")],
)
def test_usage_errors(project_with_history: Project, arguments: list[str], says: str) -> None:
    run = project_with_history.cli("report", "replay", *arguments)
    assert (run.returncode, says in run.stderr) == (2, True)


def test_a_project_without_transcripts_is_an_error(project: Project) -> None:
    run = project.cli("report", "replay")
    assert (run.returncode, "no transcript" in run.stderr) == (1, True)


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
