"""The cases of `evals/` run in the client's own evaluation: with the plugin the memory reaches the model, without it does not."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.client.conftest import skip_or_fail
from tests.client.sandbox import Sandbox
from tests.project import PLUGIN_ROOT
from tests.release_tree import copy_plugin

pytestmark = pytest.mark.client
# What a run with the plugin sends to the model -> an answer that needs it.
KNOWN = {
    "row-level security for resellers": "Into Postgres.",
    "table web_sessions": "No, in the table web_sessions.",
    "never npm or yarn": "pnpm add zod",
    "never utcnow": "created_at = datetime.now(timezone.utc)",
    "ports from 8100 to 8199": "No, only up to 8199.",
    "from the on-call engineer": "Ask the on-call engineer.",
    "is deleted at 03:00": "It is reset at 03:00.",
    "gap sensor was calibrated": "The gap sensor is calibrated at each start.",
}
QUESTIONS = {
    "decision-asked": "row-level security for resellers",
    "decision-changed": "table web_sessions",
    "rule-package-manager": "never npm or yarn",
    "rule-time": "never utcnow",
    "file-touched": "ports from 8100 to 8199",
    "constraint-friday": "from the on-call engineer",
    "symptom": "is deleted at 03:00",
    "past-asked": "gap sensor was calibrated",
}
# Cases in which Claude runs a command -> the command, what the plugin then tells Claude, and the answer.
COMMANDS = {
    "guarded-command": ("git push --force origin main", "Blocked once by the memory", "It was held back."),
    "runbook-after-failure": ("./label-job.sh", "wake-printer", "Run wake-printer."),
}
SILENT = ("silent-arithmetic", "silent-poem")


def prompt_of(case: str) -> str:
    """Return the first words of a case's prompt."""
    with open(os.path.join(PLUGIN_ROOT, "evals", case, "case.yaml"), encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("  prompt: "))
    return str(json.loads(line.partition(": ")[2]))[:40]


def test_each_case_is_covered() -> None:
    cases = {
        name
        for name in os.listdir(os.path.join(PLUGIN_ROOT, "evals"))
        if name not in ("store", "store.py", "README.md")
    }
    assert cases == {*QUESTIONS, *COMMANDS, *SILENT}
    assert 8 <= len(cases) <= 13


def rules() -> Iterator[dict[str, Any]]:
    """Yield what the model does: it runs the commands, and answers what it was told."""
    for case, text in QUESTIONS.items():
        words = prompt_of(case).replace("?", ".")
        told = "%s[\\s\\S]*%s|%s[\\s\\S]*%s" % (text, words, words, text)
        yield {"when": {"kind": "main", "any": told}, "reply": {"text": KNOWN[text]}}
    for command, text, answer in COMMANDS.values():
        run = {"tool_use": [{"name": "Bash", "input": {"command": command}}]}
        yield {"when": {"kind": "main", "last_user": "Run " + command}, "reply": run}
        yield {"when": {"kind": "main", "any": text}, "reply": {"text": answer}}


def test_the_plugin_makes_the_difference(make_sandbox: Callable[..., Sandbox]) -> None:
    if not (shutil.which("bwrap") and shutil.which("socat")):
        skip_or_fail("the client runs commands in its evaluations only with bubblewrap and socat")
    sandbox = make_sandbox({"rules": list(rules()), "default": {"text": "I do not know."}})
    plugin = copy_plugin(os.path.join(sandbox.folder, "plugin"))
    report = os.path.join(sandbox.folder, "report.json")
    options = (
        "--trust-plugin",
        "--scaffold",
        "--no-publish",
        "--runs",
        "1",
        "-j",
        "4",
        "--allow-tools",
        "Bash",
        "Read",
        "--json",
        report,
    )
    sandbox.claude("plugin", "eval", plugin, *options)
    with open(report, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    scores = {
        case["name"]: tuple(case["arms"][arm][0]["score"] for arm in ("with", "without")) for case in cases
    }
    assert scores == {**dict.fromkeys([*QUESTIONS, *COMMANDS], (1, 0)), **dict.fromkeys(SILENT, (1, 1))}
