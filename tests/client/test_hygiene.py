"""Secrets in the real client: a new memory is stored without them, and an old memory is injected without them."""

from __future__ import annotations

import json
import os

import pytest

from tests.client.plugin import PLUGIN, bash, memory, with_memory
from tests.client.sandbox import Sandbox

pytestmark = pytest.mark.client
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CARD = "4716 " + "2210 5188 5662"
ASK = "How do we deploy the payment gateway?"


def stored_text(sandbox: Sandbox) -> str:
    """Return the content of all files in the project's store and in the plugin's state."""
    roots = [os.path.join(sandbox.project, ".claude"), os.path.join(sandbox.home, ".claude", "lcars")]
    paths = [os.path.join(at, name) for root in roots for at, _, names in os.walk(root) for name in names]
    texts = []
    for path in paths:
        with open(path, "rb") as file:
            texts.append(file.read().decode("utf-8", "replace"))
    return "\n".join(texts)


def test_a_saved_memory_holds_no_key_and_no_card_number(sandbox: Sandbox) -> None:
    command = (
        "memory save --category runbook --title 'Deploy the payment gateway' --body 'token %s, card %s'"
        % (KEY, CARD)
    )
    with_memory(sandbox).set_script({"turns": [bash(command)], "default": {"text": "Saved."}})
    turn = sandbox.prompt("/memory:save we deploy with token %s and card %s" % (KEY, CARD), plugins=PLUGIN)
    assert turn.text == "Saved."
    saved = [entry for entry in memory(sandbox, "list")["memories"] if "payment gateway" in str(entry)]
    assert len(saved) == 1
    stored = stored_text(sandbox)
    assert "[redacted:github-token]" in stored
    assert "[redacted:credit-card]" in stored
    assert KEY[4:] not in stored
    assert CARD not in stored


def test_a_secret_in_an_old_memory_is_redacted_and_reported_by_the_doctor(
    sandbox: Sandbox,
) -> None:
    with_memory(sandbox)
    path = os.path.join(sandbox.project, ".claude", "memory", "runbooks", "gateway.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    old = {
        "schema_version": 1, "id": "gateway", "category": "runbook", "title": "Deploy the payment gateway",
        "tags": ["deploy", "payment", "gateway"], "content": {"steps": "Deploy the payment gateway with token " + KEY},
    }  # fmt: skip
    with open(path, "w", encoding="utf-8") as file:
        json.dump(old, file)
    memory(sandbox, "accept", "gateway")
    turn = sandbox.prompt(ASK, plugins=PLUGIN)
    assert turn.sent(r"<memory-context>.*\[redacted:github-token\]")
    assert not turn.sent(KEY[4:])
    check = next(
        check for check in memory(sandbox, "doctor", code=1)["checks"] if check["name"] == "memories"
    )
    assert "gateway.json" in str(check)
    assert KEY[4:] not in str(check)
