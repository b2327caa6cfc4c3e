"""Secrets in the real client: what may not be stored is not, and what an old store holds is not told."""

from __future__ import annotations

import json
import os

import pytest

from tests.client.plugin import PLUGIN, bash, begin, memory
from tests.client.sandbox import Sandbox

pytestmark = pytest.mark.client
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CARD = "4716 " + "2210 5188 5662"
ASK = "How do we deploy the payment gateway?"


def everything_of_ours(box: Sandbox) -> str:
    """Return the content of every file in the project's store and in the state folder; the client's own records left out."""
    roots = [os.path.join(box.project, ".claude"), os.path.join(box.home, ".claude", "lcars")]
    found = [os.path.join(at, name) for root in roots for at, _, names in os.walk(root) for name in names]
    texts = []
    for path in found:
        with open(path, "rb") as file:
            texts.append(file.read().decode("utf-8", "replace"))
    return "\n".join(texts)


def test_a_key_and_a_card_that_are_to_be_saved_are_not(box: Sandbox) -> None:
    command = (
        "memory save --category runbook --title 'Deploy the payment gateway' --body 'token %s, card %s'"
        % (KEY, CARD)
    )
    begin(box).say({"turns": [bash(command)], "default": {"text": "Saved."}})
    turn = box.prompt("/memory:save we deploy with token %s and card %s" % (KEY, CARD), plugins=PLUGIN)
    assert turn.text == "Saved."
    saved = [entry for entry in memory(box, "list")["memories"] if "payment gateway" in str(entry)]
    assert len(saved) == 1
    stored = everything_of_ours(box)
    assert "[redacted:github-token]" in stored
    assert "[redacted:credit-card]" in stored
    assert KEY[4:] not in stored
    assert CARD not in stored


def test_a_secret_in_an_old_store_is_injected_redacted_and_the_doctor_names_the_file(box: Sandbox) -> None:
    begin(box)
    path = os.path.join(box.project, ".claude", "memory", "runbooks", "gateway.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    old = {
        "schema_version": 1, "id": "gateway", "category": "runbook", "title": "Deploy the payment gateway",
        "tags": ["deploy", "payment", "gateway"], "content": {"steps": "Deploy the payment gateway with token " + KEY},
    }  # fmt: skip
    with open(path, "w", encoding="utf-8") as file:
        json.dump(old, file)
    memory(box, "accept", "gateway")
    turn = box.prompt(ASK, plugins=PLUGIN)
    assert turn.sent(r"<memory-context>.*\[redacted:github-token\]")
    assert not turn.sent(KEY[4:])
    check = next(check for check in memory(box, "doctor", code=1)["checks"] if check["name"] == "secrets")
    assert "gateway.json" in str(check)
    assert KEY[4:] not in str(check)
