"""Scoring one reply: its ledger record, collected errors, the request to grade it, and what is read from its transcript."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.records import Form, Records
from memory_plugin.replies import ReplyState
from memory_plugin.replies.judge import GradeMaterial, grade_question
from memory_plugin.replies.score import ReplyScorer, may_request_grade, read_last_reply, score_reply
from memory_plugin.replies.signals import USER_PACK
from tests.replies.builders import (
    PADDED,
    PLAIN,
    assistant_record,
    call_record,
    context,
    correction_is_pending,
    result_record,
    settings,
    user_record,
    write_transcript,
)


def test_the_record_has_the_score_and_quotes_nothing(paths: Paths) -> None:
    score, _, errors = score_reply(PADDED, context(paths), "p1")
    (row,) = Records(paths.state(), Form("scores", {}))
    assert (row["id"], row["padding_count"], row["gate"], row["turn"]) == (score.id, 3, "clear_drift", 1)
    assert "port" not in str(row)
    assert errors == []


def test_text_and_kind_come_from_the_transcript(paths: Paths) -> None:
    path = write_transcript(
        paths.state("t.jsonl"), user_record("Please rename the file."), assistant_record(PLAIN)
    )
    score, text, _ = score_reply("", context(paths), "p1", path)
    assert text == PLAIN
    assert score.query_type == "directive"


def test_errors_are_collected_and_every_step_runs(paths: Paths) -> None:
    os.makedirs(paths.state("scores.jsonl"))
    with open(paths.state(USER_PACK), "w", encoding="utf-8") as file:
        file.write("[]")
    _, _, errors = score_reply(PADDED, context(paths, holdout=0), "p1")
    assert [str(error).partition(":")[0] for error in errors] == [
        "your own rule pack is not used",
        "scores",
    ]
    assert [row["arm"] for row in Records(paths.state(), Form("drift", {}))] == ["corrected"]


def test_a_habit_of_several_replies_is_a_drift_of_the_session(paths: Paths) -> None:
    texts = [
        "Perfect! " + PLAIN,
        PLAIN,
        PLAIN + " Let me know if you need more.",
        "Great idea! " + PLAIN,
        PLAIN,
    ]
    drifts, pending = [], []
    for number, text in enumerate(texts):
        score, _, _ = score_reply(text, context(paths, holdout=0), "p%d" % number)
        drifts.append(list(score.drift))
        pending.append(correction_is_pending(paths, "s"))
    assert drifts == [[], [], [], ["session"], []]
    assert pending == [False, False, False, True, False]
    assert [(row["categories"], row["correction"]) for row in Records(paths.state(), Form("drift", {}))] == [
        (["session"], "session")
    ]


def test_a_draft_has_the_density_of_its_own_voice() -> None:
    text = "I would have been there with you if it had not been for all that was to be done by then. " * 6
    drifts = {
        prompt: list(ReplyScorer(settings(), None).score(text, prompt).drift)
        for prompt in ("Rename it.", "Write a letter.")
    }
    assert drifts == {"Rename it.": ["density"], "Write a letter.": []}


def test_filler_is_a_drift_in_a_language_without_density(paths: Paths) -> None:
    text = (
        "Sehr gute Frage! Der Port ist 80, und der Proxy fragt alle zehn Sekunden nach. %s Viel Erfolg damit!"
    )
    score, _, _ = score_reply(text % "Melde dich gerne, falls du Fragen hast.", context(paths, holdout=0))
    assert (score.density, score.gate, list(score.drift)) == (None, "other_language", ["padding"])
    assert correction_is_pending(paths, "s")


def test_a_judge_sees_the_beginning_and_the_end_of_a_very_long_reply(paths: Paths) -> None:
    text = "Great question! " + PLAIN * 400 + " Let me know if you need anything else."
    score, _, _ = score_reply(text, context(paths))
    assert [text[start:end] for start, end, _ in score.matches] == [
        "Great question",
        "Let me know if you need anything else",
    ]
    message = grade_question(GradeMaterial("code", "", [], text), ["SyA"]).message
    assert "Great question! " in message
    assert "Let me know if you need anything else." in message


def test_no_private_part_of_a_very_long_reply_is_sent(paths: Paths) -> None:
    text = PLAIN * 200 + "<private>" + PLAIN * 200 + "the code is 4711</private>"
    assert "4711" not in grade_question(GradeMaterial("code", "", [], text), ["SyA"]).message


@pytest.mark.parametrize("before", [2470, 2485])
@pytest.mark.parametrize("is_end", [False, True])
def test_no_half_of_a_secret_is_sent(paths: Paths, before: int, *, is_end: bool) -> None:
    secret = " ghp_" + "A1b2C3d4E5f6" * 3 + " "
    others = "\u597d" * (12_000 - before)
    parts = (others, secret, "\u597d" * before)
    text = "".join(parts if is_end else reversed(parts))
    message = grade_question(GradeMaterial("code", "", [], text), ["SyA"]).message
    assert "A1b2" not in message
    assert "E5f6" not in message


@pytest.mark.parametrize(
    ("values", "judges_off", "is_refused", "is_allowed"),
    [
        pytest.param({"mode": "hybrid"}, False, False, True, id="hybrid"),
        pytest.param({"mode": "shadow"}, False, False, False, id="another mode"),
        pytest.param({"mode": "hybrid"}, True, False, False, id="a project that sets addresses"),
        pytest.param({"mode": "hybrid"}, False, True, False, id="refused before"),
    ],
)
def test_when_a_judge_may_be_asked(
    paths: Paths, values: dict[str, object], judges_off: bool, is_refused: bool, is_allowed: bool
) -> None:
    if is_refused:
        ReplyState(paths, "s").disable_judge("http_401")
    assert may_request_grade(context(paths, **values), judges_off=judges_off) == is_allowed


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
    assert tail == ("two", "second", "m2")


def test_a_reply_that_lags_behind_has_the_model_of_the_turn_before(path: str) -> None:
    write_transcript(path, user_record("first"), assistant_record("one", "m1"), user_record("second"))
    tail = read_last_reply(path)
    assert (tail.model, tail.text, tail.prompt) == ("m1", "", "second")


def test_the_prompt_may_be_before_many_results(path: str) -> None:
    write_transcript(
        path,
        user_record("x"),
        *[result_record("y" * 90_000, str(n)) for n in range(30)],
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
            [user_record("new"), {"type": "last-prompt", "lastPrompt": "other"}],
            "new",
            id="a repeated prompt",
        ),
    ],
)
def test_the_prompt_that_a_reply_answers(path: str, rows: list[object], prompt: str) -> None:
    write_transcript(
        path, *rows, call_record("Read", {}), result_record("x"), assistant_record("said"), {"type": "system"}
    )
    tail = read_last_reply(path)
    assert (tail.prompt, tail.text) == (prompt, "said")


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


@pytest.mark.parametrize("lines", [40, 1500])
@pytest.mark.parametrize("place", range(0, 60_000, 6_000))
def test_no_part_of_a_private_key_is_sent(paths: Paths, place: int, lines: int) -> None:
    """Its first or last line may be in the middle, which is left out."""
    body = ("Zz09qRst" * 8 + "\n") * lines
    key = "-----BEGIN RSA PRIV%s\n%s-----END RSA PRIV%s\n" % ("ATE KEY-----", body, "ATE KEY-----")
    words = PLAIN * 400
    text = words[:place] + "\n" + key + words[place:60_000]
    assert "Zz09" not in grade_question(GradeMaterial("code", text, [], text), ["SyA"]).message
