"""Scoring one reply: its ledger record, and errors that are collected instead of raised."""

from __future__ import annotations

import os

from memory_plugin.kernel.ledger import Ledger
from memory_plugin.kernel.paths import Paths
from memory_plugin.replies.filler import USER_PACK
from memory_plugin.replies.pipeline import CompletedReply, score_reply
from tests.replies.builders import PADDED, PLAIN, assistant_record, context, user_record, write_transcript


def test_the_record_has_the_score_and_quotes_nothing(paths: Paths) -> None:
    scored = score_reply(CompletedReply(PADDED, "p1"), context(paths))
    (row,) = Ledger(paths.state(), "scores").rows()
    assert (row["id"], row["padding_count"], row["gate"], row["turn"]) == (scored.id, 3, "clear_drift", 1)
    assert "port" not in str(scored.record)
    assert scored.errors == []


def test_text_kind_and_record_come_from_the_transcript(paths: Paths) -> None:
    path = write_transcript(
        paths.state("t.jsonl"), user_record("Please rename the file."), assistant_record(PLAIN)
    )
    scored = score_reply(CompletedReply("", "p1", path), context(paths))
    assert scored.reply.text == PLAIN
    assert (scored.score.query_type, scored.record["record"]) == ("directive", "a-The port")


def test_errors_are_collected_and_every_step_runs(paths: Paths) -> None:
    os.makedirs(paths.state("scores.jsonl"))
    with open(paths.state(USER_PACK), "w", encoding="utf-8") as file:
        file.write("[]")
    scored = score_reply(CompletedReply(PADDED, "p1"), context(paths, holdout=0))
    assert [str(error).partition(":")[0] for error in scored.errors] == [
        "your own rule pack is not used",
        "scores",
    ]
    assert [row["arm"] for row in Ledger(paths.state(), "drift").rows()] == ["corrected"]
