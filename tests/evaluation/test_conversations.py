"""Conversations are read in the usual spellings, and what cannot be read is told."""

from __future__ import annotations

import codecs
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.conversations import Conversation, parse_conversations

ROLES = ("user", "assistant", "tool", "system")
PLAIN = [{"turn": 4, "role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]


def read(text: str) -> list[tuple[int, str, str]]:
    """Return the turns in a text."""
    return [turn[:3] for turn in parse(text).turns]


def parse(text: str) -> Conversation:
    """Return the only conversation in a text."""
    (conversation,) = parse_conversations(text.encode("utf-8", "surrogatepass"), "t")
    return conversation


def test_lines_of_turns() -> None:
    assert read("\n".join(map(json.dumps, PLAIN))) == [(4, "user", "hi"), (2, "assistant", "yes")]


def test_one_array_of_turns() -> None:
    assert read(json.dumps(PLAIN, indent=1)) == [(4, "user", "hi"), (2, "assistant", "yes")]


def test_a_long_first_turn_is_no_transcript() -> None:
    text = "a" * 100_000
    assert read(json.dumps({"role": "user", "content": text})) == [(1, "user", text)]


def test_blocks_are_joined() -> None:
    blocks = '{"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}]}'
    assert read(blocks) == [(1, "user", "a\nb")]


def message(name: str, parent: str | None, role: str, text: str) -> dict[str, object]:
    """Return a message of a tree, as OpenAssistant writes it."""
    return {"message_id": name, "parent_id": parent, "role": role, "text": text}


USER, ASSISTANT = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
BOTH, FOREIGN = [(1, "user", "q"), (2, "assistant", "a")], {
    "OpenAI's request and answer": {"messages": [USER], "choices": [{"index": 0, "message": ASSISTANT}]},
    "the Responses API": {"input": [{"role": "user", "content": [{"type": "input_text", "text": "q"}]}], "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}, {"type": "reasoning"}]},
    "OpenTelemetry": {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "q"}]}],
                      "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "a"}]}]},
    "a batch": {"custom_id": "t", "body": {"messages": [USER, ASSISTANT]}},
    "a trace": {"input": {"messages": [USER]}, "output": ASSISTANT},
    "Gemini": {"contents": [{"role": "user", "parts": [{"text": "q"}]},
                            {"role": "model", "parts": [{"thought": True, "text": "b"}, {"text": "a"}]}]},
    "Bedrock": {"messages": [{"role": "user", "content": [{"text": "q"}]},
                             {"role": "assistant", "content": [{"text": "a"}, {"toolUse": {"name": "x"}}]}]},
    "Vercel": [{"role": "user", "parts": [{"type": "text", "text": "q"}]}, {"role": "assistant", "parts": [
        {"type": "step-start"}, {"type": "reasoning", "text": "b"}, {"type": "tool-x", "input": {}}, {"type": "text", "text": "a"}]}],
    "LangChain": {"messages": [{"type": "human", "data": {"content": "q"}}, {"type": "AIMessageChunk", "data": {"content": "a"}}]},
    "LangChain, serialized": [{"lc": 1, "id": ["x"], "kwargs": {"type": kind, "content": text}}
                              for kind, text in (("human", "q"), ("ai", "a"))],
    "ShareGPT": [{"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]}],
    "AutoGen": [{"source": "user", "content": "q", "type": "TextMessage"}, {"source": "assistant_agent", "content": "a"}],
    "Ragas": {"user_input": [{"type": "human", "content": "q"}, {"type": "ai", "content": "a"}]},
    "Claude's export": [{"chat_messages": [{"sender": "human", "text": "q"}, {"sender": "assistant", "text": "a"}]}],
    "ChatGPT's export": [{"mapping": {"x": {"message": None}, **{name: {"message": {
        "author": {"role": name}, "content": {"parts": [text]}}} for name, text in (("user", "q"), ("assistant", "a"))}}}],
    "a list in a field": {"samples": [{"messages": [USER, ASSISTANT]}]},
    "a message in a row": [{"role": "user", "message": {"content": [{"type": "text", "text": "q"}]}}, {"message": ASSISTANT}],
    "a source that looks like a role": [{"source": "user study", "messages": [USER, ASSISTANT]}],
    "a graph's state": {"values": {"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": "a"}]}},
    "an empty text beside the parts": [USER, {"role": "assistant", "content": "", "parts": [
        {"type": "text", "text": "a"}, {"type": "source-url", "url": "x"}]}],
    "pairs of role and text": [["human", "q"], ["ai", "a"]],
    "the last message first": {"object": "list", "data": [{**ASSISTANT, "created_at": 20}, {**USER, "created_at": 10}]},
    "a tree's only thread, from the end": [message("2", "1", "assistant", "a"), message("1", None, "prompter", "q")],
    "a dialogue system": {"dialogue_id": "d", "turns": [{"speaker": "USER", "utterance": "q"}, {"speaker": "SYSTEM", "utterance": "a"}]},
    "messages as a text": {"id": "x", "messages": json.dumps([USER, ASSISTANT])},
    "a labeled text in a field": {"id": "x", "transcript": "Client: q\nTherapist: a"},
    "a request and its result": {"custom_id": "x", "request": {"messages": [USER]}, "result": {"type": "ok", "message": ASSISTANT}},
    "LlamaIndex": [{"role": role, "blocks": [{"block_type": "text", "text": text}]} for role, text in (("user", "q"), ("assistant", "a"))],
    "spoken": [USER, {"role": "assistant", "content": None, "audio": {"id": "x", "transcript": "a"}}],
    "a supporter": [{"speaker": "seeker", "content": "q"}, {"speaker": "supporter", "content": "a"}],
    "names of roles in a program": [{"role": "ChatRole.USER", "text": "q"}, {"messageType": "ASSISTANT", "text": "a"}],
    "names with capital letters": [{"Role": "User", "Content": "q"}, {"Role": "Assistant", "Content": "a"}],
}  # fmt: skip


