"""Many concurrent hooks, and processes killed while they work: nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.events import CLI, PROMPT_HOOK
from tests.project import Project
from tests.recall.store_files import (
    ASK,
    TOLD,
    ask,
    ask_after_refresh,
    index_file,
    last,
    memory,
    put,
    store,
)


@pytest.mark.slow
@pytest.mark.parametrize("index", ["an index", "no index"])
def test_fifty_concurrent_hooks_log_every_prompt_and_keep_the_index_intact(
    recalling: Project, index: str
) -> None:
    if index == "no index":
        os.unlink(index_file(recalling))
    before = len(recalling.ledger("recalls"))
    with ThreadPoolExecutor(50) as pool:
        runs = list(pool.map(lambda n: recalling.prompt(ASK, session_id="s%d" % n), range(50)))
    assert {run.returncode for run in runs} == {0}
    told = sum(TOLD in run.context for run in runs)
    assert told == 50 if index == "an index" else told >= 1
    rows = recalling.ledger("recalls")[before:]
    assert (len(rows), len({row["session"] for row in rows})) == (50, 50)
    with closing(sqlite3.connect(index_file(recalling))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (1,)
    assert TOLD in ask(recalling, "after")


def test_two_concurrent_sessions_each_get_the_memory(recalling: Project) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda session: ask(recalling, session), ["one", "two"])
    assert TOLD in first
    assert TOLD in second
    assert (ask(recalling, "one"), ask(recalling, "two")) == ("", "")


def start(project: Project, *words: str) -> subprocess.Popen[bytes]:
    """Return a command of the command line, left running."""
    command = [project.python, CLI, *words, "--root", project.root]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=project.environment(), stdout=quiet, stderr=quiet)


def kill_after(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Kill a process that has run so long, as a crash would, and wait for its end."""
    with process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_save_loses_nothing(recalling: Project) -> None:
    for number in range(20):
        words = ["--category", "decision", "--title", "Memory %d" % number, "--body", "Body %d." % number]
        kill_after(start(recalling, "save", *words), 0.08 + 0.02 * number)
    for name in os.listdir(store(recalling, "decisions")):
        if name.endswith(".json"):
            with open(store(recalling, "decisions", name), encoding="utf-8") as file:
                json.load(file)
    assert recalling.cli("list", "--json").returncode == 0
    assert TOLD in ask(recalling, "after")
    assert TOLD in ask_after_refresh(recalling, "later")
    left = [name for name in os.listdir(store(recalling, "decisions")) if not name.endswith(".json")]
    assert left == [], "a refresh removes what a killed writer left"


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_refresh_loses_nothing(recalling: Project) -> None:
    for number in range(300):
        put(
            recalling,
            "m%d" % number,
            memory("Memory %d of the importer" % number, "Step %d of the importer." % number),
        )
    for number in range(12):
        put(recalling, "kill%d" % number, memory("Kill %d" % number, "It was written in round %d." % number))
        kill_after(start(recalling, "refresh"), 0.1 + 0.08 * number)
        assert TOLD in ask(recalling, "round-%d" % number), str(last(recalling))
    assert TOLD in ask_after_refresh(recalling, "after")
    with closing(sqlite3.connect(index_file(recalling))) as connection:
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (313,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_prompt_loses_nothing(recalling: Project) -> None:
    event = json.dumps(recalling.event("UserPromptSubmit", prompt=ASK)).encode()
    for number in range(20):
        put(recalling, "port", memory("The port of the proxy", "It listens on port %d." % number))
        command = [recalling.python, "-I", "-S", PROMPT_HOOK]
        environment = recalling.environment(CLAUDE_PROJECT_DIR=recalling.root)
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as process:
            assert process.stdin is not None
            process.stdin.write(event)
            process.stdin.close()
            time.sleep(0.01 + 0.01 * number)
            process.send_signal(signal.SIGKILL)
    assert TOLD in ask(recalling, "after")
    assert all(row["outcome"] for row in recalling.ledger("recalls"))


def decided(project: Project) -> list[str]:
    """Return the names of the trusted memories, one for each decision."""
    with open(os.path.join(project.state, "trust", "trusted.jsonl"), encoding="ascii") as file:
        return [
            json.loads(line)["id"] for line in file if line.endswith("}\n")
        ]  # a killed writer may leave one torn line


def kill_when(process: subprocess.Popen[bytes], done: Callable[[], bool]) -> None:
    """Kill a process as soon as it has done something."""
    with process:
        while process.poll() is None and not done():
            time.sleep(0.005)
        process.kill()


@pytest.mark.slow
def test_a_killed_accept_of_all_is_completed_by_the_next(recalling: Project) -> None:
    names = ["m%d" % number for number in range(2500)]
    for name in names:
        put(recalling, name, memory("Memory %s" % name, "Step %s of the importer." % name))
    record = os.path.join(recalling.state, "trust", "trusted.jsonl")
    before, size = len(decided(recalling)), os.path.getsize(record)
    kill_after(start(recalling, "accept", "--all"), 0.3)
    kill_when(start(recalling, "accept", "--all"), lambda: os.path.getsize(record) > size)
    assert recalling.cli("accept", "--all").returncode == 0
    assert sorted(decided(recalling)[before:]) == sorted(names), "nothing is lost or decided twice"
    assert TOLD in ask_after_refresh(recalling, "after")


@pytest.mark.slow
def test_a_killed_import_is_completed_by_the_next(recalling: Project) -> None:
    rows = [
        {"title": "Note %d" % number, "body": "Step %d of the importer." % number} for number in range(300)
    ]
    notes = recalling.write("notes.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    before = len(decided(recalling))

    def stored() -> int:
        names = os.listdir(store(recalling, "decisions"))
        return sum(name.endswith(".json") and name.startswith("note-") for name in names)

    for least in (20, 120, 290):
        kill_when(start(recalling, "import", notes), lambda least=least: stored() >= least)  # type: ignore[misc]
        assert stored() >= least
    assert recalling.cli("import", notes).returncode == 0
    assert (stored(), len(decided(recalling)) - before) == (300, 300), "nothing is lost or doubled"
    assert len(set(decided(recalling)[before:])) == 300
