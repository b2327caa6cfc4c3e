"""The cases of `evals/` run in the client's own evaluation: with the plugin the memory reaches the model, without it does not."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest

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
}
QUESTIONS = {
    "decision-asked": "row-level security for resellers",
    "decision-changed": "table web_sessions",
    "rule-package-manager": "never npm or yarn",
    "rule-time": "never utcnow",
    "file-touched": "ports from 8100 to 8199",
    "constraint-friday": "from the on-call engineer",
    "symptom": "is deleted at 03:00",
}
NEED_BASH = (
    "guarded-command",
    "runbook-after-failure",
)  # the client runs them only where it can confine a shell


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
    assert {name for name in cases if not name.startswith(("silent-", *NEED_BASH))} == set(QUESTIONS)
    assert 8 <= len(cases) <= 12


def test_the_plugin_makes_the_difference(make_sandbox: Callable[..., Sandbox]) -> None:
    rules: list[dict[str, Any]] = [
        {
            "when": {"kind": "main", "any": "%s[\\s\\S]*%s|%s[\\s\\S]*%s" % (text, words, words, text)},
            "reply": {"text": KNOWN[text]},
        }
        for words, text in ((prompt_of(case).replace("?", "."), text) for case, text in QUESTIONS.items())
    ]
    sandbox = make_sandbox({"rules": rules, "default": {"text": "I do not know."}})
    plugin = copy_plugin(os.path.join(sandbox.folder, "plugin"))
    for case in NEED_BASH:
        shutil.rmtree(os.path.join(plugin, "evals", case))
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
    silent = dict.fromkeys(("silent-arithmetic", "silent-poem"), (1, 1))
    assert scores == {**dict.fromkeys(QUESTIONS, (1, 0)), **silent}
