"""Scores in the real client: a padded reply and its correction, separate sessions, and the judge in the background."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, hooks_succeeded, ledger_rows, make_repository
from tests.client.sandbox import Sandbox
from tests.replies.builders import PADDED, PLAIN

pytestmark = pytest.mark.client

ONE_PHRASE = "Great question! " + PLAIN
TARGET = "Style note: your last reply"


def write_settings(sandbox: Sandbox, **memory: object) -> None:
    """Write the block `memory` of the user's settings and keep the other blocks."""
    path = os.path.join(sandbox.home, ".claude", "settings.json")
    content: dict[str, Any] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**content, "memory": memory}, file)


def wait_for_rows(sandbox: Sandbox, name: str, kind: str, count: int = 1) -> list[Any]:
    """Return the rows of one kind in a ledger; wait twenty seconds at most for `count` rows."""
    end = time.monotonic() + 20
    rows: list[Any] = []
    while time.monotonic() < end:
        path = os.path.join(sandbox.home, ".claude", "lcars", "memory", name + ".jsonl")
        rows = (
            [row for row in ledger_rows(sandbox, name) if row["kind"] == kind] if os.path.exists(path) else []
        )
        if len(rows) >= count:
            break
        time.sleep(0.1)
    return rows


def test_a_padded_reply_is_scored_and_corrected_once(sandbox: Sandbox) -> None:
    make_repository(sandbox)
    write_settings(sandbox, scoring={"holdout": 0})
    sandbox.set_script({"default": {"text": PADDED}})
    first = sandbox.prompt("Please rename the port setting.", plugins=PLUGIN)
    hooks_succeeded(sandbox, first)
    (score,) = wait_for_rows(sandbox, "scores", "score")
    # At a session's first reply the transcript may lag, and then the kind of the prompt is unknown.
    assert (score["padding_count"], score["gate"]) == (3, "clear_drift")
    assert score["query_type"] in ("directive", "ambiguous")
    sandbox.set_script({"default": {"text": PLAIN}})
    again = sandbox.prompt("And the other one?", "--resume", first.session, plugins=PLUGIN)
    assert again.sent(TARGET)
    third = sandbox.prompt("And the third one?", "--resume", first.session, plugins=PLUGIN)
    texts = [text for text in third.of_kind("main")[-1].texts if "Style note" in text]
    assert "".join(texts).count("Begin with the answer") == 1
    assert [row["kind"] for row in ledger_rows(sandbox, "drift")].count("said") == 1
    assert [row["model"] for row in wait_for_rows(sandbox, "scores", "score", 3)][1:] != ["", ""]


def test_a_correction_stays_in_its_session(sandbox: Sandbox) -> None:
    make_repository(sandbox)
    write_settings(sandbox, scoring={"holdout": 0})
    sandbox.set_script({"default": {"text": PADDED}})
    sandbox.prompt("Please rename the port setting.", plugins=PLUGIN)
    assert len(wait_for_rows(sandbox, "drift", "drift")) == 1
    other = sandbox.prompt("And the other one?", plugins=PLUGIN)
    assert not other.sent(TARGET)


def test_hybrid_mode_adds_the_judges_grades_to_the_score(sandbox: Sandbox) -> None:
    make_repository(sandbox)
    write_settings(sandbox, scoring={"mode": "hybrid"})
    grades = {
        "SyA": 0,
        "VDet": 0,
        "EpAd": 2,
        "EPad": 0,
        "phrases": [{"index": 0, "filler": False}],
        "missed": [],
    }
    judge = {"when": {"kind": "other", "any": "phrases"}, "reply": {"text": json.dumps(grades)}}
    sandbox.set_script({"rules": [judge], "default": {"text": ONE_PHRASE}})
    turn = sandbox.prompt("Is it so?", plugins=PLUGIN)
    hooks_succeeded(sandbox, turn)
    (judged,) = wait_for_rows(sandbox, "scores", "judged")
    (score,) = wait_for_rows(sandbox, "scores", "score")
    assert (judged["id"], judged["outcome"], judged["levels"]["EpAd"]) == (score["id"], "ok", 2)
    (override,) = wait_for_rows(sandbox, "judge-overrides", "override")
    assert override["cleared"] == ["praise-opening"]
    (call,) = ledger_rows(sandbox, "judge-calls")
    assert (call["feature"], call["outcome"]) == ("scoring", "ok")
