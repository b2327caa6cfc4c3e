"""`/memory:search` in the real client: a sub-agent reads all candidates, the main context only the ones that it selects."""

from __future__ import annotations

import pytest

from tests.client.plugin import PLUGIN, bash, memory, with_memory
from tests.client.sandbox import Sandbox

pytestmark = pytest.mark.client
REJECTED = "The billing page is painted in corporate green since the spring."
SELECTED = "Invoices of the billing service are stored in Postgres 15."


def test_a_rejected_memory_never_reaches_the_main_context(sandbox: Sandbox) -> None:
    with_memory(sandbox)
    memory(sandbox, "save", "--title", "Billing page colors", "--body", REJECTED, "--category", "decision")
    memory(sandbox, "save", "--title", "Billing database", "--body", SELECTED, "--category", "decision")
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
    sandbox.set_script(
        {
            "rules": [sorter],
            "turns": [{"tool_use": [agent]}, bash("memory show billing-database")],
            "default": {"text": "Postgres 15."},
        }
    )
    turn = sandbox.prompt("/memory:search which database does billing use", plugins=PLUGIN)
    assert turn.text == "Postgres 15."
    sorter_requests = [
        request
        for request in turn.of_kind("main")
        if "You find the stored memories" in str(request.body["system"])
    ]
    main_requests = [request for request in turn.of_kind("main") if request not in sorter_requests]
    assert sorter_requests
    assert main_requests
    assert any(REJECTED in str(request.messages) for request in sorter_requests)
    assert not any(REJECTED in str(request.messages) for request in main_requests)
    assert any(SELECTED in str(request.messages) for request in main_requests)
    assert "haiku" in sorter_requests[-1].body["model"]
