"""Grade requests: their content and JSON form, and when a judge may be asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import Paths
from memory_plugin.replies.grade_request import ELLIPSIS, GradeRequest, encode_request, may_request_grade
from memory_plugin.replies.pipeline import CompletedReply, ScoredReply, score_reply
from memory_plugin.replies.reply_state import ReplyState
from tests.replies.builders import PADDED, PLAIN, context


def scored(paths: Paths, text: str) -> ScoredReply:
    """Return a scored reply."""
    return score_reply(CompletedReply(text, "p1", "/t.jsonl"), context(paths))


def fields(request: GradeRequest) -> dict[str, Any]:
    """Return a request's fields by name."""
    parsed: dict[str, Any] = json.loads(request.to_json())
    return parsed


def test_a_request_survives_json(paths: Paths) -> None:
    request = GradeRequest.from_scored(scored(paths, PADDED), "s", 40_000)
    assert fields(GradeRequest.from_json(request.to_json())) == fields(request)
    assert (request.padding, request.drift, request.severity, request.turn) == (3, ["padding"], "medium", 1)
    assert request.phrase(*request.matches[0][:2]) == "Great question"
    assert (request.head, request.tail, request.shown_text()) == (PADDED, "", PADDED)


def test_a_long_reply_is_cut_in_the_middle_and_spans_still_fit_the_original(paths: Paths) -> None:
    text = "Great question! " + PLAIN * 40 + " Let me know if you need anything else."
    request = GradeRequest.from_scored(scored(paths, text), "s", 400)
    assert request.head + request.tail == text[:200] + text[-200:]
    assert [request.phrase(start, end) for start, end, _ in request.matches] == [
        text[start:end] for start, end, _ in request.matches
    ]
    shown = request.shown_text()
    assert shown == text[:200] + ELLIPSIS + text[-200:]
    at = shown.index("anything else")
    start, end = request.original_span(at, at + len("anything else"))
    assert text[start:end] == "anything else"


@pytest.mark.parametrize("char", ["a", "\u597d", "\U0001f680"])
def test_a_request_fits_its_limit(paths: Paths, char: str) -> None:
    data = encode_request(scored(paths, char * 50_000), "s", 60_000)
    assert len(data) <= 60_000
    assert GradeRequest.from_json(data).head.startswith(char)


@given(st.dictionaries(st.text(max_size=4), st.integers()) | st.lists(st.integers()) | st.none() | st.text())
def test_other_json_is_rejected(value: object) -> None:
    with pytest.raises(ValueError, match="grade request"):
        GradeRequest.from_json(json.dumps(value).encode("ascii"))


@pytest.mark.parametrize("data", [b"", b"\xff", b"{", b"[" * 100_000])
def test_bytes_that_are_not_json_are_rejected(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        GradeRequest.from_json(data)


@pytest.mark.parametrize(
    ("name", "value"),
    [("id", 3), ("density", "high"), ("matches", [[0, 1]]), ("matches", [[0, True, "x"]]), ("drift", [3])],
)
def test_a_field_of_another_type_is_rejected(paths: Paths, name: str, value: object) -> None:
    request = fields(GradeRequest.from_scored(scored(paths, PADDED), "s", 40_000))
    with pytest.raises(ValueError, match=name):
        GradeRequest({**request, name: value})


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