@pytest.mark.parametrize("value", FOREIGN.values(), ids=FOREIGN)
def test_conversations_of_other_programs(value: object) -> None:
    assert read(json.dumps(value, indent=1)) == BOTH
    assert parse(json.dumps(value)).skipped == ()


@pytest.mark.parametrize(
    "value",
    [
        [["q", "a"]],  # a chat window's pairs
        {"history": [["q", "a"]]},
        {"results": {"version": 3, "results": [{"prompt": {"raw": "q"}, "response": {"output": "a"}}]}},
        {"test_results": [{"input": "q", "actual_output": "a"}]},
    ],
)
def test_pairs_and_results_of_other_programs(value: object) -> None:
    assert [turn[1:] for turn in read(json.dumps(value))] == [turn[1:] for turn in BOTH]
    assert parse(json.dumps(value)).skipped == ()


def node(parent: str, role: str = "", text: str = "", **content: object) -> dict[str, object]:
    """Return a node of ChatGPT's export."""
    content = content or {"content_type": "text", "parts": [text]}
    return {"parent": parent, "message": {"author": {"role": role}, "content": content} if role else None}


def test_of_a_tree_only_the_thread_that_the_user_kept_is_read() -> None:
    tree = {
        "answered again": node("asked", "assistant", "a"),
        "first answer": node("asked", "assistant", "b"),
        "root": node(""),
        "asked": node("profile", "user", "q"),
        "profile": node("root", "user", content_type="user_editable_context", user_profile="A cook."),
        "thoughts": node("answered again", "assistant", content_type="thoughts", thoughts=[{"content": "c"}]),
    }
    export = {"mapping": tree, "current_node": "thoughts"}
    assert [turn[1:] for turn in read(json.dumps([export])) if turn[2]] == [turn[1:] for turn in BOTH]
    assert parse(json.dumps([export])).skipped == ()
    circle = {"mapping": {"x": node("y", "user", "q"), "y": node("x", "assistant", "a")}, "current_node": "y"}
    assert read(json.dumps(circle)) == BOTH


