"""The previous turn, read from the end of a transcript."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.recall.gate import last_turn


def user(text: object, **fields: object) -> dict[str, Any]:
    """Return a record of what the user typed."""
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


def claude(text: str, **fields: object) -> dict[str, Any]:
    """Return a record of what Claude said."""
    return {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
        **fields,
    }


TOOL = {
    "type": "assistant",
    "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]},
}
RESULT = user([{"type": "tool_result", "content": "a listing"}], toolUseResult={})


def transcript(folder: Path, *records: object, end: str = "\n") -> str:
    """Return the path of a transcript."""
    path = folder / "session.jsonl"
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    return str(path)


ASKED, SAID = user("Which port does the proxy use?"), claude("It listens on 7777.")
TURN = "Which port does the proxy use? \nIt listens on 7777."


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([ASKED, SAID], id="a turn"),
        pytest.param([user("an older one"), claude("and its reply"), ASKED, SAID], id="the last of two"),
        pytest.param([ASKED, TOOL, RESULT, SAID], id="tools in between"),
        pytest.param([ASKED, SAID, TOOL, RESULT], id="tools at the end"),
        pytest.param(
            [ASKED, SAID, user("x", isMeta=True), claude("y", isSidechain=True)], id="not of this turn"
        ),
        pytest.param(
            [ASKED, SAID, user("This session is continued from ...", isCompactSummary=True)],
            id="a compaction",
        ),
        pytest.param(
            [ASKED, SAID, claude("API Error: 529", isApiErrorMessage=True)], id="an error of the API"
        ),
        pytest.param([ASKED, SAID, user("<command-name>/compact</command-name>")], id="a command"),
        pytest.param(
            [ASKED, SAID, "{cut off", "[1]", "null", "", '{"type": "user"}'], id="lines that are no records"
        ),
        pytest.param(
            [ASKED, SAID, {"type": "system", "subtype": "compact_boundary"}, {"type": "summary"}],
            id="other records",
        ),
        pytest.param(
            [user([{"type": "text", "text": "Which port does the proxy use?"}, {"type": "image"}]), SAID],
            id="blocks",
        ),
        pytest.param([user("Which port <private>secret</private>does the proxy use?"), SAID], id="private"),
        pytest.param(["x" * 300_000, ASKED, SAID], id="a long record before"),
        pytest.param([ASKED, SAID, "[" * 200_000], id="nested too deeply"),
    ],
)
def test_the_last_turn_is_found(tmp_path: Path, records: list[object]) -> None:
    assert last_turn(transcript(tmp_path, *records)) == TURN


@pytest.mark.parametrize("end", ["", "\n", "\r\n", '\n{"type": "assist'])
def test_the_end_of_the_file_may_be_cut_off(tmp_path: Path, end: str) -> None:
    assert last_turn(transcript(tmp_path, ASKED, SAID, end=end)) == TURN


@pytest.mark.parametrize(
    "records",
    [[], [TOOL, RESULT], ["x"], [{"message": "text"}], [{"type": "user", "message": {"content": 5}}]],
)
def test_without_a_turn_there_is_nothing(tmp_path: Path, records: list[object]) -> None:
    assert last_turn(transcript(tmp_path, *records)) == ""


def test_long_turns_are_cut(tmp_path: Path) -> None:
    found = last_turn(transcript(tmp_path, user("a" * 5000), claude("b" * 5000 + "end")))
    assert len(found) <= 1602
    assert found.endswith("end")


def test_a_file_that_is_no_transcript_has_no_turn() -> None:
    cases = ["", "/nowhere/x", "/", "/dev/zero", "/dev/null", "/proc/self/mem", "x" * 10_000]
    assert [path for path in cases if last_turn(path) != ""] == []


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert last_turn(str(tmp_path / "pipe")) == ""


@given(data=st.binary(max_size=400))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("t") / "x.jsonl"
    path.write_bytes(data)
    assert isinstance(last_turn(str(path)), str)
