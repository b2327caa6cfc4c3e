"""State between hooks: corrections, counts, and the reminder of `memory replies tune`."""

from __future__ import annotations

import json
import os

import pytest

from memory_plugin.kernel.context import Deadline, now
from memory_plugin.kernel.paths import Paths, session_file, write_state
from memory_plugin.replies import ReplyState, count_judged, reset_tuning_reminder, tuning_reminder
from memory_plugin.replies.gate import run_steps
from tests.replies.builders import correction_is_pending


def test_a_correction_is_taken_once(paths: Paths) -> None:
    state = ReplyState(paths, "s")
    assert not correction_is_pending(paths, "s")
    state.save_correction("d1", "old", 24)
    state.save_correction("d2", "new", 24)
    assert correction_is_pending(paths, "s")
    assert [state.take_correction(Deadline(5)) for _ in range(2)] == [("d2", "new"), ("", "")]


def test_sessions_do_not_see_each_other(paths: Paths) -> None:
    ReplyState(paths, "one").save_correction("d", "text", 24)
    assert ReplyState(paths, "other").take_correction(Deadline(5)) == ("", "")
    assert ReplyState(paths, "one").take_correction(Deadline(5)) == ("d", "text")


@pytest.mark.parametrize("hours", [0, -1])
def test_an_old_correction_is_dropped(paths: Paths, hours: float) -> None:
    state = ReplyState(paths, "s")
    state.save_correction("d", "text", hours)
    assert state.take_correction(Deadline(5)) == ("", "")
    assert not correction_is_pending(paths, "s")


def test_a_newer_reply_discards_the_correction(paths: Paths) -> None:
    state = ReplyState(paths, "s")
    state.discard_correction()
    state.save_correction("d", "text", 24)
    state.discard_correction()
    assert not correction_is_pending(paths, "s")


def test_replies_are_counted(paths: Paths) -> None:
    state = ReplyState(paths, "s")
    state.count_reply("+")
    state.count_reply("+-")
    assert (state.replies(), state.recent()) == (2, "+-")
    assert (ReplyState(paths, "t").replies(), ReplyState(paths, "t").recent()) == (0, "")


def test_the_judge_is_disabled_for_one_session(paths: Paths) -> None:
    assert [ReplyState(paths, "s").disable_judge("no_key") for _ in range(2)] == [True, False]
    assert ReplyState(paths, "s").is_judge_disabled()
    assert not ReplyState(paths, "t").is_judge_disabled()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b'{"text": 3, "drift": "d", "left": 1.0, "hours": 1}',
        b"\xff",
        b'{"left": null}',
        b'{"awaited": "x"}',
    ],
)
def test_a_damaged_file_counts_as_none(paths: Paths, content: bytes) -> None:
    state = ReplyState(paths, "s")
    state.save_correction("d", "text", 24)
    folder = paths.state("sessions")
    (name,) = os.listdir(folder)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
    assert state.take_correction(Deadline(5)) == ("", "")


@pytest.mark.parametrize("value", ["2026", None, [1], {}, True, -0.5])
def test_a_count_of_another_type_starts_again(paths: Paths, value: object) -> None:
    state = ReplyState(paths, "s")
    state.count_reply()
    write_state(session_file(paths, "s", "count"), {"replies": value})
    state.count_reply()
    assert state.replies() == 1
    write_state(paths.state("tuning.json"), {"judged": value, "since": value, "said": value})
    count_judged(paths)
    assert tuning_reminder(paths) == ""


def test_files_are_private_and_name_no_session(paths: Paths) -> None:
    ReplyState(paths, "very-secret-session").save_correction("d", "text", 24)
    (name,) = os.listdir(paths.state("sessions"))
    path = os.path.join(paths.state("sessions"), name)
    assert os.stat(path).st_mode & 0o077 == 0
    with open(path, encoding="ascii") as file:
        assert "very-secret-session" not in name + json.dumps(json.load(file))


def test_the_tuning_reminder_comes_once_a_week_has_passed(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tuning_reminder(paths) == ""
    for _ in range(20):
        count_judged(paths)
    assert tuning_reminder(paths) == ""
    next_week = now() + 8 * 86400
    monkeypatch.setattr("memory_plugin.replies.now", lambda: next_week)
    assert "scored 20 replies. To adjust" in tuning_reminder(paths)
    assert tuning_reminder(paths) == ""
    reset_tuning_reminder(paths)
    assert tuning_reminder(paths) == ""


def test_no_tuning_reminder_for_few_judged_replies(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(19):
        count_judged(paths)
    next_week = now() + 8 * 86400
    monkeypatch.setattr("memory_plugin.replies.now", lambda: next_week)
    assert tuning_reminder(paths) == ""


def test_state_that_cannot_be_saved_says_so(paths: Paths) -> None:
    os.makedirs(paths.state())
    with open(paths.state("sessions"), "wb"):
        pass
    (error,) = run_steps(lambda: ReplyState(paths, "s").save_correction("d", "text", 24))
    assert str(error).startswith("the session's state was not saved: ")
    assert str(paths.state()) not in str(error)


def test_every_step_runs() -> None:
    done: list[int] = []

    def fail() -> None:
        raise OSError("full")

    errors = run_steps(fail, lambda: done.append(1), fail)
    assert ([str(error) for error in errors], done) == (["full", "full"], [1])


def test_a_prompt_waits_for_a_reply_that_is_being_scored(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, waits = ReplyState(paths, "s"), iter((None, lambda: state.save_correction("d", "text", 24)))
    monkeypatch.setattr("memory_plugin.replies.sleep", lambda _: (next(waits) or str)())
    state.await_score()
    assert state.take_correction(Deadline(5)) == ("d", "text")
    assert next(waits, "none") == "none"


@pytest.mark.parametrize(
    ("age", "most", "left"), [(0.0, 0.05, 60.0), (0.0, 60.0, 0.05), (11.0, 60.0, 60.0), (-5.0, 60.0, 60.0)]
)
def test_a_prompt_does_not_wait_for_long(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, age: float, most: float, left: float
) -> None:
    state, begun = ReplyState(paths, "s"), now()
    monkeypatch.setattr("memory_plugin.replies._WAIT", most)
    state.await_score()
    monkeypatch.setattr("memory_plugin.replies.now", lambda: begun + age)
    asked = Deadline(left)
    assert state.take_correction(asked) == ("", "")
    assert asked.elapsed_ms() < 20_000
    assert not correction_is_pending(paths, "s")
