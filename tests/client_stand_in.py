"""A process that stands in for Claude Code: it is named `claude`, and the commands that it runs are its descendants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from tests.events import SCRIPTS, SESSION
from tests.project import IS_WINDOWS, Project, Run

# Reads steps, runs each in a shell as the client does, and prints their exit codes and outputs.
PROGRAM = """
import json, subprocess, sys
done = []
for step in json.load(sys.stdin):
    run = subprocess.run(["/bin/sh", "-c", step["shell"] + "\\n:" * step["stays"]], input=step["stdin"].encode(), env=step["env"],
                         cwd=step["cwd"], capture_output=True, timeout=50)
    done.append([run.returncode, run.stdout.decode(), run.stderr.decode("utf-8", "replace")])
print(json.dumps(done))
"""


class Step(NamedTuple):
    """A shell command with its environment, input and folder; `stays` keeps the shell as the command's parent."""

    shell: str
    env: dict[str, str]
    stdin: str
    cwd: str
    stays: bool = True


class StandIn:
    """A client in a project; `launch` holds variables of the shell that started it."""

    def __init__(self, project: Project, **launch: str) -> None:
        self.project = project
        self.launch = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": project.home,
            "LANG": "C.UTF-8",
            **launch,
        }
        self.folder = os.path.join(os.path.dirname(project.root), "bin")
        self.binary = os.path.join(self.folder, "claude")
        if not os.path.exists(self.binary):
            os.makedirs(self.folder, exist_ok=True)
            os.symlink(os.path.realpath(sys.executable), self.binary)

    def environment(self, env: dict[str, str], **more: str) -> dict[str, str]:
        """Return a command's environment: the client's own, then the project's variables `env`, then the client's marks."""
        return {**self.launch, **env, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION, **more}

    def hook(self, event: str, env: dict[str, str], **fields: object) -> Step:
        """Return the run of a hook, which gets the real project folder."""
        script = os.path.join(self.project.plugin_root, "hooks", SCRIPTS[event])
        line = "'%s' -I -S '%s' || exit 0" % (sys.executable, script)
        full = self.environment(env, CLAUDE_PROJECT_DIR=self.project.root)
        return Step(line, full, json.dumps(self.project.event(event, **fields)), self.project.root)

    def typed(self, text: str, **fields: object) -> Step:
        """Return the run of the hook of a prompt that the user typed."""
        path = self.project.write_typed(text)
        more: dict[str, object] = {"prompt": text, "prompt_id": "p1", "transcript_path": path, **fields}
        return self.hook("UserPromptSubmit", {}, **more)

    def bash(self, line: str, env: dict[str, str], *, cwd: str = "", stays: bool = True) -> Step:
        """Return a command of Claude's Bash tool; `memory` in it is the command line."""
        script = os.path.join(self.project.plugin_root, "scripts", "memory.py")
        line = line.replace("memory ", "'%s' -I -S '%s' " % (sys.executable, script))
        return Step(line, self.environment(env), "", cwd or self.project.root, stays)

    def nested(self, inner: StandIn, steps: list[Step], env: dict[str, str]) -> Step:
        """Return a command that starts another client, with its own steps."""
        line = "'%s' -I -S -c '%s'" % (inner.binary, PROGRAM)
        return Step(
            line, self.environment(env), json.dumps([step._asdict() for step in steps]), inner.project.root
        )

    def run(self, *steps: Step) -> list[Run]:
        """Run the steps and return their results."""
        if IS_WINDOWS:
            pytest.skip("needs a process of POSIX that is named like the client")
        request = json.dumps([step._asdict() for step in steps])
        command = [self.binary, "-I", "-S", "-c", PROGRAM]
        done = subprocess.run(
            command,
            input=request.encode(),
            capture_output=True,
            env=self.launch,
            cwd=self.project.root,
            timeout=120,
            check=True,
        )
        return [Run(*row) for row in json.loads(done.stdout)]
