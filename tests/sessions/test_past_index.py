"""The index of past sessions is filled by several processes, from rollouts of Codex, and from rows of compactions and old clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
