"""Codex CLI in a throw-away home, with a fake Responses API on loopback that answers from a list of replies."""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.client.binary import HERE
from tests.release_tree import make_tree

if TYPE_CHECKING:
    from typing_extensions import Self

BUILD = os.path.join(HERE, "..", "..", "build", "codex")
# Without the last two settings, Codex puts a `.git` into the folder of temporary files while a command runs, so that for tests beside it
# this folder is a project.
CONFIG = """\
model = "gpt-5.5"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "%s/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
"""


def codex_binary() -> str | None:
    """Return the path of Codex CLI, or None if it is not installed."""
    paths = glob.glob(
        os.path.join(BUILD, "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex")
    )
    return os.path.abspath(min(paths)) if paths else None


def shell(command: str) -> dict[str, Any]:
    """Return a reply that runs a command."""
    return {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": command})}


def patch(text: str) -> dict[str, Any]:
    """Return a reply that edits files."""
    return {"type": "custom_tool_call", "name": "apply_patch", "input": text}


class Codex(ThreadingHTTPServer):
    """A home, a project and the API; a context manager. `replies` are given in order, then "Done."."""

    daemon_threads = True

    def __init__(self, folder: str, program: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.program = program
        self.home, self.project = (os.path.join(folder, name) for name in ("home", "project"))
        self.config = os.path.join(self.home, ".claude")
        self.plugin = os.path.join(folder, "plugin")
        self.bin = os.path.join(folder, "bin")
        for path in (os.path.join(self.home, ".codex"), os.path.join(self.project, ".git"), self.bin):
            os.makedirs(path)
        # Where the system has bubblewrap, Codex runs itself by this name, and makes no such link in a temporary home.
        os.symlink(program, os.path.join(self.bin, "codex-linux-sandbox"))
        self.replies: list[dict[str, Any]] = []
        self.bodies: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        make_tree(self.plugin)
        self.install()
        return self

    def __exit__(self, *exception: object) -> None:
        self.shutdown()
        self.server_close()

    def install(self) -> None:
        """Write the settings of Codex into the home, and install the plugin there."""
        with open(os.path.join(self.home, ".codex", "config.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG % ("http://127.0.0.1:%d" % self.server_address[1]))
        self.run("plugin", "marketplace", "add", self.plugin)
        self.run("plugin", "add", "memory@memory-plugin")

    def environment(self) -> dict[str, str]:
        """Return the complete environment of Codex."""
        path = os.pathsep.join(
            [self.bin, os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]
        )
        return {"PATH": path, "HOME": self.home, "FAKE_KEY": "k", "LANG": "C.UTF-8", "SHELL": "/bin/bash"}

    def run(self, *args: str) -> str:
        """Run Codex, which has to succeed within two minutes; return its output and messages."""
        done = subprocess.run(
            [self.program, *args], cwd=self.project, env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def prompt(self, text: str, *replies: dict[str, Any], mode: str = "workspace-write") -> str:
        """Run `codex exec` on a prompt; the model gives these replies first. Returns the output."""
        self.replies = list(replies)
        trusted = "--dangerously-bypass-hook-trust"  # else a person reviews the hooks once
        return self.run("exec", trusted, "--skip-git-repo-check", "-s", mode, text)

    def memory(self, *args: str) -> str:
        """Run the command line in a terminal of the user, outside Codex; return its output."""
        command = [
            sys.executable,
            os.path.join(self.plugin, "scripts", "memory.py"),
            *args,
            "--root",
            self.project,
        ]
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": self.home, "LANG": "C.UTF-8"}
        done = subprocess.run(
            command, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def sent(self) -> str:
        """Return all that the last request sent to the model."""
        return json.dumps(self.bodies[-1]["input"])


class Handler(BaseHTTPRequestHandler):
    """A connection."""

    server: Codex

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base class's)
        """Log nothing."""

    def do_GET(self) -> None:
        """Answer with an empty list of models."""
        self.answer("application/json", json.dumps({"models": [], "data": []}))

    def do_POST(self) -> None:
        """Answer with the next reply, as a stream of events."""
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        number = len(self.server.bodies)
        text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
        reply = self.server.replies.pop(0) if self.server.replies else text
        reply = {"id": "item%d" % number, "call_id": "call%d" % number, **reply}
        usage = {
            "input_tokens": 1,
            "input_tokens_details": None,
            "output_tokens": 1,
            "output_tokens_details": None,
        }
        response = {"id": "r%d" % number, "usage": {**usage, "total_tokens": 2}}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {"id": response["id"]}},
            {"type": "response.output_item.done", "output_index": 0, "item": reply},
            {"type": "response.completed", "response": response},
        ]
        self.answer("text/event-stream", "".join("data: %s\n\n" % json.dumps(event) for event in events))

    def answer(self, kind: str, body: str) -> None:
        """Send a response."""
        data = body.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
