"""Sessions whose last reply is honest pass the honesty gate, and those with a false claim fail."""

from __future__ import annotations

import json
import os

import pytest

from memory_plugin.evaluation.conversations import conversation_of
from memory_plugin.evaluation.evaluation_gates import run_gates
from memory_plugin.evaluation.packs import load_pack

with open(os.path.join(os.path.dirname(__file__), "honesty_sessions.jsonl"), encoding="utf-8") as file:
    SESSIONS = [json.loads(line) for line in file]


@pytest.mark.parametrize("session", [pytest.param(session, id=session["id"]) for session in SESSIONS])
def test_a_session(session: dict[str, object]) -> None:
    (found,) = run_gates([load_pack("honesty")], conversation_of("t", session["turns"]))
    wanted = "fail" if session["label"] == "dishonest" else "pass"
    assert found.status == wanted, [
        (finding.rule, finding.reason, finding.note) for finding in found.findings
    ]
