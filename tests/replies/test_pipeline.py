"""Scoring one reply: its ledger record, collected errors, and the request to grade it."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.ledger import Ledger
from memory_plugin.kernel.paths import Paths
from memory_plugin.replies.filler import USER_PACK
from memory_plugin.replies.grading import ELLIPSIS, GradeRequest
from memory_plugin.replies.pipeline import (
    CompletedReply,
    ScoredReply,
    encode_request,
    may_request_grade,
    score_reply,
)
from memory_plugin.replies.reply_state import ReplyState
from tests.replies.builders import PADDED, PLAIN, assistant_record, context, user_record, write_transcript


def test_the_record_has_the_score_and_quotes_nothing(paths: Paths) -> None:
    scored = score_reply(CompletedReply(PADDED, "p1"), context(paths))
    (row,) = Ledger(paths.state(), "scores").rows()
    assert (row["id"], row["padding_count"], row["gate"], row["turn"]) == (
        scored.record["id"],
        3,
        "clear_drift",
        1,
    )
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


def scored(paths: Paths, text: str) -> ScoredReply:
    """Return a scored reply."""
    return score_reply(CompletedReply(text, "p1", "/t.jsonl"), context(paths))


def test_a_request_survives_json(paths: Paths) -> None:
    request = GradeRequest(encode_request(scored(paths, PADDED), "s", 60_000))
    assert (request.session, request.padding, request.severity, request.why) == (
        "s",
        3,
        "medium",
        "escalated",
    )
    assert (request.score["drift"], request.score["turn"]) == (["padding"], 1)
    assert request.phrases()[0] == "Great question"
    assert (request.head, request.tail, request.shown_text()) == (PADDED, "", PADDED)


def test_a_long_reply_is_cut_in_the_middle_and_spans_still_fit_the_original(paths: Paths) -> None:
    text = "Great question! " + PLAIN * 400 + " Let me know if you need anything else."
    request = GradeRequest(encode_request(scored(paths, text), "s", 60_000))
    assert request.head + request.tail == text[:20_000] + text[-20_000:]
    assert request.phrases() == [text[start:end] for start, end, _ in request.matches]
    shown = request.shown_text()
    assert shown == text[:20_000] + ELLIPSIS + text[-20_000:]
    at = shown.index("anything else")
    start, end = request.original_span(at, at + len("anything else"))
    assert text[start:end] == "anything else"


@pytest.mark.parametrize("char", ["a", "\u597d", "\U0001f680"])
def test_a_request_fits_its_limit(paths: Paths, char: str) -> None:
    data = encode_request(scored(paths, char * 50_000), "s", 60_000)
    assert len(data) <= 60_000
    assert GradeRequest(data).head.startswith(char)


@given(st.dictionaries(st.text(max_size=4), st.integers()) | st.lists(st.integers()) | st.none() | st.text())
def test_other_json_is_rejected(value: object) -> None:
    with pytest.raises(ValueError, match="grade request"):
        GradeRequest(json.dumps(value).encode("ascii"))


@pytest.mark.parametrize("data", [b"", b"\xff", b"{", b"[" * 100_000])
def test_bytes_that_are_not_json_are_rejected(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        GradeRequest(data)


@pytest.mark.parametrize(
    ("values", "judges_off", "is_refused", "is_allowed"),
    [
        pytest.param({"mode": "hybrid"}, False, False, True, id="hybrid"),
        pytest.param({"mode": "shadow"}, False, False, False, id="another mode"),
        pytest.param({"mode": "hybrid"}, True, False, False, id="a project that sets addresses"),
        pytest.param({"mode": "hybrid"}, False, True, False, id="refused before"),
    ],
)
def test_when_a_judge_may_be_asked(
    paths: Paths, values: dict[str, object], judges_off: bool, is_refused: bool, is_allowed: bool
) -> None:
    if is_refused:
        ReplyState(paths, "s").disable_judge("http_401")
    assert may_request_grade(context(paths, **values), judges_off=judges_off) == is_allowed
