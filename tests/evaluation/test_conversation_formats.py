"""Several conversations in one place are read one by one: rows, trees of messages, and answers to choose from."""

from __future__ import annotations

import json

import pytest

from memory_plugin.evaluation.conversations import parse_conversations
from tests.evaluation.test_conversations import ASSISTANT, USER, message, read

ROW = {"conversation_id": "c1", "tier": 1}
OTHER = {"conversation_id": "c2", "tier": 2}
TREE = [
    message("1", None, "prompter", "q"),
    message("2", "1", "assistant", "a"),
    message("3", "1", "assistant", "b"),
]
NESTED = {"prompt": {**TREE[0], "replies": [{**TREE[1], "replies": []}, {**TREE[2], "replies": []}]}}
SEVERAL: dict[str, object] = {
    "rows of conversations": [{**ROW, **USER}, {**ROW, **ASSISTANT}, {**OTHER, **USER}, {**OTHER, **ASSISTANT, "content": "b"}],
    "rows of questions with answers": [{**ROW, "user": "q", "assistant": "a"}, {**OTHER, "user": "q", "assistant": "b"}],
    "messages of a tree": TREE,
    "answers to choose from": {"prompt": "q", "chosen": "a", "rejected": "b"},
    "chosen messages": {"prompt": "x y z", "chosen": [USER, ASSISTANT], "rejected": [USER, {**ASSISTANT, "content": "b"}], "messages": []},
    "chosen texts": {"chosen": "\n\nHuman: q\n\nAssistant: a", "rejected": "\n\nHuman: q\n\nAssistant: b"},
    "OpenAI's preferences": {"input": {"messages": [USER]}, "preferred_output": [ASSISTANT],
                             "non_preferred_output": [{**ASSISTANT, "content": "b"}]},
    "two responses": {"prompt": "q", "response_0": "a", "response_1": "b", "is_response_0_safe": True},
    "an arena": {"winner": "model_a", "conversation_a": [USER, ASSISTANT], "conversation_b": [USER, {**ASSISTANT, "content": "b"}]},
}  # fmt: skip


@pytest.mark.parametrize("value", SEVERAL.values(), ids=SEVERAL)
def test_several_conversations_in_one_place(value: object) -> None:
    for text in (
        json.dumps(value),
        "\n".join(map(json.dumps, value if isinstance(value, list) else [value, value])),
    ):
        found = parse_conversations(text.encode(), "t")
        said = [[turn[1:3] for turn in one.turns] for one in found]
        assert said[:2] == [[("user", "q"), ("assistant", "a")], [("user", "q"), ("assistant", "b")]]
        assert [one.skipped for one in found] == [()] * len(found)


@pytest.mark.parametrize("value", [NESTED, [NESTED]])
def test_of_a_nested_tree_each_thread_is_read(value: object) -> None:
    found = parse_conversations(json.dumps(value).encode(), "t")
    assert [[turn.content for turn in one.turns] for one in found] == [["q", "a"], ["q", "b"]]


def test_what_an_assistant_said_within_a_prompt_is_its_own() -> None:
    record = {
        "prompt": "\n\nHuman: q\n\nAssistant: a\n\nHuman: r\n\nAssistant:",
        "completion": "One, two, three.",
    }
    assert [turn[1:] for turn in read(json.dumps(record))] == [
        *(("user", "q"), ("assistant", "a"), ("user", "r")),
        ("assistant", "One, two, three."),
    ]


@pytest.mark.parametrize(
    "places",
    [
        (3, 1, 2),
        ("3", "1", "2"),
        ("2024-05-03", "2024-05-01", "2024-05-02"),
        (1.5e9 + 2, 1.5e9, 1500000000.25),
    ],
)
def test_rows_are_read_in_their_order(places: tuple[object, ...]) -> None:
    rows = [
        {"created_at": at, "role": role, "content": role}
        for at, role in zip(places, ("user", "user", "assistant"))
    ]
    assert [turn[1] for turn in read(json.dumps(rows))] == ["user", "assistant", "user"]


def test_messages_in_a_text_keep_their_roles() -> None:
    asked = json.dumps([{"role": "system", "content": "s"}, USER])
    rows = [{"prompt": {"raw": asked}, "response": {"output": "One, two, three."}}]
    assert [turn[1:] for turn in read(json.dumps(rows))] == [
        ("system", "s"),
        ("user", "q"),
        ("assistant", "One, two, three."),
    ]


def test_rows_name_their_conversation_and_its_tier() -> None:
    table = b"Conversation ID,Tier,Turn,Role,Content\nc1,1,1,user,q\nc1,1,2,assistant,a\nc2,2,1,user,q\n"
    assert [(one.id, one.tier, len(one.turns)) for one in parse_conversations(table, "t")] == [
        ("c1", "1", 2),
        ("c2", "2", 1),
    ]
