"""Grants in a session: how long and where they hold, how many saves they cover, and that damage is none."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.clock import now
from memory_plugin.kernel.fastjson import dumps
from memory_plugin.kernel.paths import Places, locate
from memory_plugin.kernel.state_file import session_file
from memory_plugin.memories import grants
from memory_plugin.memories.grants import (
    MOST_SAVES,
    SECONDS,
    grant,
    is_granted,
    revoke,
    take_saves,
    take_unshown,
    was_saved,
)
from memory_plugin.memories.save_requests import APPROVAL, SAVE
from tests.project import Project


def test_a_grant_holds_for_its_session_and_project_and_time(
    places: Places, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_granted(places, "s")
    grant(places, "s", SAVE)
    assert is_granted(places, "s")
    assert not is_granted(places, "other")
    assert not is_granted(locate(make_project().root), "s")
    later = now() + SECONDS + 1
    monkeypatch.setattr(grants, "now", lambda: later)
    assert not is_granted(places, "s")
    assert not take_saves(places, "s", 1)


def test_a_request_for_a_save_approves_of_no_other_command(places: Places) -> None:
    grant(places, "s", SAVE)
    assert not is_granted(places, "s", approval=True)
    grant(places, "s", APPROVAL)
    assert is_granted(places, "s", approval=True)
    assert take_saves(places, "s", 1)


def test_a_grant_covers_a_few_saves_and_ends_when_it_is_revoked(places: Places) -> None:
    grant(places, "s", SAVE)
    assert [take_saves(places, "s", 1) for _ in range(MOST_SAVES + 1)] == [True] * MOST_SAVES + [False]
    grant(places, "s", SAVE)
    assert not take_saves(places, "s", MOST_SAVES + 1)
    assert take_saves(places, "s", MOST_SAVES)
    grant(places, "s", SAVE)
    revoke(places, "s")
    revoke(places, "s")
    assert not take_saves(places, "s", 1)


def test_what_was_saved_is_handed_over_once(places: Places) -> None:
    assert take_unshown(places, "s") == []
    was_saved(places, "s", ["nobody asked"])
    grant(places, "s", SAVE)
    was_saved(places, "s", ["one"])
    was_saved(places, "s", ["two"])
    assert take_unshown(places, "s") == ["one", "two"]
    assert take_unshown(places, "s") == []
    assert is_granted(places, "s")


@pytest.mark.parametrize("until", [None, "x", True, 7, 1e300, -1.0, [1.0]], ids=str)
@pytest.mark.parametrize("left", [3, None, "3", -1, 4, [1]], ids=str)
def test_an_odd_grant_is_none(places: Places, until: object, left: object) -> None:
    grant(places, "s", SAVE)
    with open(session_file(places, "s", "grant"), "w", encoding="ascii") as file:
        file.write(dumps({"project": places.project_key, "until": until, "left": left, "unshown": 7}))
    assert not is_granted(places, "s")
    assert take_unshown(places, "s") == []


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"x" * 100_000])
def test_a_damaged_grant_is_none(places: Places, content: bytes) -> None:
    grant(places, "s", SAVE)
    with open(session_file(places, "s", "grant"), "wb") as file:
        file.write(content)
    assert not is_granted(places, "s")
    assert not take_saves(places, "s", 1)


def test_a_session_id_chooses_no_path(places: Places) -> None:
    grant(places, "../../../evil\0\ud800", SAVE)
    assert is_granted(places, "../../../evil\0\ud800")
    assert len(os.listdir(places.state("sessions"))) == 1
