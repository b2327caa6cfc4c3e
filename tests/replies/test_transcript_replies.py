"""Replies in transcripts: the last reply with its model and prompt."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from memory_plugin.replies.transcript_replies import read_last_reply
from tests.replies.builders import (
    assistant_record,
    call_record,
    result_record,
    user_record,
    write_transcript,
)


@pytest.fixture
def path(tmp_path: Any) -> str:  # noqa: ANN401
    return str(tmp_path / "t.jsonl")


def test_the_last_reply_and_the_prompt_before_it(path: str) -> None:
    write_transcript(
        path,
        user_record("first"),
        assistant_record("one"),
        user_record("second"),
        call_record("Bash", {}),
        result_record("out"),
        assistant_record("two", "m2"),
    )
    tail = read_last_reply(path)
    assert (tail.model, tail.text, tail.record, tail.prompt) == ("m2", "two", "a-two", "second")


def test_a_reply_not_written_yet_has_the_model_of_its_request(path: str) -> None:
    request = {"type": "api-request", "querySource": "sdk", "params": {"model": "claude-x"}}
    write_transcript(
        path, user_record("asked"), request, {**request, "querySource": "title", "params": {"model": "small"}}
    )
    tail = read_last_reply(path)
    assert (tail.model, tail.text, tail.prompt) == ("claude-x", "", "asked")


def test_a_reply_that_lags_behind_has_the_model_of_the_turn_before(path: str) -> None:
    write_transcript(path, user_record("first"), assistant_record("one", "m1"), user_record("second"))
    tail = read_last_reply(path)
    assert (tail.model, tail.text, tail.prompt) == ("m1", "", "second")


def test_the_prompt_is_read_from_the_line_that_repeats_it(path: str) -> None:
    write_transcript(
        path,
        user_record("x"),
        *[result_record("y" * 9000, str(n)) for n in range(30)],
        {"type": "last-prompt", "lastPrompt": "x"},
        assistant_record("z"),
    )
    assert read_last_reply(path).prompt == "x"


@pytest.mark.parametrize(
    "record",
    [
        user_record("[Request interrupted by user]"),
        user_record("This session is being continued from a previous conversation that ran out of context."),
        user_record("<task-notification>done</task-notification>"),
        user_record("<local-command-stdout>ok</local-command-stdout>"),
        user_record("summary", isCompactSummary=True),
        {"type": "last-prompt", "lastPrompt": 3},
        user_record("side", isSidechain=True),
        user_record("meta", isMeta=True),
        {"type": "user", "message": {"content": [{"type": "image"}]}},
        {"type": "assistant", "message": {"model": "<synthetic>", "content": "API Error"}},
        {"type": "system"},
        b"not json\n",
        b"\xff\xfe\n",
        b"[]\n",
        b'{"type": "user", "message": 3}\n',
        b'{"type": "user", "message": {"content": {}}}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_records_that_no_person_wrote_are_skipped(path: str, record: object) -> None:
    write_transcript(path, user_record("asked"), assistant_record("said"), record)
    tail = read_last_reply(path)
    assert (tail.prompt, tail.text) == ("asked", "said")


COMMAND = "<command-message>review is running</command-message>\n<command-name>/review</command-name>"


@pytest.mark.parametrize(
    ("rows", "prompt"),
    [
        pytest.param([user_record("old"), assistant_record("x"), user_record(COMMAND)], "", id="a command"),
        pytest.param(
            [
                user_record("old"),
                assistant_record("x"),
                user_record(COMMAND + "<command-args>why does it fail?</command-args>"),
            ],
            "why does it fail?",
            id="a command with arguments",
        ),
        pytest.param(
            [user_record("old"), user_record(COMMAND), user_record("the skill's text", isMeta=True)],
            "",
            id="a skill's text",
        ),
        pytest.param(
            [
                user_record("old"),
                assistant_record("x"),
                user_record("[Request interrupted by user]"),
                user_record("new"),
            ],
            "new",
            id="after an interruption",
        ),
        pytest.param(
            [
                user_record("new"),
                call_record("Bash", {}),
                user_record("long", isCompactSummary=True),
                call_record("Bash", {}),
            ],
            "new",
            id="compacted within the turn",
        ),
        pytest.param(
            [user_record("<system-reminder>Be brief.</system-reminder>why?")], "why?", id="a note in front"
        ),
        pytest.param(
            [user_record("new"), {"type": "last-prompt", "lastPrompt": "new but cu"}],
            "new",
            id="a repeated prompt that is cut",
        ),
        pytest.param(
            [{"type": "last-prompt", "lastPrompt": "/review why?"}], "why?", id="a repeated command"
        ),
    ],
)
def test_the_prompt_that_a_reply_answers(path: str, rows: list[object], prompt: str) -> None:
    write_transcript(
        path, *rows, call_record("Read", {}), result_record("x"), assistant_record("said"), {"type": "system"}
    )
    tail = read_last_reply(path)
    assert (tail.has_prompt, tail.prompt, tail.text) == (True, prompt, "said")


def test_a_resumed_session_ends_with_its_own_turn(path: str) -> None:
    copied = [user_record("old"), assistant_record("x")]
    write_transcript(path, *copied, *copied, user_record("new"), assistant_record("said", "m2"))
    assert (read_last_reply(path).prompt, read_last_reply(path).model) == ("new", "m2")


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "empty", "cut"])
def test_an_unreadable_transcript_gives_empty_fields(path: str, kind: str) -> None:
    if kind == "folder":
        os.mkdir(path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "empty":
        write_transcript(path)
    elif kind == "cut":
        write_transcript(path, b'{"type": "assistant", "mess')
    tail = read_last_reply(path)
    assert (tail.model, tail.text, tail.prompt) == ("", "", "")


def test_only_the_end_of_a_large_file_is_read(path: str) -> None:
    with open(path, "wb") as file:
        file.truncate(100 << 20)
    with open(path, "ab") as file:
        file.write(b"\n")
    size = os.path.getsize(path)
    with open(path + ".small", "wb") as file:
        file.write(b"\n")
    for name in (path, path + ".small"):
        with open(name, "ab") as file:
            file.write(b'{"type":"user","message":{"content":"asked"}}\n')
    start = time.process_time()
    assert read_last_reply(path).prompt == "asked"
    assert size > 100 << 20
    assert time.process_time() - start < 1
