"""The index of past sessions is filled by several processes, from rollouts of Codex, and from rows of compactions and old clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.kernel.transcript.reader import open_transcript
from memory_plugin.sessions import past_index
from memory_plugin.sessions.past import SCHEMA, index_path
from tests.kernel.transcript.rows import user
from tests.project import PLUGIN_ROOT
from tests.sessions.past_rows import (
    FOG,
    LAMP,
    QUICK,
    Said,
    rows_of,
    write_rows,
)
from tests.sessions.past_world import RULES, World

SHARED = "4d5e6f70-shared"


def test_rollouts_of_codex_are_indexed_for_their_project(world: World) -> None:
    name = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff%04d"
    for number, folder in enumerate((world.paths.project_root, "/elsewhere")):
        message = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "grease the hinge"}],
        }
        rows = [
            {"type": "session_meta", "payload": {"id": "c", "cwd": folder}},
            {
                "type": "response_item",
                "timestamp": "2026-10-06T10:0%d:00Z" % number,
                "payload": {**message, "id": "u%d" % number},
            },
        ]
        path = os.path.join(
            os.path.dirname(world.config),
            ".codex",
            "sessions",
            "2026",
            "rollout-2026-10-06T10-00-00-%s.jsonl" % (name % number),
        )
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    world.index()
    found = [each for each in world.exchanges() if each.kind == "codex"]
    assert [(each.session, each.prompt) for each in found] == [(name % 0, "grease the hinge")]


@pytest.mark.parametrize("is_there", [True, False])
def test_of_projects_that_share_a_folder_of_transcripts_each_has_its_own(
    world: World, tmp_path: Path, is_there: bool
) -> None:
    other = str(tmp_path / "another")
    if is_there:
        os.makedirs(other)
    rows = rows_of(SHARED, "", [Said("2026-10-07T10:00:00Z", "oil the gate", "Oiled it.")], other)
    write_rows(world.config, world.root, SHARED, rows)
    world.index()
    assert [each.prompt for each in world.exchanges(SHARED)] == ([] if is_there else ["oil the gate"])


def test_two_processes_that_write_leave_one_whole_index(world: World) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from memory_plugin.kernel.paths import Paths\n"
        "from memory_plugin.sessions.past_index import refresh\n"
        "refresh(Paths(sys.argv[2]), 3650, %d, 20)" % RULES
    )
    command = [sys.executable, "-c", program, os.path.join(PLUGIN_ROOT, "scripts"), world.root]
    running = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    assert {each.session for each in world.exchanges()} == {LAMP, FOG, QUICK}
    assert len(world.exchanges()) == len({each.id for each in world.exchanges()}) == 5


def test_rows_of_compactions_and_of_old_clients_are_read(world: World) -> None:
    root = world.paths.project_root
    summary = user("This session is being continued. The lamp was painted.", isCompactSummary=True)
    old = {"type": "user", "sessionId": QUICK, "message": {"role": "user", "content": "grease the hinge"}}
    reply = {"type": "assistant", "message": {"id": "old", "role": "assistant", "content": "Greased."}}
    rows = rows_of(QUICK, "", [Said("2026-10-07T21:00:00Z", "paint the door", "The door is green.")], root)
    world.files[QUICK] = write_rows(world.config, world.root, QUICK, [*rows, summary, old, reply])
    with open(world.files[QUICK], "ab") as file:
        file.write(
            b'\xff\xfe{"type": "user", "message"\n{"type": "user", "message": {"role": "user", "content": "cut'
        )
    assert world.index() == []
    said = [(each.prompt, each.reply) for each in world.exchanges(QUICK)]
    assert said == [("paint the door", "The door is green."), ("grease the hinge", "Greased.")]


def test_prompts_are_answered_while_much_is_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.index()
    said = [
        Said(
            "2026-10-08T%02d:%02d:%02dZ" % (at // 3600, at // 60 % 60, at % 60),
            "step %d" % at,
            "word%d " % at * 99,
        )
        for at in range(1000)  # more than SQLite's cache holds
    ]
    world.say("5e6f7081-many", *said)
    told = []

    def ask(*_: object) -> None:
        told.append(world.told("what did we do about the flickering lamp?"))

    monkeypatch.setattr(past_index, "_drop_old", ask)  # before the last commit
    world.index()
    assert "stable level" in told[0]


def test_a_transcript_that_shrinks_while_it_is_read_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.index()
    with open(world.files[FOG], "a", encoding="utf-8") as file:
        file.write("\n")

    def shrunk(path: str) -> Any:  # noqa: ANN401 (an open file)
        os.truncate(path, 10)
        return open_transcript(path)

    monkeypatch.setattr(past_index, "open_transcript", shrunk)
    assert world.index() == []
    assert len(world.exchanges(FOG)) == 2


def test_a_command_to_the_client_is_no_part_of_a_prompt(world: World) -> None:
    rows = rows_of(
        QUICK, "", [Said("2026-10-07T21:00:00Z", "paint the door", "Done.")], world.paths.project_root
    )
    write_rows(world.config, world.root, QUICK, [user("<command-name>/compact</command-name>"), *rows])
    world.index()
    assert [each.prompt for each in world.exchanges(QUICK)] == ["paint the door"]


def test_a_prompt_typed_before_an_answer_joins_the_last_one(world: World) -> None:
    rows = rows_of(QUICK, "", [Said("2026-10-07T21:00:00Z", "paint the door", "")], world.paths.project_root)
    more = user("no, the gate", timestamp="2026-10-07T21:00:09Z")
    for rows_now in (rows[:1], [*rows[:1], more]):
        write_rows(world.config, world.root, QUICK, rows_now)
        world.index()
    assert [each.prompt for each in world.exchanges(QUICK)] == ["paint the door no, the gate"]


def test_an_index_of_an_older_version_is_deleted(world: World) -> None:
    """It would keep the words of sessions that are forgotten later."""
    older = Path(index_path(world.paths, SCHEMA - 1))
    older.parent.mkdir(parents=True, exist_ok=True)
    older.write_text("old words", encoding="utf-8")
    world.index()
    assert not older.exists()
    assert Path(index_path(world.paths)).exists()
