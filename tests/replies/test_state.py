"""What a session keeps between its hooks."""

from __future__ import annotations

import json
import os

import pytest

from memory_plugin.kernel.paths import Places
from memory_plugin.replies.state import SessionState


def test_a_correction_is_said_once(places: Places) -> None:
    state = SessionState(places, "s")
    assert not state.waits()
    state.leave_correction("d1", "old", 24)
    state.leave_correction("d2", "new", 24)
    assert state.waits()
    assert [state.take_correction() for _ in range(2)] == [("d2", "new"), ("", "")]


def test_sessions_do_not_see_each_other(places: Places) -> None:
    SessionState(places, "one").leave_correction("d", "text", 24)
    assert SessionState(places, "other").take_correction() == ("", "")
    assert SessionState(places, "one").take_correction() == ("d", "text")


@pytest.mark.parametrize("hours", [0, -1])
def test_what_is_too_old_is_not_said(places: Places, hours: float) -> None:
    state = SessionState(places, "s")
    state.leave_correction("d", "text", hours)
    assert state.take_correction() == ("", "")
    assert not state.waits()


def test_a_newer_reply_makes_a_correction_void(places: Places) -> None:
    state = SessionState(places, "s")
    state.drop_correction()
    state.leave_correction("d", "text", 24)
    state.drop_correction()
    assert not state.waits()


def test_replies_are_counted(places: Places) -> None:
    state = SessionState(places, "s")
    assert (state.replies(), state.count_reply(), state.count_reply(), state.replies()) == (0, 1, 2, 2)


def test_the_judge_is_switched_off_for_one_session(places: Places) -> None:
    SessionState(places, "s").switch_judge_off("no_key")
    assert SessionState(places, "s").judge_is_off()
    assert not SessionState(places, "t").judge_is_off()


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"text": 3, "drift": "d", "left": 1.0, "hours": 1}', b"\xff", b'{"left": null}'],
)
def test_a_damaged_file_says_nothing(places: Places, content: bytes) -> None:
    state = SessionState(places, "s")
    state.leave_correction("d", "text", 24)
    folder = places.state("sessions")
    (name,) = os.listdir(folder)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
    assert state.take_correction() == ("", "")


def test_files_are_the_users_alone_and_hold_no_session_id(places: Places) -> None:
    SessionState(places, "very-secret-session").leave_correction("d", "text", 24)
    (name,) = os.listdir(places.state("sessions"))
    path = os.path.join(places.state("sessions"), name)
    assert os.stat(path).st_mode & 0o077 == 0
    with open(path, encoding="ascii") as file:
        assert "very-secret-session" not in name + json.dumps(json.load(file))
