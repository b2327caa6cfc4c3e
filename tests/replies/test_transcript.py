"""The transcript's end: model, reply, prompt; and the turn's tool calls."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from memory_plugin.replies.evidence import turn_so_far
from memory_plugin.replies.transcript import last_reply
from tests.replies.made import assistant, call, result, user, write


@pytest.fixture
def path(tmp_path: Any) -> str:  # noqa: ANN401
    return str(tmp_path / "t.jsonl")


def test_the_last_reply_and_the_prompt_before_it(path: str) -> None:
    write(
        path,
        user("first"),
        assistant("one"),
        user("second"),
        call("Bash", {}),
        result("out"),
        assistant("two", "m2"),
    )
    tail = last_reply(path)
    assert (tail.model, tail.text, tail.record, tail.prompt) == ("m2", "two", "a-two", "second")


def test_a_reply_that_is_not_written_yet_has_the_model_of_its_request(path: str) -> None:
    request = {"type": "api-request", "querySource": "sdk", "params": {"model": "claude-x"}}
    write(path, user("asked"), request, {**request, "querySource": "title", "params": {"model": "small"}})
    tail = last_reply(path)
    assert (tail.model, tail.text, tail.prompt) == ("claude-x", "", "asked")


def test_a_reply_that_lags_behind_has_the_model_of_the_turn_before(path: str) -> None:
    write(path, user("first"), assistant("one", "m1"), user("second"))
    tail = last_reply(path)
    assert (tail.model, tail.text, tail.prompt) == ("m1", "", "second")


def test_the_client_repeats_the_prompt(path: str) -> None:
    write(
        path,
        user("x"),
        *[result("y" * 9000, str(n)) for n in range(30)],
        {"type": "last-prompt", "lastPrompt": "x"},
        assistant("z"),
    )
    assert last_reply(path).prompt == "x"


@pytest.mark.parametrize(
    "record",
    [
        user("[Request interrupted by user]"),
        user("This session is being continued from a previous conversation that ran out of context."),
        user("<task-notification>done</task-notification>"),
        user("<local-command-stdout>ok</local-command-stdout>"),
        user("summary", isCompactSummary=True),
        {"type": "last-prompt", "lastPrompt": 3},
        user("side", isSidechain=True),
        user("meta", isMeta=True),
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
def test_what_is_no_prompt_of_a_person_is_passed_over(path: str, record: object) -> None:
    write(path, user("asked"), assistant("said"), record)
    tail = last_reply(path)
    assert (tail.prompt, tail.text) == ("asked", "said")


COMMAND = "<command-message>review is running</command-message>\n<command-name>/review</command-name>"


@pytest.mark.parametrize(
    ("rows", "prompt"),
    [
        pytest.param([user("old"), assistant("x"), user(COMMAND)], "", id="a command"),
        pytest.param(
            [user("old"), assistant("x"), user(COMMAND + "<command-args>why does it fail?</command-args>")],
            "why does it fail?",
            id="a command with words",
        ),
        pytest.param(
            [user("old"), user(COMMAND), user("the skill's text", isMeta=True)], "", id="a skill's text"
        ),
        pytest.param(
            [user("old"), assistant("x"), user("[Request interrupted by user]"), user("new")],
            "new",
            id="after an interruption",
        ),
        pytest.param(
            [user("new"), call("Bash", {}), user("long", isCompactSummary=True), call("Bash", {})],
            "new",
            id="compacted within the turn",
        ),
        pytest.param(
            [user("<system-reminder>Be brief.</system-reminder>why?")], "why?", id="a note in front"
        ),
        pytest.param(
            [user("new"), {"type": "last-prompt", "lastPrompt": "new but cu"}],
            "new",
            id="the whole of a prompt that is repeated",
        ),
        pytest.param(
            [{"type": "last-prompt", "lastPrompt": "/review why?"}], "why?", id="a command repeated"
        ),
    ],
)
def test_what_a_reply_answers(path: str, rows: list[object], prompt: str) -> None:
    write(path, *rows, call("Read", {}), result("x"), assistant("said"), {"type": "system"})
    tail = last_reply(path)
    assert (tail.asked, tail.prompt, tail.text) == (True, prompt, "said")


def test_a_resumed_session_ends_with_its_own_turn(path: str) -> None:
    copied = [user("old"), assistant("x")]
    write(path, *copied, *copied, user("new"), assistant("said", "m2"))
    assert (last_reply(path).prompt, last_reply(path).model) == ("new", "m2")


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "empty", "cut"])
def test_a_transcript_that_tells_nothing(path: str, kind: str) -> None:
    if kind == "folder":
        os.mkdir(path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "empty":
        write(path)
    elif kind == "cut":
        write(path, b'{"type": "assistant", "mess')
    tail = last_reply(path)
    assert (tail.model, tail.text, tail.prompt) == ("", "", "")
    assert turn_so_far(path) == ("", [])


def test_a_hundred_megabytes_cost_nothing(path: str) -> None:
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
    assert last_reply(path).prompt == "asked"
    assert size > 100 << 20
    assert time.process_time() - start < 1


def test_the_tool_calls_of_the_turn(path: str) -> None:
    write(
        path,
        user("before"),
        call("Read", {"file_path": "old"}, "t0"),
        user("asked"),
        call("Bash", {"command": "ls"}, "t1"),
        result("a\nb", "t1"),
        call("Read", {"file_path": "x" * 500}, "t2"),
        result("no such file", "t2", failed=True),
        call("Grep", {}, "t3"),
    )
    prompt, calls = turn_so_far(path)
    assert prompt == "asked"
    assert calls[0] == 'Bash({"command":"ls"}) -> a b'
    assert calls[1].endswith("-> error: no such file")
    assert len(calls[1]) < 260
    assert calls[2] == "Grep({}) -> no result"


def test_a_command_begins_a_turn_of_its_own(path: str) -> None:
    command = user(COMMAND + "<command-args>the lock</command-args>")
    write(path, user("before"), call("Read", {}, "t0"), result("x", "t0"), command, call("Bash", {}, "t1"))
    assert turn_so_far(path) == ("/review the lock", ["Bash({}) -> no result"])
