"""Transcripts of Codex CLI read like those of Claude Code. The rows have the form that version 0.169.0 writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.kernel.transcript import (
    blocks_of,
    message_of,
    parse_row,
    patched_files,
    records_backwards,
    reply_text_of,
    row_of_rollout,
    user_input_of,
)
from memory_plugin.kernel.transcript.reader import Reader, open_transcript


def item(kind: str, **fields: object) -> dict[str, Any]:
    """Return a row of the conversation."""
    payload = {"type": kind, "id": "%s-%s" % (kind, fields.get("call_id", fields.get("role"))), **fields}
    return {"timestamp": "2026-11-24T06:10:00Z", "type": "response_item", "payload": payload}


def said(role: str, text: str) -> dict[str, Any]:
    """Return the row of a message."""
    return item("message", role=role, content=[{"type": "input_text", "text": text}])


PATCH = "*** Begin Patch\n*** Add File: src/b.py\n+1\n*** Update File: a b.py\n-1\n*** End Patch\n"
ROWS = [
    {"type": "session_meta", "payload": {"id": "c1"}},
    said("developer", "<memory-context>"),
    said("user", "<environment_context><cwd>/p</cwd></environment_context>"),
    said("user", "why does make fail?"),
    {"type": "event_msg", "payload": {"type": "item_completed"}},
    item("function_call", name="exec_command", arguments='{"cmd": "make"}', call_id="1"),
    item(
        "function_call_output",
        call_id="1",
        output="Wall time: 0\nProcess exited with code 2\nOutput:\nno rule",
    ),
    item("custom_tool_call", name="apply_patch", input=PATCH, call_id="2"),
    item("custom_tool_call_output", call_id="2", output="Exit code: 0\nOutput:\nSuccess"),
    said("assistant", "Fixed."),
]


@pytest.fixture
def transcript(tmp_path: Path) -> str:
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return str(path)


def test_turns_have_prompts_calls_and_failures(transcript: str) -> None:
    with open_transcript(transcript) as file:
        turns = list(Reader(file))
    assert [text.text for turn in turns for text in turn.user_texts] == ["why does make fail?"]
    calls = [(call.name, call.failed, call.result) for turn in turns for call in turn.calls]
    assert calls == [("Bash", True, "no rule"), ("Write", False, "Success")]
    assert turns[-1].texts == ["Fixed."]


def test_an_exit_code_that_a_command_printed_is_no_failure() -> None:
    row = row_of_rollout(
        item("function_call_output", call_id="1", output="Exit code: 0\nOutput:\nExit code: 1\n")
    )
    assert blocks_of(message_of(row)["content"])[0]["is_error"] is False


def test_a_row_of_claude_code_may_have_a_payload() -> None:
    row = {"type": "user", "message": {"content": "hi"}, "payload": 1}
    assert parse_row(json.dumps(row).encode()) == row


def test_the_last_reply_and_prompt_are_found_backwards(transcript: str) -> None:
    rows = list(records_backwards(transcript, 1 << 20))
    assert next(filter(None, map(reply_text_of, rows))) == "Fixed."
    assert next(filter(None, (user_input_of(row)[1] for row in rows))) == "why does make fail?"


def test_odd_rows_never_raise() -> None:
    cases: list[dict[str, object]] = [
        {"type": "response_item", "payload": "text"},
        {"type": "response_item", "payload": {"type": "reasoning"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": None}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [1, {"text": 2}]},
        },
        {"type": "response_item", "payload": {"type": "function_call", "arguments": "not json"}},
        {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "shell", "arguments": '{"command": []}'},
        },
        {"type": "response_item", "payload": {"type": "function_call_output", "output": {"a": 1}}},
        {"payload": None},
    ]
    assert [record for record in cases if not isinstance(row_of_rollout(record), dict)] == []


def test_a_shell_call_with_a_list_runs_its_last_word() -> None:
    row = row_of_rollout(
        item("function_call", name="shell", arguments='{"command": ["bash", "-lc", "make"]}')
    )
    assert blocks_of(message_of(row)["content"])[0]["input"] == {"command": "make"}


def test_the_files_of_a_patch() -> None:
    assert patched_files(PATCH) == [("Write", "src/b.py"), ("Edit", "a b.py")]
    moved = "*** Update File: a.py\n*** Move to: db/a.py\n"
    assert patched_files(moved) == [("Edit", "a.py"), ("Write", "db/a.py")]


@pytest.mark.parametrize(
    ("output", "content", "failed"),
    [
        ('{"output": cut', '{"output": cut', False),
        (
            "apply_patch verification failed: no such line",
            "apply_patch verification failed: no such line",
            True,
        ),
        ("Plan updated", "Plan updated", False),
    ],
)
def test_outputs_of_older_versions(output: str, content: str, failed: bool) -> None:
    row = row_of_rollout(item("function_call_output", call_id="1", output=output))
    (block,) = blocks_of(message_of(row)["content"])
    assert (block["content"], block["is_error"]) == (content, failed)


def test_rows_without_ids_are_turns_of_their_own(tmp_path: Path) -> None:
    """Older versions give no item an id."""
    path = tmp_path / "rollout.jsonl"
    rows = [*ROWS, said("user", "and the tests?"), said("assistant", "They pass.")]
    unnamed = [{**row, "payload": {**row["payload"], "id": None}} for row in rows]
    path.write_text("\n".join(map(json.dumps, unnamed)), encoding="utf-8")
    with open_transcript(str(path)) as file:
        turns = list(Reader(file))
    assert [turn.prompt for turn in turns if turn.prompt] == ["why does make fail?", "and the tests?"]
    assert [turn.texts for turn in turns if turn.texts] == [["Fixed."], ["They pass."]]
    assert turns[0].calls[0].result is not None
