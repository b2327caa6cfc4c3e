"""Grants in a session: how long and where they are valid, how many saves they cover, and that damage grants nothing."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.clock import now
from memory_plugin.kernel.fastjson import dumps
from memory_plugin.kernel.paths import Paths, locate
from memory_plugin.kernel.state_file import session_file
from memory_plugin.memories import grants
from memory_plugin.memories.grants import (
    MAX_SAVES,
    SECONDS,
    grant,
    is_granted,
    record_saves,
    revoke,
    take_unshown_saves,
    use_saves,
)
from memory_plugin.memories.save_requests import APPROVAL, SAVE
from tests.project import Project


def test_a_grant_is_valid_for_its_session_project_and_time(
    paths: Paths, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_granted(paths, "s")
    grant(paths, "s", SAVE)
    assert is_granted(paths, "s")
    assert not is_granted(paths, "other")
    assert not is_granted(locate(make_project().root), "s")
    later = now() + SECONDS + 1
    monkeypatch.setattr(grants, "now", lambda: later)
    assert not is_granted(paths, "s")
    assert not use_saves(paths, "s", 1)


def test_a_request_for_a_save_approves_of_no_other_command(paths: Paths) -> None:
    grant(paths, "s", SAVE)
    assert not is_granted(paths, "s", approval=True)
    grant(paths, "s", APPROVAL)
    assert is_granted(paths, "s", approval=True)
    assert use_saves(paths, "s", 1)


def test_a_grant_covers_a_few_saves_and_ends_when_it_is_revoked(paths: Paths) -> None:
    grant(paths, "s", SAVE)
    assert [use_saves(paths, "s", 1) for _ in range(MAX_SAVES + 1)] == [True] * MAX_SAVES + [False]
    grant(paths, "s", SAVE)
    assert not use_saves(paths, "s", MAX_SAVES + 1)
    assert use_saves(paths, "s", MAX_SAVES)
    grant(paths, "s", SAVE)
    revoke(paths, "s")
    revoke(paths, "s")
    assert not use_saves(paths, "s", 1)


def test_unshown_saves_are_returned_once(paths: Paths) -> None:
    assert take_unshown_saves(paths, "s") == []
    record_saves(paths, "s", ["nobody asked"])
    grant(paths, "s", SAVE)
    record_saves(paths, "s", ["one"])
    record_saves(paths, "s", ["two"])
    assert take_unshown_saves(paths, "s") == ["one", "two"]
    assert take_unshown_saves(paths, "s") == []
    assert is_granted(paths, "s")


@pytest.mark.parametrize("until", [None, "x", True, 7, 1e300, -1.0, [1.0]], ids=str)
@pytest.mark.parametrize("left", [3, None, "3", -1, 4, [1]], ids=str)
def test_an_odd_grant_is_none(paths: Paths, until: object, left: object) -> None:
    grant(paths, "s", SAVE)
    with open(session_file(paths, "s", "grant"), "w", encoding="ascii") as file:
        file.write(dumps({"project": paths.project_key, "until": until, "left": left, "unshown": 7}))
    assert not is_granted(paths, "s")
    assert take_unshown_saves(paths, "s") == []


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"x" * 100_000])
def test_a_damaged_grant_is_none(paths: Paths, content: bytes) -> None:
    grant(paths, "s", SAVE)
    with open(session_file(paths, "s", "grant"), "wb") as file:
        file.write(content)
    assert not is_granted(paths, "s")
    assert not use_saves(paths, "s", 1)


def test_a_session_id_chooses_no_path(paths: Paths) -> None:
    grant(paths, "../../../evil\0\ud800", SAVE)
    assert is_granted(paths, "../../../evil\0\ud800")
    assert len(os.listdir(paths.state("sessions"))) == 1
