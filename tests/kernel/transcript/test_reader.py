"""The reader groups rows into turns, for all client versions, in bounded memory, and never raises."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.files import Unreadable
from memory_plugin.kernel.text import tokens_of
from memory_plugin.kernel.transcript import kind_and_text, kind_of
from memory_plugin.kernel.transcript import reader as reader_module
from memory_plugin.kernel.transcript.reader import Reader, open_transcript, turns_since_prompt
from memory_plugin.kernel.transcript.turn import Totals, Turn
from tests.kernel.transcript.rows import answer, call, lines, result, row, text_block, user
from tests.project import PLUGIN_ROOT

with open(os.path.join(PLUGIN_ROOT, "config", "transcript", "beginnings.json"), encoding="utf-8") as _file:
    BEGINNINGS = json.load(_file)["beginnings"]


def read(data: bytes) -> tuple[list[Turn], Totals]:
    reader = Reader(io.BytesIO(data))
    return list(reader), reader.totals


def test_a_turn_is_one_answer_with_the_texts_before_it_and_the_results_of_its_calls() -> None:
    turns, totals = read(
        lines(
            user("Fix the test"),
            answer("m1", text_block("I look.")),
            answer("m1", call("c1", command="pytest")),
            result("c1", "1 failed", failed=True),
            answer("m2", text_block("Fixed.")),
            user("Thanks"),
        )
    )
    assert [(turn.number, turn.prompt, turn.texts, turn.answered) for turn in turns] == [
        (1, "Fix the test", ["I look."], True),
        (2, "", ["Fixed."], True),
        (3, "Thanks", [], False),
    ]
    (made,) = turns[0].calls
    assert (made.name, made.text("command"), made.result, made.failed) == ("Bash", "pytest", "1 failed", True)
    assert (totals.session, totals.folder, totals.turns) == ("s1", "/p", 3)


def test_usage_counts_once_a_message_and_takes_the_last_figure_of_its_output() -> None:
    small, large = (
        {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": n} for n in (1, 40)
    )
    rows = [
        answer("m1", text_block("a"), usage=small),
        answer("m1", call("c1"), usage=large),
        result("c1"),
        answer("m2", usage=small),
    ]
    _, totals = read(lines(user("x"), *rows))
    assert totals.usage == {
        "input_tokens": 200, "output_tokens": 41, "cache_read_input_tokens": 1800, "cache_creation_input_tokens": 0,
    }  # fmt: skip
    assert totals.context == 1000


def test_calls_side_by_side_whose_results_come_between_their_rows_are_one_turn() -> None:
    turns, _ = read(
        lines(user("x"), answer("m1", call("c1")), result("c1"), answer("m1", call("c2")), result("c2"))
    )
    assert [[made.result for made in turn.calls] for turn in turns] == [["ok", "ok"]]


def test_a_result_that_comes_after_the_next_answer_is_late_and_keeps_its_turn() -> None:
    turns, _ = read(
        lines(
            user("x"),
            answer("m1", call("c1")),
            answer("m2", text_block("y")),
            result("c1", "late"),
            answer("m3", call("c9")),
        )
    )
    assert [(made.turn, made.result) for made in turns[1].late] == [(1, "late")]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="the rows as they are"),
        pytest.param({"sessionId": "s2"}, id="a resumed session: another session id"),
        pytest.param({"uuid": None, "sessionId": "s2"}, id="copied under no id"),
    ],
)
def test_copied_rows_count_once(change: dict[str, object]) -> None:
    rows = [
        user("Do it"),
        answer("m1", text_block("a"), call("c1")),
        result("c1"),
        answer("m2", text_block("done")),
    ]
    copies = [{key: value for key, value in {**one, **change}.items() if value is not None} for one in rows]
    once, _ = read(lines(*rows))
    turns, totals = read(lines(*rows, *copies))
    assert [(t.prompt, t.texts, len(t.calls)) for t in turns] == [
        (t.prompt, t.texts, len(t.calls)) for t in once
    ]
    assert totals.usage["input_tokens"] == 20


@pytest.mark.parametrize("entry", BEGINNINGS, ids=lambda entry: str(entry["id"]))
def test_rows_that_are_no_prompt(entry: dict[str, Any]) -> None:
    assert {kind_of(text) for text in entry["hit"]} == {entry["kind"]}
    assert {kind_of(text) for text in entry["miss"]} == {"prompt"}


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        pytest.param(user("Fix it"), "prompt", id="typed"),
        pytest.param(user([text_block("Fix it"), {"type": "image"}]), "prompt", id="typed with an image"),
        pytest.param(user("Do as the skill says", isMeta=True), "notice", id="put there by the client"),
        pytest.param(user("Long story", isCompactSummary=True), "summary", id="summary of a compaction"),
        pytest.param(user("<command-name>/init</command-name>"), "command", id="slash command"),
        pytest.param(
            user([text_block("[Request interrupted by user for tool use]")]), "interrupt", id="interrupt"
        ),
        pytest.param({**user(""), "message": "Fix it"}, "prompt", id="a message that is a text"),
    ],
)
def test_kinds_of_rows_in_the_users_place(one: dict[str, Any], kind: str) -> None:
    turns, _ = read(lines(one, answer("m1", text_block("ok"))))
    assert [entry.kind for entry in turns[0].user_texts] == [kind]


def test_a_command_has_its_name_and_arguments() -> None:
    text = "<command-message>x</command-message>\n<command-name>/memory:save</command-name>\n<command-args>use tabs</command-args>"
    assert kind_and_text({}, text) == ("command", "/memory:save use tabs")


def test_a_plan_that_claude_wrote_is_not_typed() -> None:
    turns, _ = read(lines(user("Implement the following plan: never commit", planContent="never commit")))
    assert [entry.untyped for entry in turns[0].user_texts] == [True]


def test_calls_of_claude_codes_tools_through_an_editor_have_their_names() -> None:
    turns, _ = read(lines(user("x"), answer("m1", call("c1", "mcp__acp__Bash", command="make"))))
    assert [(made.name, made.command) for made in turns[0].calls] == [("Bash", "make")]


def test_sub_agents_are_counted_aside_and_read_in_a_file_of_their_own() -> None:
    main = [user("x"), answer("m1", call("c1", "Task"))]
    side = [user("Look around", isSidechain=True), answer("m7", text_block("found"), isSidechain=True)]
    turns, totals = read(lines(*main, *side, result("c1")))
    assert (len(turns), totals.usage["input_tokens"]) == (1, 10)
    turns, _ = read(lines(*({**entry, "agentId": "a1"} for entry in side)))
    assert (turns[0].prompt, turns[0].texts) == ("Look around", ["found"])


def test_a_session_that_begins_with_an_inline_sub_agent_is_read() -> None:
    side = [user("Look around", isSidechain=True), answer("m7", text_block("found"), isSidechain=True)]
    turns, _ = read(lines(*side, user("Fix it"), answer("m1", text_block("Fixed."))))
    assert [(turn.prompt, turn.texts) for turn in turns] == [("Fix it", ["Fixed."])]


def test_summaries_of_compactions_are_no_prompts_and_api_errors_no_replies() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b"}
    failed = row(
        "assistant", [text_block("API Error: 529")], isApiErrorMessage=True, message={"model": "<synthetic>"}
    )
    rows = [
        answer("m1", text_block("a")),
        boundary,
        user("This session is being continued from a previous conversation"),
        failed,
        answer("m2"),
    ]
    turns, _ = read(lines(user("x"), *rows))
    assert [([text.kind for text in turn.user_texts], turn.texts) for turn in turns] == [
        (["prompt"], ["a"]),
        (["summary"], []),
    ]


ODD_CALL = {"type": "tool_use", "id": 5, "input": "x"}
ODD = [
    pytest.param(b"", 0, 0, id="empty"),
    pytest.param(b"\n\n \n", 0, 0, id="blank lines"),
    pytest.param(b'{not json}\n42\nnull\n[1]\n"x"\n', 0, 5, id="no objects"),
    pytest.param(b"\xef\xbb\xbf" + lines(user("Hi")), 1, 0, id="byte order mark"),
    pytest.param(lines(user("Hi")).replace(b"\n", b"\r\n"), 1, 0, id="CRLF"),
    pytest.param(lines(user("Hi"), user("cut"))[:-20], 1, 1, id="cut last line"),
    pytest.param(lines(user("Hi")) + b"\0" * 500, 1, 0, id="NUL bytes after a crash"),
    pytest.param(lines(user("Hi XX")).replace(b"XX", b"\xff\xfe"), 1, 0, id="bytes that are no UTF-8"),
    pytest.param(json.dumps(user("a\u2028b\u0085c"), ensure_ascii=False).encode() + b"\n", 1, 0, id="other line ends inside a text"),
    pytest.param(b"[" * 200_000 + b"\n" + lines(user("Hi")), 1, 1, id="nested too deeply"),
    pytest.param(lines({"type": "user"}, {"type": "assistant", "message": None}, {"type": 7}), 0, 0, id="rows without a message"),
    pytest.param(lines(user(None), user(7), user([None, 3, ["x"], {"type": "tool_result"}])), 0, 0, id="content of other types"),
    pytest.param(lines(answer("m", ODD_CALL, {"type": 9}, usage={"input_tokens": -1})), 0, 0, id="odd blocks"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "prompts", "bad"), ODD)
def test_odd_files(data: bytes, prompts: int, bad: int) -> None:
    turns, totals = read(data)
    assert (sum(bool(turn.prompt) for turn in turns), totals.bad) == (prompts, bad)


def test_a_line_above_the_bound_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "MAX_LINE", 2000)
    turns, totals = read(lines(user("a"), user("x" * 9000), user("b")))
    assert ([entry.text for entry in turns[0].user_texts], totals.bad) == (["a", "b"], 5)


NAMES = ["type", "id", "text", "content", "input", "name", "usage", "tool_use_id"]
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
JSON = st.recursive(
    LEAVES | st.sampled_from(["m1", "c1", "text", "tool_use", "tool_result", 1.5]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)
ROWS = st.dictionaries(
    st.sampled_from(
        [
            "type",
            "uuid",
            "message",
            "isSidechain",
            "timestamp",
            "toolUseResult",
            "isMeta",
            "subtype",
            "sessionId",
        ]
    ),
    JSON
    | st.sampled_from(["user", "assistant", "system"])
    | st.fixed_dictionaries({"content": JSON, "id": JSON, "usage": JSON}),
)


@given(st.lists(ROWS, max_size=8))
def test_any_rows_are_read_without_an_exception(rows: list[dict[str, Any]]) -> None:
    turns, _ = read(lines(*rows))
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))


def test_a_repeated_message_with_an_id_that_is_no_text_is_read() -> None:
    odd = answer("m1", {"type": "tool_use", "id": ["c1"], "name": "Bash", "input": {}})
    turns, _ = read(lines(answer("m1", text_block("a")), answer("m2", text_block("b")), odd))
    assert [len(turn.calls) for turn in turns] == [0, 0, 1]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    read(data)


@pytest.mark.slow
def test_memory_stays_flat() -> None:
    """Half a megabyte a turn, four hundred turns: what is held at a time does not grow with them."""

    def rows() -> Iterator[bytes]:
        for number in range(400):
            yield lines(
                answer("m%d" % number, call("c%d" % number, command="x" * 1000)),
                result("c%d" % number, "y" * 500_000),
            )

    class Endless(io.RawIOBase):
        def __init__(self) -> None:
            self.rest, self.source = b"", rows()

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:  # noqa: ANN401 (what the base class has)
            self.rest = self.rest or next(self.source, b"")
            taken, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
            buffer[: len(taken)] = taken
            return len(taken)

    file: IO[bytes] = io.BufferedReader(Endless(), 1 << 16)
    tracemalloc.start()
    assert sum(len(turn.calls) for turn in Reader(file)) == 400
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("word " * 100, 100, 260), ("\u4f60\u597d" * 100, 150, 400), ("", 0, 0)],
    ids=["prose", "Chinese", "none"],
)
def test_estimated_tokens(text: str, least: float, most: float) -> None:
    assert least <= tokens_of(text) <= most


def test_the_turns_since_the_last_prompt_come_from_the_tail(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    old = [one for n in range(200) for one in (user("old %d" % n), answer("o%d" % n, text_block("x" * 500)))]
    path.write_bytes(
        lines(*old, user("Now"), answer("m1", call("c1")), result("c1"), answer("m2", text_block("Done")))
    )
    turns = turns_since_prompt(str(path), 20_000)
    assert [(turn.prompt, len(turn.calls), turn.texts) for turn in turns] == [
        ("Now", 1, []),
        ("", 0, ["Done"]),
    ]
    assert turns_since_prompt(str(tmp_path / "missing.jsonl")) == []


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable):
        open_transcript(str(tmp_path / "pipe"))
    with pytest.raises(Unreadable):
        open_transcript(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        open_transcript(str(tmp_path / "nothing"))


def test_calls_of_a_script_count_like_others() -> None:
    """In Code Mode the model calls only REPL; the client adds a row of its own for each call that the script makes."""
    own = {"isVirtual": True, "ranByToolUseId": "r1"}
    virtual = row("assistant", [call("c1", command="pytest")], message={"model": "<synthetic>"}, **own)
    turns, _ = read(
        lines(
            user("Run the tests"),
            answer("m1", call("r1", "REPL", code="await Bash({command: 'pytest'})")),
            virtual,
            {**result("c1", "1 failed", failed=True), **own},
            result("r1", "done"),
            answer("m2", text_block("One fails.")),
        )
    )
    calls = [(made.name, made.result, made.failed) for turn in turns for made in turn.calls]
    assert calls == [("REPL", "done", False), ("Bash", "1 failed", True)]
    assert [turn.texts for turn in turns] == [[], ["One fails."]]
