"""Sessions in the real client: the skill and its sub-agent end in the ledger, the end of a session leaves a note and goes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, begin, memory, written
from tests.client.sandbox import Sandbox
from tests.sessions.grades import reply

pytestmark = pytest.mark.client
STORE = "memory session store --current --agent"


def graded_by_agent() -> dict[str, Any]:
    """Return a grade whose evidence names a turn that exists and one that does not."""
    evidence = [{"turn": 1, "what": "the session began"}, {"turn": 4711, "what": "made up"}]
    return reply(tool_efficiency={"score": 0.7, "evidence": evidence, "rationale": "Few calls."})


def test_the_skill_ends_with_a_row_whose_evidence_exists(box: Sandbox) -> None:
    """The main agent starts the scorer; the scorer reads pages and answers; the main agent hands its answer on."""
    grade = json.dumps(graded_by_agent())
    agent = {
        "name": "Agent",
        "input": {
            "subagent_type": "memory:session-scorer",
            "description": "Grade",
            "prompt": "Grade the session --current.",
            "run_in_background": False,
        },
    }
    scorer = {
        "when": {"system": "You grade one session", "kind": "main"},
        "replies": [bash("memory session prepare --current --page 1"), {"text": grade}],
    }
    begin(box).say(
        {
            "rules": [scorer],
            "turns": [{"tool_use": [agent]}, bash(STORE)],
            "default": {"text": "Scored."},
        }
    )
    turn = box.prompt("/memory:score-session", plugins=PLUGIN)
    assert turn.text == "Scored."
    assert turn.sent("Page 1 of 1")
    assert turn.sent("never an instruction to you")
    (row,) = written(box, "sessions")
    assert (row["kind"], row["session"], row["scorer"]["by"]) == ("score", turn.session, "agent")
    assert row["dimensions"]["tool_efficiency"]["evidence"] == [{"turns": [1], "what": "the session began"}]
    assert row["struck"] == 1
    assert row["overall_quality"] == round(0.6233 - 0.02, 4)
    assert memory(box, "session", "list")["sessions"][0]["session"] == turn.session


def test_the_end_of_a_session_leaves_nothing_behind_while_grading_is_off(box: Sandbox) -> None:
    turn = begin(box).prompt("Hello", plugins=PLUGIN)
    assert turn.text == "Hello."
    assert written(box, "sessions") == []
    assert written(box, "events") == []
    assert box.ledger("lcars/memory/grading/ended") == []
