"""The last rows of a transcript, and what a person and the model wrote in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.transcript import plain_text, records_backwards, reply_text_of, user_input_of


def row(kind: str, content: object, **fields: object) -> dict[str, Any]:
    """Return a row of a transcript."""
    return {"type": kind, "message": {"role": kind, "content": content}, **fields}


def test_the_text_of_a_person() -> None:
    cases = [
        (row("user", " why? "), ("prompt", "why?")),  # a prompt
        (row("user", [{"type": "text", "text": "why?"}, {"type": "image"}]), ("prompt", "why?")),  # blocks
        (row("user", "<ide_selection>x</ide_selection>why?"), ("prompt", "why?")),  # a note in front
        (
            row("user", "<command-name>/fix</command-name><command-args>the lock</command-args>"),
            ("command", "the lock"),
        ),  # a command
        (row("user", "<command-name>/init</command-name>"), ("command", "")),  # a command alone
        (row("user", "<div> is not closed, why?"), ("prompt", "<div> is not closed, why?")),  # a tag
        (row("user", "[Request interrupted by user]"), ("", "")),  # an interruption
        (row("user", "x", isMeta=True), ("", "")),  # the client's
        (row("user", "x", isCompactSummary=True), ("", "")),  # a summary
        (row("user", "x", isSidechain=True), ("", "")),  # a sub-agent's
        (row("user", "x", origin={"kind": "task-notification"}), ("", "")),  # no person
        (row("user", "x", toolUseResult={}), ("", "")),  # a result
        (row("user", [{"type": "tool_result", "content": "x"}]), ("", "")),  # a bare result
        (row("assistant", "x"), ("", "")),  # the model's
        ({"type": "user", "message": "x"}, ("", "")),  # no message
    ]
    assert [(record, said) for record, said in cases if user_input_of(record) != said] == []


def test_the_text_of_the_model() -> None:
    cases = [
        (row("assistant", [{"type": "text", "text": "so"}, {"type": "tool_use"}]), "so"),  # text
        (row("assistant", [{"type": "tool_use"}]), ""),  # a call
        (row("assistant", "x", isSidechain=True), ""),  # a sub-agent's
        (row("assistant", "x", isApiErrorMessage=True), ""),  # an error
        ({"type": "assistant", "message": {"model": "<synthetic>", "content": "x"}}, ""),  # synthetic
        (row("user", "x"), ""),  # a person's
    ]
    assert [(record, text) for record, text in cases if reply_text_of(record) != text] == []


def test_the_last_row_comes_first_and_only_the_tail_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"n": n}) + "\n" for n in range(100)), encoding="utf-8")
    assert [record["n"] for record in records_backwards(str(path), 25)] == [99, 98]
    assert [record["n"] for record in records_backwards(str(path), 1 << 20, 3)] == [99, 98, 97]


@pytest.mark.parametrize("kind", ["nothing", "missing", "folder", "pipe"])
def test_a_path_that_is_no_transcript_yields_nothing(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "t")
    if kind == "folder":
        os.mkdir(path)
    elif kind == "pipe":
        os.mkfifo(path)
    assert list(records_backwards("" if kind == "nothing" else path, 1000)) == []


@given(data=st.binary(max_size=300))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("tail") / "t"
    path.write_bytes(data)
    assert all(isinstance(record, dict) for record in records_backwards(str(path), 200))


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_content_has_a_text(content: object) -> None:
    assert isinstance(plain_text(content), str)
    assert isinstance(user_input_of({"type": "user", "message": {"content": content}})[1], str)
