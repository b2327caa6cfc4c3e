"""The plugin under test in a sandbox: its command line, its memories, and the client's records of its hooks."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from tests.client.fake_api import Request
from tests.client.sandbox import Sandbox
from tests.client.turn import Row, Turn
from tests.project import PLUGIN_ROOT

PLUGIN = (PLUGIN_ROOT,)
BLOCK = "<memory-context>"
TITLE = "Use Postgres for the billing database"
BODY = "The billing service stores its invoices in Postgres 15, never in MySQL."
ASK = "Which database do we use for the billing service?"
SILENT = "Write a short poem about the sea, please."


def memory(sandbox: Sandbox, *args: str, code: int = 0) -> Any:  # noqa: ANN401 (a test knows the shape)
    """Run the command line in a terminal, outside the client; return its JSON. The exit code must be `code`."""
    script = os.path.join(PLUGIN_ROOT, "scripts", "memory.py")
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": sandbox.home, "LANG": "C.UTF-8"}
    command = [os.path.join(sandbox.bin, "python3"), script, *args, "--root", sandbox.project, "--json"]
    done = subprocess.run(command, env=env, cwd=sandbox.project, capture_output=True, check=False, timeout=60)
    assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout)


def with_memory(sandbox: Sandbox) -> Sandbox:
    """Make the project a git repository with one memory of the user's own; return the sandbox."""
    make_repository(sandbox)
    memory(sandbox, "save", "--category", "decision", "--title", TITLE, "--body", BODY)
    return sandbox


def make_repository(sandbox: Sandbox) -> None:
    """Make the project a git repository."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": sandbox.home, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=sandbox.project, env=env, check=True)


def bash(command: str) -> dict[str, Any]:
    """Return a reply in which Claude calls the Bash tool."""
    return {"tool_use": [{"name": "Bash", "input": {"command": command, "description": "Run it"}}]}


def is_recalled(turn: Turn) -> bool:
    """Return whether Claude was told the memory. Fails if it was told something else."""
    if not turn.sent(BLOCK):
        return False
    assert turn.sent("%s.*Postgres 15" % BLOCK)
    return True


def count_memory(request: Request) -> int:
    """Return how often the memory occurs in the conversation of a request."""
    return "\n".join(request.texts).count("Postgres 15")


def hooks_succeeded(sandbox: Sandbox, turn: Turn) -> bool:
    """Return whether hooks ran. Fails if the client recorded a failure or output on standard error."""
    records = sandbox.hook_records(turn.session)
    expected = {"hook_success", "hook_additional_context", "hook_system_message"}
    assert [record for record in records if record["type"] not in expected or record.get("stderr")] == []
    return bool(records)


def ledger_rows(sandbox: Sandbox, name: str) -> list[Row]:
    """Return the rows of one of the plugin's ledgers, such as `recalls`."""
    return sandbox.ledger(os.path.join("lcars", "memory", name + ".jsonl"))
