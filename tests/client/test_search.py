"""`/memory:search` in the real client: a sub-agent on a small model reads the candidates, the main context only what it kept."""

from __future__ import annotations

import pytest

from tests.client.plugin import PLUGIN, bash, begin, memory
from tests.client.sandbox import Sandbox

pytestmark = pytest.mark.client
DROPPED = "The billing page is painted in corporate green since the spring."
KEPT = "Invoices of the billing service are stored in Postgres 15."


def test_what_the_sorter_drops_never_reaches_the_main_context(box: Sandbox) -> None:
    begin(box)
    memory(box, "save", "--title", "Billing page colors", "--body", DROPPED, "--category", "decision")
    memory(box, "save", "--title", "Billing database", "--body", KEPT, "--category", "decision")
    agent = {
        "name": "Agent",
        "input": {
            "subagent_type": "memory:search-sorter",
            "description": "Search",
            "prompt": "<query>which database does billing use</query>",
            "run_in_background": False,
        },
    }
    sorter = {
        "when": {"system": "You find the stored memories", "kind": "main"},
        "replies": [
            bash("memory search 'billing database' --judge --json"),
            {"text": "billing-database (trusted): names the database"},
        ],
    }
    box.say(
        {
            "rules": [sorter],
            "turns": [{"tool_use": [agent]}, bash("memory show billing-database")],
            "default": {"text": "Postgres 15."},
        }
    )
    turn = box.prompt("/memory:search which database does billing use", plugins=PLUGIN)
    assert turn.text == "Postgres 15."
    asked = [
        request
        for request in turn.of_kind("main")
        if "You find the stored memories" in str(request.body["system"])
    ]
    own = [request for request in turn.of_kind("main") if request not in asked]
    assert asked
    assert own
    assert any(DROPPED in str(request.messages) for request in asked)
    assert not any(DROPPED in str(request.messages) for request in own)
    assert any(KEPT in str(request.messages) for request in own)
    assert "haiku" in asked[-1].body["model"]
