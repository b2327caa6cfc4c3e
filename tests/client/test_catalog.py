"""The session catalog in the real client: rules at the start, after a compaction and for sub-agents, and nothing twice."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from tests.client.fake_api import Request
from tests.client.plugin import ASK, PLUGIN, SILENT, TITLE, hooks_succeeded, ledger_rows, memory, with_memory
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY
from tests.project import PLUGIN_ROOT

pytestmark = pytest.mark.client
RULE, RULE_TEXT = "Short answers", "Answer in one paragraph, without a summary."


def with_rule(sandbox: Sandbox) -> Sandbox:
    """Save a decision and a standing rule; return the sandbox."""
    memory(with_memory(sandbox), "save", "--category", "preference", "--title", RULE, "--body", RULE_TEXT)
    return sandbox


def count_rule(request: Request) -> int:
    """Return how often the rule occurs in the conversation of a request."""
    return "\n".join(request.texts).count(RULE_TEXT)


def decisions(sandbox: Sandbox) -> list[tuple[str, str]]:
    """Return place and outcome of each recorded decision."""
    return [(row["place"], row["outcome"]) for row in ledger_rows(sandbox, "recalls")]


def test_a_session_starts_with_rules_and_titles(sandbox: Sandbox) -> None:
    turn = with_rule(sandbox).prompt(SILENT, plugins=PLUGIN)
    assert count_rule(turn.of_kind("main")[0]) == 1
    assert turn.sent("<memory-catalog>.*Standing rules[^:]*:\\s+- %s. %s.*%s" % (RULE, RULE_TEXT, TITLE))
    assert hooks_succeeded(sandbox, turn)
    assert decisions(sandbox)[0] == ("catalog", "injected")


def test_a_rule_is_told_once_in_a_session(sandbox: Sandbox) -> None:
    """It stays so after a resume and on a prompt that asks for the rule. A listed memory is still recalled in full."""
    first = with_rule(sandbox).prompt(
        "Short answers, please: one paragraph, without a summary?", plugins=PLUGIN
    )
    again = sandbox.prompt(ASK, "--resume", first.session, plugins=PLUGIN)
    assert [count_rule(turn.of_kind("main")[-1]) for turn in (first, again)] == [1, 1]
    assert again.sent("<memory-context>.*Postgres 15")
    assert [decision for decision in decisions(sandbox) if decision[0] == "catalog"] == [
        ("catalog", "injected"),
        ("catalog", "silent"),
    ]


def delegate(sandbox: Sandbox, kind: str) -> list[Request]:
    """Let Claude start a sub-agent; return the sub-agent's requests."""
    agent: dict[str, Any] = {
        "name": "Agent",
        "input": {
            "subagent_type": kind,
            "description": "Count",
            "prompt": "Count the sheep of the north.",
            "run_in_background": False,
        },
    }
    subagent_rule = {"when": {"last_user": "sheep of the north", "kind": "main"}, "reply": {"text": "Seven."}}
    sandbox.set_script(
        {"rules": [subagent_rule], "turns": [{"tool_use": [agent]}], "default": {"text": "All done."}}
    )
    turn = sandbox.prompt("Have the animals counted.", plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "All done.")
    assert hooks_succeeded(sandbox, turn)
    return [request for request in turn.of_kind("main") if "animals counted" not in "\n".join(request.texts)]


def test_a_sub_agent_is_told_the_rules(sandbox: Sandbox) -> None:
    (request, *_) = delegate(with_rule(sandbox), "general-purpose")
    assert count_rule(request) == 1
    assert TITLE not in "\n".join(request.texts)
    assert ("subagent", "injected") in decisions(sandbox)


@pytest.mark.parametrize("kind", ["Explore", "Plan"])
def test_a_read_only_sub_agent_is_told_nothing(sandbox: Sandbox, kind: str) -> None:
    requests = delegate(with_rule(sandbox), kind)
    assert [count_rule(request) for request in requests] == [0] * len(requests)
    assert requests
    assert [place for place, _ in decisions(sandbox) if place == "subagent"] == []


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
def test_the_rules_are_told_again_after_a_compaction(sandbox: Sandbox) -> None:
    sandbox.set_script({"default": {"text": "A summary of nothing at all."}})
    terminal = with_rule(sandbox).terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.wait(READY)
    # Client 2.1.197 does not compact a conversation of one prompt.
    for words in (SILENT, "And one about rivers, please.", "/compact", "Another poem, please, about hills."):
        before = len(sandbox.api.requests)
        terminal.submit(words)
        terminal.wait("Compacted" if words == "/compact" else re.escape(words) + ".*summary")
        time.sleep(1)  # until the turn ends: an earlier line would be queued
        if words != "/compact":
            assert (
                count_rule(
                    [request for request in sandbox.api.requests[before:] if request.kind == "main"][-1]
                )
                == 1
            )
    terminal.submit("/exit")
    assert [row["source"] for row in ledger_rows(sandbox, "recalls") if row["place"] == "catalog"] == [
        "startup",
        "compact",
    ]
