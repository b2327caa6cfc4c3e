"""The session catalog in the real client: rules from the start, also after a compaction and for sub-agents, and nothing twice."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from tests.client.fake_api import Request
from tests.client.plugin import ASK, PLUGIN, SILENT, TITLE, begin, hooks_went_well, memory, written
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY
from tests.project import PLUGIN_ROOT

pytestmark = pytest.mark.client
RULE, SAID = "Short answers", "Answer in one paragraph, without a summary."


def ruled(box: Sandbox) -> Sandbox:
    """Return the sandbox with a decision and a standing rule."""
    memory(begin(box), "save", "--category", "preference", "--title", RULE, "--body", SAID)
    return box


def told(request: Request) -> int:
    """Return how often the rule occurs in the conversation that one request carries."""
    return "\n".join(request.texts).count(SAID)


def places(box: Sandbox) -> list[tuple[str, str]]:
    """Return where something was decided, and what."""
    return [(row["place"], row["outcome"]) for row in written(box, "recalls")]


def test_a_session_knows_rules_and_titles_before_its_first_prompt(box: Sandbox) -> None:
    turn = ruled(box).prompt(SILENT, plugins=PLUGIN)
    assert told(turn.of_kind("main")[0]) == 1
    assert turn.sent("<memory-catalog>.*Standing rules:\\s+- %s. %s.*%s" % (RULE, SAID, TITLE))
    assert hooks_went_well(box, turn)
    assert places(box)[0] == ("catalog", "injected")


def test_nothing_is_told_twice_in_a_session(box: Sandbox) -> None:
    """Neither when it is resumed, nor when a prompt asks for the rule; a title is still told in full."""
    first = ruled(box).prompt("Short answers, please: one paragraph, without a summary?", plugins=PLUGIN)
    again = box.prompt(ASK, "--resume", first.session, plugins=PLUGIN)
    assert [told(turn.of_kind("main")[-1]) for turn in (first, again)] == [1, 1]
    assert again.sent("<memory-context>.*Postgres 15")
    assert [one for one in places(box) if one[0] == "catalog"] == [
        ("catalog", "injected"),
        ("catalog", "silent"),
    ]


def delegate(box: Sandbox, kind: str) -> list[Request]:
    """Let Claude hand a task to a sub-agent; return the requests of the sub-agent."""
    agent: dict[str, Any] = {
        "name": "Agent",
        "input": {
            "subagent_type": kind,
            "description": "Count",
            "prompt": "Count the sheep of the north.",
            "run_in_background": False,
        },
    }
    counted = {"when": {"last_user": "sheep of the north", "kind": "main"}, "reply": {"text": "Seven."}}
    box.say({"rules": [counted], "turns": [{"tool_use": [agent]}], "default": {"text": "All done."}})
    turn = box.prompt("Have the animals counted.", plugins=PLUGIN)
    assert (turn.returncode, turn.text) == (0, "All done.")
    assert hooks_went_well(box, turn)
    return [one for one in turn.of_kind("main") if "animals counted" not in "\n".join(one.texts)]


def test_a_sub_agent_knows_the_rules(box: Sandbox) -> None:
    (request, *_) = delegate(ruled(box), "general-purpose")
    assert told(request) == 1
    assert TITLE not in "\n".join(request.texts)
    assert ("subagent", "injected") in places(box)


@pytest.mark.parametrize("kind", ["Explore", "Plan"])
def test_a_sub_agent_that_only_looks_is_told_nothing(box: Sandbox, kind: str) -> None:
    requests = delegate(ruled(box), kind)
    assert [told(request) for request in requests] == [0] * len(requests)
    assert requests
    assert [place for place, _ in places(box) if place == "subagent"] == []


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
def test_a_rule_is_known_after_a_compaction(box: Sandbox) -> None:
    box.say({"default": {"text": "A summary of nothing at all."}})
    terminal = ruled(box).terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.wait(READY)
    # 2.1.197 compacts no conversation of one prompt.
    for words in (SILENT, "And one about rivers, please.", "/compact", "Another poem, please, about hills."):
        before = len(box.api.requests)
        terminal.submit(words)
        terminal.wait("Compacted" if words == "/compact" else re.escape(words) + ".*summary")
        time.sleep(1)  # the turn's end: what is typed earlier is queued
        if words != "/compact":
            assert told([one for one in box.api.requests[before:] if one.kind == "main"][-1]) == 1
    terminal.submit("/exit")
    assert [row["source"] for row in written(box, "recalls") if row["place"] == "catalog"] == [
        "startup",
        "compact",
    ]