FILES = {
    "byte order mark": codecs.BOM_UTF8 + json.dumps([USER, ASSISTANT]).encode(),
    "UTF-16": json.dumps([USER, ASSISTANT]).encode("utf-16"),
    "CSV": b"role,content\r\nuser,q\r\nassistant,a\r\n",
    "CSV with semicolons": b"speaker;message\r\nuser;q\r\nassistant;a\r\n",
    "a table with tabs": b"role\tcontent\nuser\tq\nassistant\ta\n",
    "labels": b"User: q\n\n**Assistant:** a\n",
    "labels as copied": b"You: q\n\nChatGPT: a\n",
    "headings": b"## User\n\nq\n\n## Assistant\n\na\n",
    "a copied page": b"You said:\nq\n\nChatGPT said:\na\n",
    "labels in Spanish": b"Usuario: q\nAsistente: a\n",
    "marks in brackets": b"[|Human|] q\n[|AI|] a\n",
    "a chat with times": b"10:30 AM - User: q\n10:31 AM - Bot: a\n",
    "Llama's marks": b"<|start_header_id|>user<|end_header_id|>\n\nq\n<|start_header_id|>assistant<|end_header_id|>\n\na\n",
    "YAML with a name": b"messages:\n- role: user\n  content: q\n- role: assistant\n  content: a\n",
    "YAML": b"- role: user\n  content: q\n- role: assistant\n  content: |\n    a\n",
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_forms_of_files(data: bytes) -> None:
    (conversation,) = parse_conversations(data, "t")
    assert ([turn[:3] for turn in conversation.turns], conversation.skipped) == (BOTH, ())


def test_an_archive_is_not_read() -> None:
    (conversation,) = parse_conversations(zlib.compress(json.dumps([USER, ASSISTANT]).encode()), "t")
    assert conversation.skipped != ()


def test_a_tool_result_among_blocks_is_the_tools() -> None:
    blocks = [
        {"type": "tool_result", "content": [{"type": "text", "text": "3 passed"}]},
        {"type": "text", "text": "q"},
    ]
    assert read(json.dumps([{"role": "user", "content": blocks}])) == [
        (1, "tool", "3 passed"),
        (1, "user", "q"),
    ]


SPELLINGS = [
    {"role": "model", "content": "a"},  # model
    {"role": " Assistant", "text": "a"},  # capital letter
    {"speaker": "AI", "utterance": "a"},  # speaker
    {"from": "gpt", "value": "a"},  # from
    {"author": {"role": "assistant"}, "content": {"parts": ["a"]}},  # export
    {"role": "model", "parts": [{"text": "a"}]},  # parts
    {"type": "ai", "content": "a"},  # type
    {"assistant": "a"},  # role as field
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "b"}, {"type": "text", "text": "a"}]},  # thoughts
]  # fmt: skip


def test_spellings_of_roles_and_fields() -> None:
    assert [turn for turn in SPELLINGS if read(json.dumps(turn)) != [(1, "assistant", "a")]] == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("prompt", "completion"),
        ("question", "answer"),
        ("user_input", "response"),
        ("input", "actual_output"),
    ],
)
def test_a_question_and_its_answer_in_one_record(question: str, answer: str) -> None:
    record = {question: "q", answer: "a", "model": "small-3", "contexts": ["A text of some words."]}
    assert (read(json.dumps(record)), parse(json.dumps(record)).skipped) == (
        [(1, "user", "q"), (1, "assistant", "a")],
        (),
    )


def test_a_tool_that_put_out_nothing_is_read() -> None:
    assert parse(json.dumps([{"role": "tool", "content": None}, PLAIN[1]])).skipped == ()


def test_an_image_leaves_the_text_beside_it() -> None:
    blocks = [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {"url": "x"}}]
    conversation = parse(json.dumps([{"role": "user", "content": blocks}]))
    assert ([turn.content for turn in conversation.turns], conversation.skipped) == (["q"], (1,))


def test_what_cannot_be_read_is_named() -> None:
    cases = [
        {"role": "narrator", "content": "x"},
        {"role": "user", "content": [{"type": "image", "source": {}}]},
        {"role": "assistant", "content": None},
        {"content": "x"},
        {"prompt": "q", "chosen": "You have a bad illness."},
        {"prompt": "q", "outputs": ["You have a bad illness."]},
        "x",
    ]
    assert [turn for turn in cases if parse(json.dumps([PLAIN[0], turn])).skipped != (2,)] == []


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": "q", "choices": [{"text": "You have a bad illness."}]},
        {"messages": [USER], "result": "You have a bad illness."},
        [{"input": USER, "said": "You have a bad illness."}],
        {"messages": [USER, ASSISTANT, USER], "outputs": ["You have a bad illness."]},
        {"asked": {"messages": [{"role": "user", "content": "I have a bad illness."}]}, "output": ASSISTANT},
        {"prompt": {"role": "prompter", "text": "q", "replies": [{"text": "You have a bad illness."}]}},
    ],
)
def test_an_answer_in_an_unknown_place_is_told(record: object) -> None:
    assert parse(json.dumps(record)).skipped != ()


def test_many_unread_turns_are_counted() -> None:
    assert parse(json.dumps([{}] * 12)).skipped == tuple(range(1, 13))


@pytest.mark.parametrize("field", ["turns", "messages", "dialogue"])
@pytest.mark.parametrize("form", ["lines", "array"])
def test_conversations_with_tiers(field: str, form: str) -> None:
    records = [{"id": "c%d" % at, "tier": at, field: PLAIN} for at in (1, 2)]
    text = json.dumps(records) if form == "array" else "\n".join(map(json.dumps, records))
    found = parse_conversations(text.encode(), "t")
    assert [(entry.id, entry.tier, len(entry.turns)) for entry in found] == [("c1", "1", 2), ("c2", "2", 2)]


