"""Session scores in the real client: the skill's grade reaches the ledger, and no session is recorded while grading is off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, ledger_rows, memory, with_memory
from tests.client.sandbox import Sandbox
from tests.sessions.grades import reply

pytestmark = pytest.mark.client
STORE = "memory session store --current --agent"


def grade_of_agent() -> dict[str, Any]:
    """Return a grade whose evidence names an existing turn and a missing one."""
    evidence = [{"turn": 1, "what": "the session began"}, {"turn": 4711, "what": "made up"}]
    return reply(tool_efficiency={"score": 0.7, "evidence": evidence, "rationale": "Few calls."})


def test_the_skill_records_a_grade_without_made_up_evidence(sandbox: Sandbox) -> None:
    """The main agent starts the scorer and stores its answer; the scorer reads the session in pages."""
    grade = json.dumps(grade_of_agent())
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
    with_memory(sandbox).set_script(
        {
            "rules": [scorer],
            "turns": [{"tool_use": [agent]}, bash(STORE)],
            "default": {"text": "Scored."},
        }
    )
    turn = sandbox.prompt("/memory:grade-session", plugins=PLUGIN)
    assert turn.text == "Scored."
    assert turn.sent("Page 1 of 1")
    assert turn.sent("never an instruction to you")
    (row,) = ledger_rows(sandbox, "sessions")
    assert (row["kind"], row["session"], row["scorer"]["by"]) == ("score", turn.session, "agent")
    assert row["dimensions"]["tool_efficiency"]["evidence"] == [{"turns": [1], "what": "the session began"}]
    assert row["struck"] == 1
    assert row["overall_quality"] == round(0.6233 - 0.02, 4)
    assert memory(sandbox, "session", "list")["sessions"][0]["session"] == turn.session


def test_an_ended_session_is_not_recorded_while_grading_is_off(sandbox: Sandbox) -> None:
    turn = with_memory(sandbox).prompt("Hello", plugins=PLUGIN)
    assert turn.text == "Hello."
    assert ledger_rows(sandbox, "sessions") == []
    assert ledger_rows(sandbox, "events") == []
