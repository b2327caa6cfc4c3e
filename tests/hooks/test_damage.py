"""Damaged, locked or missing indexes and full or read-only disks: no memory is lost, and the index is rebuilt."""

from __future__ import annotations

import itertools
import json
import os
import random
import sqlite3
import sys
import time
from contextlib import closing
from typing import Any

import pytest

from memory_plugin.kernel.files import lock_handle
from memory_plugin.recall.index_file import changed_paths, open_index
from memory_plugin.recall.index_refresh import create_index
from tests.events import CLI, PROMPT_HOOK
from tests.project import Project, Run, posix
from tests.recall.store_files import (
    ASK,
    TITLE,
    TOLD,
    ask,
    ask_after_refresh,
    index_file,
    last,
    memory,
    problems,
    put,
    put_accepted,
    store,
    without_rights,
)

FIFO = pytest.param("FIFO", marks=posix("makes a pipe"))
LIMIT = "limits the size of a file"


def told_later(project: Project, question: str, awaited: str) -> str:
    """Ask new sessions for up to ten seconds, as a background refresh may be running, until the context contains `awaited`; return it."""
    end = time.monotonic() + 10
    for number in itertools.count():
        told = project.prompt(question, session_id="later-%d" % number).context
        if awaited in told or time.monotonic() > end:
            return told
    raise AssertionError("unreachable")


def settle(project: Project) -> None:
    """Refresh until the index is certain to be up to date.

    What changed within the clock's grain before a refresh is looked at again by the next prompt, which then writes to the index.
    """
    end = time.monotonic() + 30
    while True:
        assert project.cli("refresh").returncode == 0
        with closing(open_index(index_file(project))) as connection:
            if changed_paths(connection) == set():
                return
        assert time.monotonic() < end
        time.sleep(0.02)


def overwrite(path: str, content: bytes) -> None:
    """Replace the content of a file."""
    with open(path, "wb") as file:
        file.write(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000, b"\0" * 20_000],
    ids=["empty", "no database", "a broken database", "zeros"],
)
def test_a_damaged_index_is_rebuilt_immediately(recalling: Project, content: bytes) -> None:
    overwrite(index_file(recalling), content)
    assert TOLD in ask(recalling, "after")
    assert problems(recalling) == ["index_damaged"]
    assert TOLD in ask(recalling, "later")
    assert len(problems(recalling)) == 1


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_index_is_rebuilt(recalling: Project, share: float) -> None:
    path = index_file(recalling)
    os.truncate(path, int(os.path.getsize(path) * share))
    ask(recalling, "after")
    assert TOLD in ask_after_refresh(recalling, "later")