def test_a_question_and_its_answer_with_a_tier_are_a_conversation() -> None:
    lines = "\n".join(json.dumps({"tier": at, "user": "q", "assistant": "a"}) for at in (1, 2))
    assert [(entry.tier, len(entry.turns)) for entry in parse_conversations(lines.encode(), "t")] == [
        ("1", 2),
        ("2", 2),
    ]


@pytest.mark.parametrize(
    "text", [json.dumps([PLAIN, PLAIN]), "\n".join(map(json.dumps, [PLAIN, PLAIN]))], ids=["array", "lines"]
)
def test_lists_of_turns_are_conversations(text: str) -> None:
    assert [(entry.id, len(entry.turns)) for entry in parse_conversations(text.encode(), "t")] == [
        ("t:1", 2),
        ("t:2", 2),
    ]


def test_a_row_with_too_many_fields_is_not_read_whole() -> None:
    assert parse("role,content\nuser,well, I am tired\n").skipped == (1,)


def test_a_file_that_was_cut_off_is_not_read() -> None:
    assert parse(json.dumps([{"user": "q", "assistant": "a"}], indent=1)[:-4]).skipped != ()


def test_a_text_before_the_first_label_is_not_read() -> None:
    assert parse("A talk of Monday.\nUser: q\nBot: a\n").skipped == (1,)


def test_an_unknown_label_is_told() -> None:
    assert parse("Patient: q\n\nDoctor: You have a bad illness.\n").skipped == (2,)


def test_the_sessions_of_a_conversation_follow_each_other() -> None:
    assert len(read(json.dumps({"sessions": [{"turns": PLAIN}, {"turns": PLAIN}]}, indent=1))) == 4


def test_a_line_of_a_transcript_that_cannot_be_read_is_named() -> None:
    row = json.dumps({"type": "user", "uuid": "1", "message": {"role": "user", "content": "hi"}})
    assert parse(row + "\nnonsense\n" + row + "\n").skipped == (2,)
    assert parse(row + '\n{"type": "us').skipped == ()  # the client is still writing the last line


def test_a_transcript_may_begin_with_many_snapshots() -> None:
    snapshots = '{"type": "file-history-snapshot", "snapshot": {}}\n' * 400
    row = json.dumps({"type": "user", "uuid": "1", "message": {"role": "user", "content": "hi"}})
    conversation = parse(snapshots + row + "\n")
    assert ([turn.content for turn in conversation.turns], conversation.skipped) == (["hi"], ())


def test_private_passages_are_left_out() -> None:
    assert read('{"role": "user", "content": "a <private>my key</private> b"}') == [(1, "user", "a  b")]


def test_bad_lines_are_named() -> None:
    text = (
        json.dumps(PLAIN[0]) + '\n{"role": "god", "content": "x"}\nnonsense\n{"role": "user", "content": 3}\n'
    )
    conversation = parse(text)
    assert (len(conversation.turns), conversation.skipped) == (1, (2, 3, 4))


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


def test_an_edit_in_a_transcript_holds_what_it_wrote() -> None:
    edit = {"file_path": "ci.yml", "old_string": "npm audit", "new_string": "npm audit || true"}
    use = {"type": "tool_use", "id": "t1", "name": "Edit", "input": edit}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "updated"}
    rows = [
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": "repair the pipeline"}},
        {"type": "assistant", "uuid": "2", "message": {"id": "m1", "role": "assistant", "content": [use]}},
        {"type": "user", "uuid": "3", "message": {"role": "user", "content": [result]}},
    ]
    turn = parse("\n".join(map(json.dumps, rows))).turns[1]
    assert (turn.call, turn.output) == ("Edit ci.yml\nnew_string: npm audit || true\n", "updated")


def test_other_text_has_no_turns() -> None:
    assert [
        text for text in ["", "\n\n", "[", "[1, 2]", "{}", "\x00\x01", "[" * 5000] if read(text) != []
    ] == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from([*ROLES, "role", "content", "How are you today?"]),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "turn", "x", "messages", "data", "prompt", "type", "tier"]),
            children,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=6))
def test_any_json_can_be_read(values: list[object]) -> None:
    text = "\n".join(json.dumps(value) for value in values)
    for conversation in parse_conversations(text.encode(), "t"):
        assert all(turn.role in ROLES for turn in conversation.turns)
