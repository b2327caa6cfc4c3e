"""Unusual shapes of rows, as some clients, editors and streams write them."""

from __future__ import annotations

import io
from typing import Any

import pytest

from memory_plugin.kernel.transcript.reader import Reader
from memory_plugin.kernel.transcript.turn import Totals, Turn
from tests.kernel.transcript.rows import answer, call, lines, result, text_block, user

TASK = {**user("Look around", isSidechain=True)}
FOUND = answer("m7", text_block("found"), isSidechain=True)


def read(*rows: dict[str, Any]) -> tuple[list[Turn], Totals]:
    reader = Reader(io.BytesIO(lines(*rows)))
    return list(reader), reader.totals


def queued(prompt: object = "Use tabs", **more: object) -> dict[str, Any]:
    """Return a prompt that the client put into a running turn."""
    attachment = {"type": "queued_command", "commandMode": "prompt", "prompt": prompt, **more}
    return {
        "type": "attachment",
        "isSidechain": False,
        "attachment": attachment,
        "timestamp": "2026-03-01T09:00:00Z",
    }


@pytest.mark.parametrize(
    ("rows", "prompts"),
    [
        pytest.param([queued()], ["Use tabs"], id="put into the turn"),
        pytest.param([queued([text_block("Use tabs")], origin={"kind": "human"})], ["Use tabs"], id="in blocks"),
        pytest.param([queued(commandMode="task-notification")], [], id="the end of a task"),
        pytest.param([queued(origin={"kind": "peer"})], [], id="of another session"),
        pytest.param([queued(isMeta=True)], [], id="of the client"),
        pytest.param([{"type": "attachment", "attachment": {"type": "date"}}], [], id="another attachment"),
        pytest.param([{"type": "attachment", "attachment": "x"}], [], id="an odd attachment"),
    ],
)  # fmt: skip
def test_prompts_that_were_typed_while_the_model_worked(
    rows: list[dict[str, Any]], prompts: list[str]
) -> None:
    turns, _ = read(answer("m1", call("c1")), *rows, result("c1"), answer("m2", text_block("ok")))
    assert [entry.text for turn in turns for entry in turn.user_texts if entry.kind == "prompt"] == prompts


NOTE = "<ide_selection>The user selected line 3</ide_selection>"


@pytest.mark.parametrize(
    ("one", "kind", "text"),
    [
        pytest.param(user([text_block(NOTE), text_block("No, line 4")]), "prompt", "No, line 4", id="a block of the editor before it"),
        pytest.param(user("<system-reminder>\nx\n</system-reminder>\n%s Fix it" % NOTE), "prompt", "Fix it", id="two notes"),
        pytest.param(user([text_block(NOTE), text_block("<command-name>/x</command-name>")]), "command", "/x", id="before a command"),
        pytest.param(user(NOTE), "notice", NOTE, id="nothing but a note"),
        pytest.param(user("<ide_selection>never closed"), "notice", "<ide_selection>never closed", id="a note without end"),
        pytest.param(user("<details>x</details> Fix it"), "prompt", "<details>x</details> Fix it", id="the user's own tag"),
        pytest.param(user("Go on", origin={"kind": "auto-continuation"}), "notice", "Go on", id="nobody typed it"),
        pytest.param(user("Go on", origin={"kind": "human"}), "prompt", "Go on", id="somebody typed it"),
    ],
)  # fmt: skip
def test_notes_in_front_of_a_prompt(one: dict[str, Any], kind: str, text: str) -> None:
    turns, _ = read(one, answer("m1", text_block("ok")))
    assert [(entry.kind, entry.text) for entry in turns[0].user_texts] == [(kind, text)]


def test_a_sub_agents_own_file_is_read_though_a_row_of_the_session_follows() -> None:
    turns, _ = read({**TASK, "agentId": "a1"}, {**FOUND, "agentId": "a1"}, user("x"))
    assert [(turn.prompt, turn.texts) for turn in turns] == [("Look around", ["found"])]


def test_a_stream_names_the_call_that_a_sub_agents_row_belongs_to() -> None:
    side = {**answer("m7", text_block("found")), "parent_tool_use_id": "c1"}
    turns, _ = read(
        {**user("x"), "parent_tool_use_id": None}, answer("m1", call("c1", "Task")), side, result("c1")
    )
    assert [turn.message for turn in turns] == ["m1"]


def test_rows_that_were_written_while_the_answer_streamed_count_once() -> None:
    turns, _ = read(
        user("x"),
        answer("m1", text_block("I lo")),
        answer("m1", text_block("I look."), call("c1")),
        answer("m1", text_block("I look."), call("c1", command="ls")),
        result("c1", "a.py"),
        answer("m1", call("c1", command="ls", description="again")),
    )
    (turn,) = turns
    assert turn.texts == ["I look."]
    assert [(made.input, made.result) for made in turn.calls] == [({"command": "ls"}, "a.py")]


def test_a_tool_that_the_provider_runs_has_its_result_in_the_answer() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "s1",
        "content": [{"type": "web_search_result", "title": "X"}],
    }
    turns, _ = read(user("x"), answer("m1", search), answer("m1", found), answer("m2", text_block("ok")))
    assert (turns[0].calls[0].name, turns[0].calls[0].result) == ("web_search", "")


def test_results_as_lists_of_blocks() -> None:
    content = [
        "a",
        {"type": "text", "text": "b"},
        {"type": "image", "source": {}},
        {"type": "tool_reference"},
        None,
    ]
    turns, _ = read(answer("m1", call("c1")), result("c1", content))
    assert turns[0].calls[0].result == "a\nb\n[image]"
