"""Scores in the real client: a padded reply, its correction, the judge after the hook has returned, sessions side by side."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, hooks_went_well, repository, written
from tests.client.sandbox import Sandbox
from tests.replies.builders import PADDED, PLAIN

pytestmark = pytest.mark.client

ONE_PHRASE = "Great question! " + PLAIN
TARGET = "Target for this reply|Targets for this reply"


def settings(box: Sandbox, **memory: object) -> None:
    """Write the user's settings beside what the sandbox put there."""
    path = os.path.join(box.home, ".claude", "settings.json")
    found: dict[str, Any] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**found, "memory": memory}, file)


def lines(box: Sandbox, name: str, kind: str, count: int = 1) -> list[Any]:
    """Return the lines of one kind in a ledger, once they are there."""
    end = time.monotonic() + 20
    rows: list[Any] = []
    while time.monotonic() < end:
        path = os.path.join(box.home, ".claude", "lcars", "memory", name + ".jsonl")
        rows = [row for row in written(box, name) if row["kind"] == kind] if os.path.exists(path) else []
        if len(rows) >= count:
            break
        time.sleep(0.1)
    return rows


def test_a_padded_reply_is_scored_and_the_next_prompt_corrected_once(box: Sandbox) -> None:
    repository(box)
    settings(box, scoring={"holdout": 0})
    box.say({"default": {"text": PADDED}})
    first = box.prompt("Please rename the port setting.", plugins=PLUGIN)
    hooks_went_well(box, first)
    (score,) = lines(box, "scores", "score")
    # The transcript may lag behind at a session's first reply, and the kind of the message with it.
    assert (score["padding_count"], score["gate"]) == (3, "clear_drift")
    assert score["query_type"] in ("directive", "ambiguous")
    box.say({"default": {"text": PLAIN}})
    again = box.prompt("And the other one?", "--resume", first.session, plugins=PLUGIN)
    assert again.sent(TARGET)
    third = box.prompt("And the third one?", "--resume", first.session, plugins=PLUGIN)
    said = [text for text in third.of_kind("main")[-1].texts if "for this reply" in text]
    assert "".join(said).count("Begin with the answer") == 1
    assert [row["kind"] for row in written(box, "drift")].count("said") == 1
    assert [row["model"] for row in lines(box, "scores", "score", 3)][1:] != ["", ""]


def test_another_session_does_not_see_the_correction(box: Sandbox) -> None:
    repository(box)
    settings(box, scoring={"holdout": 0})
    box.say({"default": {"text": PADDED}})
    box.prompt("Please rename the port setting.", plugins=PLUGIN)
    assert len(lines(box, "drift", "drift")) == 1
    other = box.prompt("And the other one?", plugins=PLUGIN)
    assert not other.sent(TARGET)


def test_hybrid_joins_the_judges_opinion_to_the_score(box: Sandbox) -> None:
    repository(box)
    settings(box, scoring={"mode": "hybrid", "judge": {}})
    opinion = {
        "SyA": 0,
        "VDet": 0,
        "EpAd": 2,
        "EPad": 0,
        "phrases": [{"index": 0, "filler": False}],
        "missed": [],
    }
    judge = {"when": {"kind": "other", "any": "phrases"}, "reply": {"text": json.dumps(opinion)}}
    box.say({"rules": [judge], "default": {"text": ONE_PHRASE}})
    turn = box.prompt("Is it so?", plugins=PLUGIN)
    hooks_went_well(box, turn)
    (judged,) = lines(box, "scores", "judged")
    (score,) = lines(box, "scores", "score")
    assert (judged["id"], judged["outcome"], judged["levels"]["EpAd"]) == (score["id"], "ok", 2)
    (override,) = lines(box, "judge-overrides", "override")
    assert override["cleared"] == ["praise-opening"]
    (call,) = written(box, "judge-calls")
    assert (call["feature"], call["outcome"]) == ("scoring", "ok")
