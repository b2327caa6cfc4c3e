"""The plugin under test in a sandbox: its memories, its command line, what the client says of its hooks."""

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


def memory(box: Sandbox, *args: str, code: int = 0) -> Any:  # noqa: ANN401 (a test knows the shape)
    """Return the JSON that the command line prints in a terminal of the user's, outside the client, ending with that exit code."""
    script = os.path.join(PLUGIN_ROOT, "scripts", "memory.py")
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": box.home, "LANG": "C.UTF-8"}
    command = [os.path.join(box.bin, "python3"), script, *args, "--root", box.project, "--json"]
    done = subprocess.run(command, env=env, cwd=box.project, capture_output=True, check=False, timeout=60)
    assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout)


def begin(box: Sandbox) -> Sandbox:
    """Return the sandbox, its project a git repository that holds one memory of the user's own."""
    repository(box)
    memory(box, "save", "--category", "decision", "--title", TITLE, "--body", BODY)
    return box


def repository(box: Sandbox) -> None:
    """Make the project a git repository."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": box.home, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=box.project, env=env, check=True)


def bash(command: str) -> dict[str, Any]:
    """Claude's call of the Bash tool."""
    return {"tool_use": [{"name": "Bash", "input": {"command": command, "description": "Run it"}}]}


def recalled(turn: Turn) -> bool:
    """Return whether Claude got the memory; fail if it got something else."""
    if not turn.sent(BLOCK):
        return False
    assert turn.sent("%s.*Postgres 15" % BLOCK)
    return True


def times(request: Request) -> int:
    """How often the memory occurs in the conversation that one request carries."""
    return "\n".join(request.texts).count("Postgres 15")


def hooks_went_well(box: Sandbox, turn: Turn) -> bool:
    """Whether hooks ran and the client wrote down no failure of any, nor one word on standard error."""
    found = box.hook_records(turn.session)
    fine = {"hook_success", "hook_additional_context", "hook_system_message"}
    assert [record for record in found if record["type"] not in fine or record.get("stderr")] == []
    return bool(found)


def written(box: Sandbox, name: str) -> list[Row]:
    """Return the rows of a ledger of ours, such as `recalls`."""
    return box.ledger(os.path.join("lcars", "memory", name + ".jsonl"))
