"""Bad input of every kind: exit 0, nothing on stdout, the prompt through, one line in the events ledger."""

from __future__ import annotations

import glob
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.project import PLUGIN_ROOT, Project

EVENTS = ["UserPromptSubmit", "SessionStart"]
TITLE = "Use Postgres for the billing database"
BODY = "The billing service stores its invoices in Postgres 15, never in MySQL."
ASK = "Which database do we use for the billing service?"
NOT_AN_EVENT = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"\0" * 100, id="NULs"),
    pytest.param(b"{", id="cut off"),
    pytest.param(b"[1, 2]", id="a list"),
    pytest.param(b"null", id="null"),
    pytest.param(b"\xff\xfe{}", id="not UTF-8"),
    pytest.param(b"[" * 500_000, id="nested too deeply"),
    pytest.param(b"x" * 10_000_000, id="10 MB of noise"),
]


@pytest.fixture
def recalling(project: Project) -> Project:
    """A project whose one memory answers ASK."""
    project.save(TITLE, BODY)
    assert "Postgres 15" in project.prompt(ASK, session_id="before").context
    return project


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("data", NOT_AN_EVENT)
def test_what_is_no_event_is_noted_in_one_line(project: Project, event: str, data: bytes) -> None:
    run = project.hook(event, data)
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.count("\n") <= 1
    assert [(row["event"], row["kind"]) for row in project.ledger("events")] == [(event, "bad_input")]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"prompt": 42}, id="the prompt is a number"),
        pytest.param({"prompt": None}, id="the prompt is null"),
        pytest.param(
            {"prompt": ASK, "session_id": {"a": []}, "prompt_id": 7, "transcript_path": []}, id="wrong types"
        ),
        pytest.param(
            {"prompt": ASK, "session_id": "../../x", "prompt_id": "\0"}, id="a session that is a path"
        ),
        pytest.param({"prompt": ASK, "transcript_path": "/dev/zero"}, id="a transcript that never ends"),
        pytest.param(
            {"prompt": ASK, "transcript_path": "/etc/shadow", "cwd": "/nowhere"}, id="strange paths"
        ),
        pytest.param({"prompt": "\ud800 which database \udfff"}, id="lone surrogates"),
        pytest.param({"prompt": ASK + "\0" * 1000}, id="NULs in the prompt"),
        pytest.param({"prompt": '" OR 1 NEAR(*) : ^ - AND NOT ( billing'}, id="the search's own syntax"),
        pytest.param({"prompt": "billing database " * 600_000}, id="a prompt of 10 MB"),
        pytest.param({"prompt": ("x" * 1_000_000 + " ") * 5}, id="words of 1 MB"),
    ],
)
def test_a_strange_event_lets_the_prompt_through(recalling: Project, fields: dict[str, object]) -> None:
    run = recalling.hook("UserPromptSubmit", recalling.event("UserPromptSubmit", **fields))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "" or list(run.json) == ["hookSpecificOutput"]
    assert len(run.context) < 9500
    found = [os.path.join(at, name) for at, _, names in os.walk(recalling.state) for name in names]
    assert [path for path in found if os.path.basename(path) == "x"] == []


@pytest.mark.parametrize("event", EVENTS)
def test_without_a_home_there_is_silence(recalling: Project, event: str) -> None:
    given = recalling.event(event, prompt=ASK, prompt_id="p2", source="startup")
    run = recalling.hook(event, given, HOME=None, CLAUDE_CONFIG_DIR=None)
    assert (run.returncode, run.stdout) == (0, "")


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("closed", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_no_fault(recalling: Project, event: str, closed: int) -> None:
    script = os.path.join(
        PLUGIN_ROOT, "hooks", {EVENTS[0]: "user_prompt_submit.py"}.get(event, "session_start.py")
    )
    command = 'exec "$0" -I -S "$1" %d%s&-' % (closed, "<" if closed == 0 else ">")
    given = json.dumps(recalling.event(event, prompt=ASK, prompt_id="p2", source="startup")).encode()
    run = recalling.process(["/bin/sh", "-c", command, recalling.python, script], given)
    assert run.returncode == 0


def index_file(project: Project) -> str:
    """The one index of a project."""
    (found,) = glob.glob(os.path.join(project.state, "index", "*.sqlite3"))
    return found


@pytest.mark.parametrize(
    "content",
    [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000],
    ids=["empty", "no database", "a broken database"],
)
def test_a_damaged_index_is_made_anew_and_nothing_is_lost(recalling: Project, content: bytes) -> None:
    with open(index_file(recalling), "wb") as file:
        file.write(content)
    for number in range(2):
        run = recalling.prompt(ASK, session_id="after-%d" % number)
        assert run.returncode == 0
    assert "Postgres 15" in run.context


def test_a_locked_index_does_not_hold_the_prompt(recalling: Project) -> None:
    with closing(sqlite3.connect(index_file(recalling), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        run = recalling.prompt(ASK, session_id="locked")
    assert (run.returncode, run.stderr) == (0, "")
    assert "Postgres 15" in recalling.prompt(ASK, session_id="free").context


@pytest.mark.slow
def test_fifty_hooks_at_once_all_answer_and_all_write(recalling: Project) -> None:
    before = len(recalling.ledger("recalls"))
    with ThreadPoolExecutor(50) as pool:
        runs = list(pool.map(lambda n: recalling.prompt(ASK, session_id="s%d" % n), range(50)))
    assert {run.returncode for run in runs} == {0}
    assert sum("Postgres 15" in run.context for run in runs) == 50
    assert len(recalling.ledger("recalls")) == before + 50


@pytest.mark.slow
def test_a_kill_in_mid_write_loses_nothing_that_was_saved(make_project: Callable[..., Project]) -> None:
    project = make_project()
    saved = [project.save("First memory", "It was saved before the kill.")]
    script = os.path.join(PLUGIN_ROOT, "scripts", "memory.py")
    for number in range(12):
        words = [
            "--category",
            "decision",
            "--title",
            "Memory %d" % number,
            "--body",
            "Body.",
            "--root",
            project.root,
        ]
        process = subprocess.Popen(
            [project.python, script, "save", *words],
            env=project.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with process:
            try:
                process.wait(0.02 * (number + 1))
            except subprocess.TimeoutExpired:
                process.kill()
    listed = project.cli("list", "--json")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert saved[0] in listed.stdout
    assert project.cli("doctor").returncode == 0
    assert "before the kill" in project.prompt("What about the first memory that was saved?").context
