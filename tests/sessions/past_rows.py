"""Transcripts of a made-up project, a lighthouse's control program, for the tests of past sessions."""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple

from tests.kernel.transcript.rows import answer, call, result, text_block, user


class Said(NamedTuple):
    """One exchange: when, the prompt, the reply, edited files, and commands with whether they failed."""

    time: str
    prompt: str
    reply: str
    files: tuple[str, ...] = ()
    commands: tuple[tuple[str, bool], ...] = ()


LAMP, FOG, QUICK = "1a2b3c4d-lamp", "2b3c4d5e-fog", "3c4d5e6f-quick"
SESSIONS: dict[str, tuple[str, list[Said]]] = {
    LAMP: (
        "Lamp flickers",
        [
            Said(
                "2026-10-05T10:00:00Z",
                "the lamp flickers when the generator starts",
                "The relay bounced for 40 ms. lamp/relay.py waits for a stable level now; 12 tests pass.",
                ("lamp/relay.py",),
                (("pytest tests/test_relay.py", False),),
            ),
            Said("2026-10-05T10:20:00Z", "thx", "Done."),
        ],
    ),
    FOG: (
        "Fog horn schedule",
        [
            Said(
                "2026-10-07T09:00:00Z",
                "the fog horn must not sound at night in the harbor",
                "horn/schedule.py keeps quiet hours from 22 to 6. Not yet done: the switch for storms is missing.",
                ("horn/schedule.py",),
                (("python -m horn.check --strict", True), ("ls horn", False)),
            ),
            Said(
                "2026-10-07T09:30:00Z",
                "load the old logbook",
                "Imported 8,200 entries.",
                (),
                (("python -m logbook.load --year 1998 --dry-run", False),),
            ),
        ],
    ),
    QUICK: ("quick", [Said("2026-10-07T21:00:00Z", "what is a lumen", "A unit of light.")]),
}
NOW = 1791460800.0  # 8 October 2026, 12:00 UTC


def rows_of(session: str, title: str, said: list[Said], root: str) -> list[dict[str, Any]]:
    """Return the rows of a transcript."""
    rows: list[dict[str, Any]] = []
    for number, each in enumerate(said):
        common: dict[str, Any] = {
            "timestamp": each.time,
            "sessionId": session,
            "cwd": root,
            "gitBranch": "main",
        }
        rows.append(user(each.prompt, promptSource="typed", origin={"kind": "human"}, **common))
        made = [("Edit", {"file_path": os.path.join(root, name)}, False) for name in each.files]
        made += [("Bash", {"command": command}, failed) for command, failed in each.commands]
        for at, (tool, arguments, failed) in enumerate(made):
            name = "%s-%d-%d" % (session, number, at)
            rows.append(answer("m" + name, call(name, tool, **arguments), **common))
            rows.append({**result(name, "Exit code 1" if failed else "ok", failed=failed), **common})
        rows.append(answer("m%s-%d" % (session, number), text_block(each.reply), **common))
    return [*rows, {"type": "ai-title", "aiTitle": title, "sessionId": session}]


def folder_of(config: str, root: str) -> str:
    """Return the client's folder for a project's transcripts."""
    return os.path.join(config, "projects", re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(root)))


def write_rows(config: str, root: str, session: str, rows: list[dict[str, Any]]) -> str:
    """Write a transcript and return its path."""
    path = os.path.join(folder_of(config, root), session + ".jsonl")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def write_sessions(config: str, root: str) -> dict[str, str]:
    """Write all sessions; return their paths by id."""
    real = os.path.realpath(root)
    return {
        session: write_rows(config, root, session, rows_of(session, title, said, real))
        for session, (title, said) in SESSIONS.items()
    }
