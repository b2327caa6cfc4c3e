"""Sessions pulled from Langfuse: the same from each server version, and graded like any other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.judge.question import JudgeError
from memory_plugin.kernel.transcript.reader import Reader, open_transcript
from memory_plugin.sessions.langfuse import score_bodies
from memory_plugin.sessions.langfuse_client import (
    LangfuseClient,
    Trace,
    find_access,
    keep_session,
    probe,
    read_session,
    text_of,
    transcript_rows,
)
from tests.sessions.bench import Bench
from tests.sessions.langfuse.server import Langfuse

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SESSION = "chat/7 \N{SNOWMAN}"


def step(trace: str, number: int, kind: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    start = "2026-03-01T08:00:%02d.000Z" % number
    common = {
        "id": "%s-%d" % (trace, number),
        "traceId": trace,
        "sessionId": SESSION,
        "parentObservationId": trace,
        "level": "DEFAULT",
    }
    return {**common, "type": kind, "name": kind.lower(), "startTime": start, **more}


OBSERVATIONS = [
    step(
        "t2",
        20,
        "SPAN",
        parentObservationId=None,
        input={"role": "user", "content": "Now commit"},
        output="Committed.",
    ),
    step(
        "t2",
        21,
        "TOOL",
        name="Tool: Bash",
        input={"command": "git commit -m x"},
        output="[main 1a2b3c4] x",
        level="DEFAULT",
    ),
    step(
        "t1",
        0,
        "SPAN",
        parentObservationId=None,
        input="Fix the build with %s" % SECRET,
        output={"role": "assistant", "content": "Fixed."},
    ),
    step(
        "t1",
        3,
        "GENERATION",
        output=[{"type": "text", "text": "Fixed."}],
        model="claude-x",
        usageDetails={"input": 9, "output": 3},
    ),
    step(
        "t1",
        1,
        "GENERATION",
        output={"content": "I look."},
        model="claude-x",
        usageDetails={"input": 5, "output": 2},
    ),
    step("t1", 2, "TOOL", name="Tool: Bash", input={"command": "make"}, output="Exit code 2", level="ERROR"),
]
OF_ANOTHER_SESSION = [{**OBSERVATIONS[0], "traceId": "other", "sessionId": "other"}]


def pull_session(bench: Bench) -> str:
    """Pull the session and return the path of its transcript."""
    scorer = bench.scorer
    client = LangfuseClient(find_access(scorer.paths, scorer.settings), Deadline(20))
    return keep_session(scorer.paths, SESSION, read_session(client, probe(client), SESSION))


@pytest.mark.parametrize("langfuse", ["v4", "v3"], indirect=True)
def test_a_session_is_the_same_from_both_server_versions(graded: Bench, langfuse: Langfuse) -> None:
    langfuse.observations = OBSERVATIONS + OF_ANOTHER_SESSION
    with open_transcript(pull_session(graded)) as file:
        turns = list(Reader(file))
    assert [
        (turn.prompt.partition(" with")[0], turn.texts, [call.name for call in turn.calls]) for turn in turns
    ] == [
        ("Fix the build", ["I look."], []),
        ("", [], ["Bash"]),
        ("", ["Fixed."], []),
        ("Now commit", [], ["Bash"]),
        ("", ["Committed."], []),
    ]
    assert turns[1].calls[0].failed
    assert turns[0].usage is not None
    assert turns[0].usage["input_tokens"] == 5


@pytest.mark.parametrize("langfuse", ["v4", "v3"], indirect=True)
def test_the_scores_of_a_pulled_session_go_to_its_first_trace(graded: Bench, langfuse: Langfuse) -> None:
    langfuse.observations = OBSERVATIONS
    path = pull_session(graded)
    with open(path, encoding="utf-8") as file:
        assert SECRET not in file.read()
    row = graded.grade(path).row
    assert row is not None
    assert (row["session"], row["subject"]) == (SESSION, {"kind": "trace", "id": "t1"})
    assert row["signals"] == {"errors": 1, "commits": 1}
    assert {(body.get("traceId"), body.get("sessionId")) for body in score_bodies(row)} == {("t1", None)}


@pytest.mark.parametrize("langfuse", ["v4", "v3"], indirect=True)
def test_an_unknown_session_has_no_traces(graded: Bench, langfuse: Langfuse) -> None:
    scorer = graded.scorer
    client = LangfuseClient(find_access(scorer.paths, scorer.settings), Deadline(20))
    assert read_session(client, probe(client), "no/such session") == []


def test_a_source_file_next_to_another_transcript_is_ignored(graded: Bench) -> None:
    path = graded.transcript("0d1ec0de-0000-4000-8000-000000000077")
    with open(path + ".source", "w", encoding="utf-8") as file:
        json.dump({"trace": "forged"}, file)
    row = graded.grade(path).row
    assert row is not None
    assert row["subject"] == {"kind": "session"}


def test_the_text_in_values_of_any_shape() -> None:
    cases = [
        ("plain", "plain"),
        ('{"content": "inside"}', "inside"),
        ('"quoted"', "quoted"),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}]}, "b"], "a\nb"),
        ({"messages": [{"content": "x"}]}, "x"),
        ({"command": "ls"}, '{"command":"ls"}'),
        (None, ""),
        (7, "7"),
        ("{broken", "{broken"),
    ]
    assert [(value, text) for value, text in cases if text_of(value) != text] == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=9)
    | st.sampled_from(['{"content": [', "[1]"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "text", "command", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
TEXT = st.text(max_size=4)
KINDS = st.sampled_from(["GENERATION", "TOOL", "SPAN", "EVENT", ""])
USAGES = st.dictionaries(st.sampled_from(["input", "output"]), JSON, max_size=2)
STEPS = JSON | st.fixed_dictionaries(
    {
        "type": KINDS, "name": TEXT, "startTime": TEXT, "input": JSON, "output": JSON, "level": st.sampled_from(["ERROR", ""]),
        "model": TEXT, "usage": USAGES | JSON,
    }
)  # fmt: skip


@settings(max_examples=30)
@given(
    st.lists(
        st.builds(Trace, st.text(max_size=4), st.text(max_size=4), JSON, JSON, st.lists(STEPS, max_size=4)),
        max_size=3,
    )
)
def test_any_session_becomes_rows(traces: list[Trace]) -> None:
    json.dumps(list(transcript_rows("s", traces)), allow_nan=False)


def read_payload(bench: Bench, langfuse: Langfuse, payload: object) -> list[Trace]:
    """Return the traces that are read from a server's reply."""
    langfuse.before = lambda *_: (200, payload, {})
    scorer = bench.scorer
    return read_session(
        LangfuseClient(find_access(scorer.paths, scorer.settings), Deadline(20)), {"sessions": "v4"}, SESSION
    )


@pytest.mark.parametrize("payload", [{}, {"data": 5}, []])
def test_an_unexpected_reply_is_an_error(graded: Bench, langfuse: Langfuse, payload: object) -> None:
    with pytest.raises(JudgeError, match=r"wrong_type|parse_error"):
        read_payload(graded, langfuse, payload)


def test_invalid_rows_are_skipped(graded: Bench, langfuse: Langfuse) -> None:
    assert len(read_payload(graded, langfuse, {"data": [None, 3, {"sessionId": SESSION}]})) == 1