@pytest.mark.parametrize(
    "table", ["vectors", "documents", "vocabulary", "totals", "meta", "postings_data", "postings_config"]
)
def test_a_missing_table_is_rebuilt(recalling: Project, table: str) -> None:
    with closing(sqlite3.connect(index_file(recalling))) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = ?", (table,))
        connection.commit()
    ask(recalling, "after")
    assert TOLD in ask_after_refresh(recalling, "later")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE meta SET value = 'no JSON'",
        "UPDATE meta SET value = '[]'",
        "UPDATE meta SET value = '{\"a\": [1]}'",
        "DELETE FROM meta",
        "DELETE FROM totals",
        "UPDATE documents SET tags = 'no JSON'",
    ],
)
def test_invalid_rows_cause_no_error_and_are_rebuilt(recalling: Project, damage: str) -> None:
    with closing(sqlite3.connect(index_file(recalling))) as connection:
        connection.execute(damage)
        connection.commit()
    assert recalling.cli("search", "billing database").returncode == 0
    ask(recalling, "after")
    assert TOLD in ask_after_refresh(recalling, "later")
    assert all(row["kind"] == "problem" for row in recalling.ledger("events"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_corrupted_bytes_in_the_index_cause_no_error(recalling: Project, seed: int) -> None:
    path, dice = index_file(recalling), random.Random(seed)
    with open(path, "r+b") as file:
        for _ in range(30):
            file.seek(dice.randrange(100, os.path.getsize(path)))
            file.write(bytes([dice.randrange(256)]))
    for number in range(2):
        run = recalling.prompt(ASK, session_id="flipped-%d" % number)
        assert (run.returncode, run.stderr) == (0, "")
    assert "error" not in {row["kind"] for row in recalling.ledger("events")}


def test_an_index_from_another_version_is_rebuilt(recalling: Project) -> None:
    with closing(sqlite3.connect(index_file(recalling))) as connection:
        connection.execute("PRAGMA user_version = 0")
        connection.commit()
    assert TOLD in ask(recalling, "after")


@pytest.mark.parametrize("lock", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_locked_index_does_not_delay_the_prompt(recalling: Project, lock: str) -> None:
    settle(recalling)
    with closing(sqlite3.connect(index_file(recalling), isolation_level=None)) as other:
        other.execute("BEGIN " + lock)
        begun = time.monotonic()
        told = ask(recalling, "locked")
        assert time.monotonic() - begun < 5
        assert (TOLD in told) == (lock == "IMMEDIATE")  # readers pass a writer that has not begun to commit
    assert problems(recalling) == (["index_locked"] if lock == "EXCLUSIVE" else [])
    assert last(recalling)["outcome"] == ("silent" if lock == "EXCLUSIVE" else "injected")
    assert TOLD in ask(recalling, "free")


def test_a_change_made_while_the_index_is_locked_is_indexed_later(recalling: Project) -> None:
    put_accepted(
        recalling, "port", memory("The port of the ledger proxy", "The ledger proxy listens on port 7777.")
    )
    question = "Which port does the ledger proxy listen on?"
    with closing(sqlite3.connect(index_file(recalling), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert recalling.prompt(question, session_id="locked").returncode == 0
    assert "7777" in told_later(recalling, question, "7777")


def locked(path: str) -> Any:  # noqa: ANN401 (an open file)
    """Return an open file, locked as another process would lock it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    file = open(path, "ab")  # noqa: SIM115
    lock_handle(file.fileno(), 0.0)
    return file


@pytest.mark.parametrize("which", ["the store", "the lock of the index", "the ledger", "the events"])
def test_a_lock_held_by_another_process_does_not_delay_the_prompt(recalling: Project, which: str) -> None:
    put_accepted(
        recalling, "port", memory("The port of the ledger proxy", "The ledger proxy listens on port 7777.")
    )
    locks = os.path.join(recalling.state, "locks")
    path = {
        "the store": os.path.join(
            locks, next(name for name in os.listdir(locks) if name.startswith("project-"))
        ),
        "the lock of the index": index_file(recalling) + ".lock",
        "the ledger": os.path.join(recalling.state, "recalls.jsonl"),
        "the events": os.path.join(recalling.state, "events.jsonl"),
    }[which]
    with locked(path):
        begun = time.monotonic()
        run = recalling.prompt(ASK, session_id="locked")
        assert time.monotonic() - begun < 5
    assert run.returncode == 0
    assert TOLD in run.context
    assert "7777" in told_later(recalling, "Which port does the ledger proxy listen on?", "7777")


@pytest.mark.parametrize("kind", ["folder", "folder with files", FIFO, "link to nowhere"])
def test_a_non_regular_file_in_place_of_the_index_causes_no_error(recalling: Project, kind: str) -> None:
    path = index_file(recalling)
    os.unlink(path)
    if kind.startswith("folder"):
        os.mkdir(path)
        if "files" in kind:
            overwrite(os.path.join(path, "x"), b"")
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        os.symlink("/nowhere/x", path)
    ask(recalling, "after")
    if kind.startswith("folder"):
        assert problems(recalling)[0].startswith("no_index")
        run = recalling.cli("search", "billing")
        assert (run.returncode, TITLE in run.stdout) == (0, True)
        assert (run.stderr.count("\n"), "every file was read" in run.stderr) == (1, True)
    else:
        assert TOLD in ask(recalling, "later")


def test_a_missing_index_is_created_at_the_prompt(recalling: Project) -> None:
    os.unlink(index_file(recalling))
    assert TOLD in ask(recalling, "after")


def test_without_state_no_memory_is_trusted_and_none_is_lost(recalling: Project) -> None:
    recalling.remove(recalling.state)
    assert ask(recalling, "after") == ""
    assert recalling.cli("accept", "--all").returncode == 0
    assert TOLD in ask(recalling, "later")


def test_without_fts5_the_keyword_search_answers_and_is_recorded(recalling: Project) -> None:
    create_index(index_file(recalling), fts5=False).close()
    assert recalling.cli("refresh").returncode == 0
    assert TOLD in ask(recalling, "keyword")
    assert last(recalling)["answered_by"] == "keyword"
    assert recalling.cli("search", "billing database", "--json").json["answered_by"] == "keyword"


def test_with_the_keyword_strategy_the_keyword_search_answers_and_is_recorded(recalling: Project) -> None:
    assert recalling.cli("config", "set", "retrieval.match_strategy", "keyword").returncode == 0
    assert TOLD in ask(recalling, "keyword")
    assert last(recalling)["answered_by"] == "keyword"
    assert recalling.cli("search", "billing database", "--json").json["answered_by"] == "keyword"


def limited(project: Project, size: int, *command: str, stdin: bytes = b"") -> Run:
    """Return a process that can write no file longer than `size` bytes, as on a full disk."""
    begin = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (%d, %d)); os.execv(sys.argv[1], sys.argv[1:])"
    full = [sys.executable, "-c", begin % (size, size), sys.executable, "-B", *command]
    return project.process(full, stdin, CLAUDE_PROJECT_DIR=project.root)


@posix(LIMIT)
@pytest.mark.parametrize("state", ["an index", "no index", "a changed store", "no state"])
@pytest.mark.parametrize("size", [0, pytest.param(10, marks=pytest.mark.slow), 5000])
def test_a_full_disk_loses_at_most_the_ledger_entry(recalling: Project, state: str, size: int) -> None:
    if state == "no index":
        os.unlink(index_file(recalling))
    elif state == "a changed store":
        put(
            recalling,
            "port",
            memory("The port of the ledger proxy", "The ledger proxy listens on port 7777."),
        )
    elif state == "no state":
        recalling.remove(recalling.state)
    event = json.dumps(recalling.event("UserPromptSubmit", prompt=ASK, session_id="full")).encode()
    run = limited(recalling, size, "-I", "-S", PROMPT_HOOK, stdin=event)
    assert run.returncode == 0
    assert "Traceback" not in run.stderr
    if state in ("an index", "a changed store"):
        assert TOLD in run.context
    if size == 0:
        said = run.stderr.splitlines()
        assert any("not recorded" in line for line in said)
        assert len(said) == len(set(said))
    assert (TOLD in ask(recalling, "free")) == (state != "no state")
    assert all(isinstance(row, dict) for row in recalling.ledger("recalls"))


@posix(LIMIT)
def test_a_save_on_a_full_disk_reports_an_error_and_leaves_no_partial_file(recalling: Project) -> None:
    words = [
        "save",
        "--category",
        "decision",
        "--title",
        "Long",
        "--body",
        "x" * 3000,
        "--root",
        recalling.root,
    ]
    run = limited(recalling, 1000, CLI, *words)
    assert run.returncode == 1
    assert (run.stderr.count("\n"), "Traceback" in run.stderr) == (1, False)
    assert [name for name in os.listdir(store(recalling, "decisions")) if not name.endswith(".json")] == []
    assert TOLD in ask(recalling, "free")


@pytest.mark.parametrize("what", ["index", "sessions", "trust", "."])
@pytest.mark.parametrize("changed", [False, True], ids=["", "with a change"])
def test_read_only_state_does_not_prevent_recall(recalling: Project, what: str, *, changed: bool) -> None:
    if changed:
        put(
            recalling,
            "port",
            memory("The port of the ledger proxy", "The ledger proxy listens on port 7777."),
        )
    paths = [at for at, _, _ in os.walk(os.path.join(recalling.state, what))]
    paths += [os.path.join(at, name) for at in paths for name in os.listdir(at)]
    modes = {path: os.stat(path).st_mode for path in paths}
    command = [*without_rights(recalling), recalling.python, "-I", "-S", PROMPT_HOOK]
    event = json.dumps(recalling.event("UserPromptSubmit", prompt=ASK, session_id="ro")).encode()
    for path, mode in modes.items():
        os.chmod(path, mode & 0o555)
    try:
        run = recalling.process(command, event, CLAUDE_PROJECT_DIR=recalling.root)
    finally:
        for path, mode in modes.items():
            os.chmod(path, mode)
    assert run.returncode == 0
    assert "Traceback" not in run.stderr
    assert TOLD in run.context
    assert TOLD in ask(recalling, "after")


@pytest.mark.parametrize(
    "what",
    ["lcars", "lcars/memory", "lcars/memory/sessions", "lcars/memory/index", "lcars/memory/recalls.jsonl"],
)
def test_a_file_in_place_of_a_state_folder_or_vice_versa_causes_no_error(
    recalling: Project, what: str
) -> None:
    path = os.path.join(recalling.config, *what.split("/"))
    if os.path.isdir(path):
        recalling.remove(path)
        overwrite(path, b"a file")
    else:
        os.unlink(path)
        os.mkdir(path)
    run = recalling.prompt(ASK, session_id="odd")
    assert run.returncode == 0
    assert "Traceback" not in run.stderr
    assert (TOLD in run.context) == (what.endswith(("sessions", "recalls.jsonl")))


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[" * 100_000, b'{"turn": "x", "given": []}', b'{"turn": 1e400}', b"\xff"],
    ids=["empty", "null", "nested", "a text", "infinity", "no text"],
)
def test_damaged_session_state_is_treated_as_missing(recalling: Project, content: bytes) -> None:
    (name,) = os.listdir(os.path.join(recalling.state, "sessions"))
    overwrite(os.path.join(recalling.state, "sessions", name), content)
    assert TOLD in ask(recalling, "before")
    assert ask(recalling, "before") == ""


@posix("measures memory with `resource`")
def test_the_hook_uses_less_than_40_mb_of_memory(recalling: Project) -> None:
    """A hook may use 40 MB; a small index needs far less, which leaves room for a large one."""
    measured = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=2); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    event = json.dumps(recalling.event("UserPromptSubmit", prompt=ASK, session_id="small")).encode()
    run = recalling.process(
        [sys.executable, "-c", measured, recalling.python, "-I", "-S", PROMPT_HOOK],
        event,
        CLAUDE_PROJECT_DIR=recalling.root,
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(run.stdout.splitlines()[-1]) * unit < 40 << 20
