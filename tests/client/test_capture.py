"""Capture in the real client, over two sessions: a correction and a solved error, the line at the next start, review, and recall."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, memory, repository
from tests.client.sandbox import Sandbox

pytestmark = pytest.mark.client
CORRECTION = "no, we never mock the billing database here"
DECISION = "we decided to keep the sessions in Redis."
ALLOWED = ("--allowedTools", "Bash")
SESSION_END = 1.5  # seconds that the client gives all hooks of that event
TIMED = """#!%s -S
import subprocess, sys, time
begun = time.monotonic()
done = subprocess.run([%r, *sys.argv[1:]])
with open(%r, "a", encoding="utf-8") as file:
    file.write("%%.3f %%s\\n" %% (time.monotonic() - begun, " ".join(sys.argv[1:])))
sys.exit(done.returncode)
"""
WORKER = (
    "#!/bin/sh\n[ -x ready ] || { echo \"Error: Cannot find module 'bullmq'\"; exit 1; }\necho worker is up\n"
)


def candidates(box: Sandbox, kinds: set[str]) -> list[dict[str, Any]]:
    """Return the candidates once there are some of these kinds, within twenty seconds."""
    end = time.monotonic() + 20
    found: list[dict[str, Any]] = []
    while time.monotonic() < end and {one["kind"] for one in found} != kinds:
        time.sleep(0.2)
        found = memory(box, "capture", "list")["candidates"]
    assert {one["kind"] for one in found} == kinds, found
    return found


def first_session(box: Sandbox) -> None:
    """Let the user correct Claude, and Claude run into an error and solve it."""
    repository(box)
    with open(os.path.join(box.project, "worker.sh"), "w", encoding="utf-8") as file:
        file.write(WORKER)
    os.chmod(os.path.join(box.project, "worker.sh"), 0o755)
    start = "./worker.sh start"
    turns = [bash(start), bash("touch ready && chmod +x ready"), bash(start), {"text": "The worker is up."}]
    box.say({"turns": turns, "default": {"text": "Hello."}})
    assert box.prompt(CORRECTION, *ALLOWED, plugins=PLUGIN).text == "The worker is up."


def test_two_sessions(box: Sandbox) -> None:
    first_session(box)
    found = candidates(box, {"rule", "solved_error"})
    quotes = {one["kind"]: one["quote"] for one in found}
    assert quotes == {"rule": CORRECTION, "solved_error": "Error: Cannot find module 'bullmq'"}
    assert memory(box, "list")["memories"] == []

    box.say({"default": {"text": "Hello."}})
    turn = box.prompt("Should the tests mock the billing database?", plugins=PLUGIN)
    line = "memory: 2 things from your last sessions may be worth keeping: /memory:review"
    assert line in json.dumps([*turn.events, *box.hook_records(turn.session)])
    assert not turn.sent("never mock"), "nothing of a candidate is put before Claude"

    for group in memory(box, "review")["groups"]:
        memory(box, "accept", "--group", group["id"])
    kept = memory(box, "list")["memories"]
    assert sorted(one["trust"] for one in kept) == ["trusted", "trusted"]
    assert box.prompt("Should the tests mock the billing database?", plugins=PLUGIN).sent("never mock")


def test_a_kind_that_is_never_wanted_is_not_proposed_again(box: Sandbox) -> None:
    repository(box)
    box.say({"default": {"text": "Hello."}})
    box.prompt(CORRECTION, plugins=PLUGIN)
    candidates(box, {"rule"})
    memory(box, "capture", "never", "rule")
    assert memory(box, "capture", "list")["candidates"] == []

    turn = box.prompt("always run the linter before you commit. " + DECISION, plugins=PLUGIN)
    assert "may be worth keeping" not in json.dumps([*turn.events, *box.hook_records(turn.session)])
    assert [one["quote"] for one in candidates(box, {"decision"})] == [DECISION]
    assert memory(box, "list")["memories"] == []


def test_the_end_of_a_session_takes_less_than_the_client_allows(box: Sandbox) -> None:
    """The client ends a hook at SessionEnd after 1.5 seconds; what the hook starts finds the error that was solved."""
    times = timed(box)
    first_session(box)
    candidates(box, {"rule", "solved_error"})
    with open(times, encoding="utf-8") as file:
        rows = [line.split(" ", 1) for line in file]
    took = [float(seconds) for seconds, command in rows if "session_end.py" in command]
    assert len(took) == 1, rows
    assert took[0] < SESSION_END


def timed(box: Sandbox) -> str:
    """Give the sandbox a Python that writes down how long each of its runs takes; return the path of that file."""
    times, box.bin = os.path.join(box.tmp, "times"), os.path.join(box.tmp, "bin")
    os.mkdir(box.bin)
    python = os.path.join(box.bin, "python3")
    with open(python, "w", encoding="utf-8") as file:
        file.write(TIMED % (sys.executable, sys.executable, times))
    os.chmod(python, 0o755)
    return times
