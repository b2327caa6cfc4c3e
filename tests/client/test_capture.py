"""Capture in the real client: candidates of one session, the line at the next start, review, and recall."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, make_repository, memory
from tests.client.sandbox import Sandbox

pytestmark = pytest.mark.client
CORRECTION = "no, we never mock the billing database here"
ALLOWED = ("--allowedTools", "Bash")
SESSION_END = 1.5  # seconds that the client allows all hooks of this event
TIMED_PYTHON = """#!%s -S
import subprocess, sys, time
start = time.monotonic()
done = subprocess.run([%r, *sys.argv[1:]])
with open(%r, "a", encoding="utf-8") as file:
    file.write("%%.3f %%s\\n" %% (time.monotonic() - start, " ".join(sys.argv[1:])))
sys.exit(done.returncode)
"""
WORKER = (
    "#!/bin/sh\n[ -x ready ] || { echo \"Error: Cannot find module 'bullmq'\"; exit 1; }\necho worker is up\n"
)


def wait_for_candidates(sandbox: Sandbox, kinds: set[str]) -> list[dict[str, Any]]:
    """Return the candidates once they are of exactly these kinds; wait twenty seconds at most."""
    end = time.monotonic() + 20
    candidates: list[dict[str, Any]] = []
    while time.monotonic() < end and {candidate["kind"] for candidate in candidates} != kinds:
        time.sleep(0.2)
        groups = memory(sandbox, "review")["groups"]
        candidates = [entry["candidate"] for group in groups for entry in group["entries"]]
    assert {candidate["kind"] for candidate in candidates} == kinds, candidates
    return candidates


def run_first_session(sandbox: Sandbox) -> None:
    """Run a session in which the user corrects Claude, and Claude solves an error."""
    make_repository(sandbox)
    with open(os.path.join(sandbox.project, "worker.sh"), "w", encoding="utf-8") as file:
        file.write(WORKER)
    os.chmod(os.path.join(sandbox.project, "worker.sh"), 0o755)
    start = "./worker.sh start"
    turns = [bash(start), bash("touch ready && chmod +x ready"), bash(start), {"text": "The worker is up."}]
    sandbox.set_script({"turns": turns, "default": {"text": "Hello."}})
    assert sandbox.prompt(CORRECTION, *ALLOWED, plugins=PLUGIN).text == "The worker is up."


def test_candidates_are_offered_reviewed_and_recalled(sandbox: Sandbox) -> None:
    run_first_session(sandbox)
    candidates = wait_for_candidates(sandbox, {"correction", "solved_error"})
    quotes = {candidate["kind"]: candidate["quote"] for candidate in candidates}
    assert quotes == {"correction": CORRECTION, "solved_error": "Error: Cannot find module 'bullmq'"}
    assert memory(sandbox, "list")["memories"] == []

    sandbox.set_script({"default": {"text": "Hello."}})
    turn = sandbox.prompt("Should the tests mock the billing database?", plugins=PLUGIN)
    line = "memory: 2 suggestions from your last sessions. To decide: /memory:review"
    assert line in json.dumps([*turn.events, *sandbox.hook_records(turn.session)])
    # Claude is shown no candidate; a title of a past session quotes what the user typed.
    assert not re.search(
        "never mock",
        re.sub("<past-sessions>.*?</past-sessions>", "", "\n".join(turn.sent("")), flags=re.DOTALL),
    )

    for group in memory(sandbox, "review")["groups"]:
        memory(sandbox, "accept", "--group", group["id"])
    memories = memory(sandbox, "list")["memories"]
    assert sorted(stored["trust"] for stored in memories) == ["trusted", "trusted"]
    assert sandbox.prompt("Should the tests mock the billing database?", plugins=PLUGIN).sent("never mock")


def test_the_session_end_hook_is_faster_than_the_client_allows(sandbox: Sandbox) -> None:
    """The client kills a SessionEnd hook after 1.5 seconds. The process that it starts finds the solved error."""
    times = time_python(sandbox)
    run_first_session(sandbox)
    wait_for_candidates(sandbox, {"correction", "solved_error"})
    with open(times, encoding="utf-8") as file:
        rows = [line.split(" ", 1) for line in file]
    durations = [float(seconds) for seconds, command in rows if "session_end.py" in command]
    assert len(durations) == 1, rows
    assert durations[0] < SESSION_END


def time_python(sandbox: Sandbox) -> str:
    """Give the sandbox a Python that logs how long each run takes; return the path of the log."""
    times, sandbox.bin = os.path.join(sandbox.tmp, "times"), os.path.join(sandbox.tmp, "bin")
    os.mkdir(sandbox.bin)
    python = os.path.join(sandbox.bin, "python3")
    with open(python, "w", encoding="utf-8") as file:
        file.write(TIMED_PYTHON % (sys.executable, sys.executable, times))
    os.chmod(python, 0o755)
    return times
