"""A home and a project in which the real client runs against the fake API, isolated from everything else."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.client.fake_api import FakeApi
from tests.client.script import Script
from tests.client.terminal import Terminal
from tests.client.turn import Row, Turn, rows

if TYPE_CHECKING:
    from typing_extensions import Self

KEY = "sk-ant-dummy"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}


class Sandbox:
    """A sandbox below a folder; a context manager. Its `python3` is the Python that runs the tests."""

    def __init__(self, folder: str, client: str, script: dict[str, Any] | None = None) -> None:
        self.folder, self.client = folder, client
        self.home, self.project, self.tmp, self.bin = (
            os.path.join(folder, name) for name in ("home", "project", "tmp", "bin")
        )
        self.config = os.path.join(self.home, ".claude")
        for path in (self.config, self.project, self.tmp, self.bin):
            os.makedirs(path)
        for name in ("python3", "python"):
            os.symlink(os.path.realpath(sys.executable), os.path.join(self.bin, name))
        self.api = FakeApi(script)
        self.terminals: list[Terminal] = []
        self.theme = "dark"

    def __enter__(self) -> Self:
        self.api.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        for terminal in self.terminals:
            terminal.close()
        self.api.__exit__(*exception)

    def set_script(self, script: dict[str, Any]) -> None:
        """Let the fake API follow another script from now on."""
        self.api.script = Script(script)

    def environment(self, **extra: str | None) -> dict[str, str]:
        """Return the client's complete environment; a value of None removes a name.

        The proxy variables name the fake API, which refuses and records each attempt to reach another host.
        """
        values: dict[str, str | None] = {
            **QUIET,
            "PATH": os.pathsep.join([self.bin, os.environ.get("PATH", os.defpath)]),
            "HOME": self.home,
            "TMPDIR": self.tmp,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/bash",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.api.url,
            "HTTPS_PROXY": self.api.url,
            "HTTP_PROXY": self.api.url,
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            **extra,
        }
        return {name: value for name, value in values.items() if value is not None}

    def claude(self, *args: str, **env: str | None) -> Turn:
        """Run the client once. Raises TimeoutExpired after two minutes, with all its processes killed."""
        before, start = len(self.api.requests), time.monotonic()
        process = subprocess.Popen(
            [self.client, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project,
            env=self.environment(**env),
            start_new_session=True,
        )
        with process:
            try:
                out, err = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        seconds, requests = time.monotonic() - start, self.api.requests[before:]
        return Turn(
            process.returncode, out.decode("utf-8"), err.decode("utf-8", "replace"), seconds, requests
        )

    def prompt(self, text: str, *args: str, plugins: tuple[str, ...] = (), **env: str | None) -> Turn:
        """Run `claude -p TEXT` with plugins from folders."""
        folders = [word for plugin in plugins for word in ("--plugin-dir", plugin)]
        return self.claude("-p", text, *folders, "--output-format", "stream-json", "--verbose", *args, **env)

    def terminal(self, *args: str, **env: str | None) -> Terminal:
        """Start the client in a terminal, with its first questions answered; the sandbox closes it."""
        self.answer_first_questions()
        socket = os.path.join(self.tmp, "tmux-%d" % len(self.terminals))
        terminal = Terminal(socket, [self.client, *args], self.project, self.environment(**env))
        self.terminals.append(terminal)
        return terminal

    def answer_first_questions(self) -> None:
        """Write theme, key and trust into the client's config. In a fresh home it would ask for them and use the network."""
        path = os.path.join(self.home, ".claude.json")
        config = json.loads(self.read(path) or "{}")
        project = config.setdefault("projects", {}).setdefault(os.path.realpath(self.project), {})
        project.update(hasTrustDialogAccepted=True, hasCompletedProjectOnboarding=True)
        keys = {"approved": [KEY[-20:]], "rejected": []}
        config.update(hasCompletedOnboarding=True, theme=self.theme, customApiKeyResponses=keys)
        self.write(path, config)

    @staticmethod
    def read(path: str) -> str:
        """Return a file's text, or "" if there is no file."""
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    @staticmethod
    def write(path: str, content: object) -> None:
        """Write text as it is and anything else as JSON."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content, indent=2))

    def settings(self, content: dict[str, Any]) -> None:
        """Write the user's settings.json."""
        self.write(os.path.join(self.config, "settings.json"), content)

    def ledger(self, name: str, wait: float = 0, at_least: int = 1) -> list[Row]:
        """Return the rows of a JSON-lines file below the config folder; wait some seconds for `at_least` rows."""
        path, end = os.path.join(self.config, name), time.monotonic() + wait
        while True:
            current = rows(self.read(path))
            if len(current) >= at_least or time.monotonic() >= end:
                return current
            time.sleep(0.1)

    def transcript(self, session: str) -> list[Row]:
        """Return the client's transcript of a session, in whichever folder it wrote it."""
        for folder, _, names in os.walk(self.folder):
            if session + ".jsonl" in names:
                return rows(self.read(os.path.join(folder, session + ".jsonl")))
        return []

    def hook_records(self, session: str) -> list[Row]:
        """Return the client's records of hooks in a session.

        Types seen: hook_success (durationMs, exitCode, stdout, stderr), hook_additional_context,
        hook_system_message, hook_non_blocking_error, hook_blocking_error, hook_cancelled (timedOut),
        hook_stopped_continuation.
        """
        items = [row.get("attachment") or {} for row in self.transcript(session)]
        return [item for item in items if re.search("hook", str(item.get("type")))]
