"""Grants in a session: whose prompt issues them, how long and where they are valid, and how many saves they cover."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from memory_plugin.kernel.context import now
from memory_plugin.kernel.fastjson import dumps
from memory_plugin.kernel.paths import Paths, session_file, write_state
from memory_plugin.memories import grants
from memory_plugin.memories.grants import (
    MAX_SAVES,
    SECONDS,
    grant,
    record_saves,
    revoke,
    take_unshown_saves,
    use_saves,
)
from tests.project import Project

TYPED: dict[str, Any] = {"promptSource": "typed", "origin": {"kind": "human"}}


@pytest.fixture
def transcript(paths: Paths) -> str:
    """Return a transcript with a typed prompt of the id "p"."""
    path = os.path.join(str(paths.config_dir), "session.jsonl")
    row = {"type": "user", "promptId": "p", "message": {"role": "user", "content": "Remember that."}, **TYPED}
    with open(path, "w", encoding="utf-8") as file:
        file.write(dumps(row) + "\n")
    return path


def test_a_grant_is_valid_for_its_session_project_and_time(
    paths: Paths, transcript: str, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not use_saves(paths, "s", 1)
    grant(paths, "s", "p", transcript)
    assert not use_saves(paths, "other", 1)
    assert not use_saves(Paths(make_project().root), "s", 1)
    assert use_saves(paths, "s", 1)
    later = now() + SECONDS + 1
    monkeypatch.setattr(grants, "now", lambda: later)
    assert not use_saves(paths, "s", 1)


@pytest.mark.parametrize(
    ("prompt", "has_transcript"),
    [("other", True), ("", True), ("p", False)],
    ids=["other", "none", "no file"],
)
def test_a_prompt_that_the_transcript_does_not_call_typed_grants_nothing(
    paths: Paths, transcript: str, prompt: str, *, has_transcript: bool
) -> None:
    grant(paths, "s", prompt, transcript if has_transcript else "")
    assert not use_saves(paths, "s", 1)


def test_a_grant_covers_a_few_saves_and_ends_when_it_is_revoked(paths: Paths, transcript: str) -> None:
    grant(paths, "s", "p", transcript)
    assert [use_saves(paths, "s", 1) for _ in range(MAX_SAVES + 1)] == [True] * MAX_SAVES + [False]
    grant(paths, "s", "p", transcript)
    assert not use_saves(paths, "s", MAX_SAVES + 1)
    assert use_saves(paths, "s", MAX_SAVES)
    grant(paths, "s", "p", transcript)
    revoke(paths, "s")
    revoke(paths, "s")
    assert not use_saves(paths, "s", 1)


def test_each_save_is_shown_once(paths: Paths, transcript: str) -> None:
    record_saves(paths, "s", ["before the grant"])
    grant(paths, "s", "p", transcript)
    record_saves(paths, "s", ["one"])
    record_saves(paths, "s", ["two"])
    assert take_unshown_saves(paths, "s") == ["before the grant", "one", "two"]
    assert take_unshown_saves(paths, "s") == []
    assert use_saves(paths, "s", MAX_SAVES)
    record_saves(paths, "s", ["three"])
    revoke(paths, "s")
    assert take_unshown_saves(paths, "s") == ["three"]


@pytest.mark.parametrize(
    "state",
    [{}, {"until": "x"}, {"until": 1e300}, {"until": 0.0}, {"left": 4}, {"left": "3"}, {"project": "x"}],
    ids=str,
)
def test_a_damaged_grant_grants_nothing(paths: Paths, transcript: str, state: dict[str, object]) -> None:
    whole = {
        "project": paths.project_key,
        "until": now() + 9,
        "left": 3,
        "prompt": "p",
        "transcript": transcript,
    }
    path = session_file(paths, "s", grants.PART)
    write_state(path, whole)
    assert use_saves(paths, "s", 1)
    write_state(path, {**whole, **state} if state else {})
    assert use_saves(paths, "s", 4 if state.get("left") == 4 else 1) is False
