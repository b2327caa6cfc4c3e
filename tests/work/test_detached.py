"""The process that outlives a hook: it has its own session and inherits nothing from the client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from memory_plugin.work import background
from tests.project import HAS_PROC, PLUGIN_ROOT, Project

START = """import os, sys
sys.path.insert(0, {scripts!r})
from memory_plugin.work import background
background.own_script = lambda: {program!r}
print(background.start(["heal", {report!r}], b"what it is to do", ["HANDED_ON"]), os.getsid(0), flush=True)
"""
SEEN = """import json, os, sys, time
time.sleep(0.3)
seen = {"environment": dict(os.environ), "session": os.getsid(0), "pid": os.getpid(), "stdin": sys.stdin.read()}
seen["files"] = {n: os.readlink("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd") if os.path.islink("/proc/self/fd/" + n)}
with open(sys.argv[2] + ".draft", "w") as file:
    json.dump(seen, file)
os.rename(sys.argv[2] + ".draft", sys.argv[2])
"""
SECRETS = {
    "ANTHROPIC_API_KEY": "sk-1",
    "AWS_SECRET_ACCESS_KEY": "x",
    "HTTPS_PROXY": "http://x",
    "PYTHONPATH": "/x",
    "CLAUDECODE": "1",
}


def seen_by_child(project: Project, script: str, report: str) -> dict[str, Any]:
    """Return what the process that the script left behind reported, and the session of the script."""
    leaked = os.open(os.path.join(os.path.dirname(report), "leaked"), os.O_RDWR | os.O_CREAT)
    try:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=project.environment(HANDED_ON="yes", **SECRETS),
            pass_fds=[leaked],
            capture_output=True,
            timeout=30,
            check=True,
        )
    finally:
        os.close(leaked)
    started, session = done.stdout.split()
    assert (started, os.path.exists(report)) == (b"True", False), "the hook does not wait for it"
    end = time.monotonic() + 10
    while not os.path.exists(report) and time.monotonic() < end:
        time.sleep(0.05)
    with open(report, encoding="utf-8") as file:
        return {**json.load(file), "parent session": int(session)}


@pytest.mark.skipif(not HAS_PROC, reason="looks at /proc")
@pytest.mark.parametrize("way", ["posix_spawn", "subprocess"])
def test_the_process_is_fully_detached_from_the_hook(project: Project, way: str) -> None:
    box = os.path.dirname(project.root)
    report = os.path.join(box, "seen.json")
    program = os.path.join(box, "memory.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(SEEN)
    scripts = os.path.join(PLUGIN_ROOT, "scripts")
    script = START.format(scripts=scripts, program=program, report=report)
    seen = seen_by_child(project, "import os; del os.posix_spawn\n" * (way == "subprocess") + script, report)
    assert seen["session"] == seen["pid"] != seen["parent session"]
    assert seen["stdin"] == "what it is to do"
    assert [seen["files"][number] for number in "12"] == ["/dev/null"] * 2
    assert [path for number, path in seen["files"].items() if int(number) > 2 and "/proc/" not in path] == []
    assert seen["environment"].pop("MEMORY_DISABLE") == "1"
    assert seen["environment"].pop("HANDED_ON") == "yes"
    assert len(seen["environment"].pop("MEMORY_HANDED_OVER")) == 32
    assert set(seen["environment"]) <= set(background._INHERITED)


def test_input_larger_than_the_pipe_buffer_is_rejected() -> None:
    with pytest.raises(ValueError, match="at most 60000 bytes"):
        background.start(["heal"], b"x" * 60_001)
