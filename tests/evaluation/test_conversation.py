"""Conversations, read from each supported form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.evaluation_gates import ROLES, parse_conversation

PLAIN = [{"turn": 4, "role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]


def read(text: str) -> list[tuple[int, str, str]]:
    """Return the turns in a text."""
    return [turn[:3] for turn in parse_conversation(text.encode("utf-8", "surrogatepass"), "t").turns]


def test_lines_of_turns() -> None:
    assert read("\n".join(map(json.dumps, PLAIN))) == [(4, "user", "hi"), (2, "assistant", "yes")]


def test_private_passages_are_left_out() -> None:
    assert read('{"role": "user", "content": "a <private>my key</private> b"}') == [(1, "user", "a  b")]


def test_bad_lines_are_counted() -> None:
    text = (
        json.dumps(PLAIN[0]) + '\n{"role": "god", "content": "x"}\nnonsense\n{"role": "user", "content": 3}\n'
    )
    conversation = parse_conversation(text.encode(), "t")
    assert (len(conversation.turns), conversation.skipped) == (1, 3)


def test_a_transcript_with_tool_calls() -> None:
    rows = [
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": "run the tests"}},
        {
            "type": "assistant", "uuid": "2",
            "message": {"id": "m1", "role": "assistant", "content": [
                {"type": "text", "text": "Running."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest"}},
            ]},
        },
        {"type": "user", "uuid": "3", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "3 passed", "is_error": False}]}},
        {"type": "assistant", "uuid": "4", "message": {"id": "m2", "role": "assistant", "content": [
            {"type": "text", "text": "All tests pass."}]}},
    ]  # fmt: skip
    assert read("\n".join(map(json.dumps, rows))) == [
        (1, "user", "run the tests"),
        (2, "assistant", "Running."),
        (3, "tool", "Bash pytest\n3 passed"),
        (4, "assistant", "All tests pass."),
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "[", "[1, 2]", "{}", "\x00\x01", "[" * 5000])
def test_other_text_has_no_turns(text: str) -> None:
    assert read(text) == []


def test_a_digest_changes_with_a_word() -> None:
    first, second = (parse_conversation(json.dumps(turn).encode(), "t") for turn in PLAIN)
    assert first.digest != second.digest


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from([*ROLES, "role", "content"]),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(st.sampled_from(["role", "content", "turn", "x"]), children)
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=6))
def test_any_json_can_be_read(values: list[object]) -> None:
    text = "\n".join(json.dumps(value) for value in values)
    assert all(turn.role in ROLES for turn in parse_conversation(text.encode(), "t").turns)
