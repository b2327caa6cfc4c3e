"""What a session was told is not told again, until it changes, the context is emptied or many turns have passed."""

from __future__ import annotations

import os

import pytest

from memory_plugin.recall.history import RecallHistory, forget_session
from tests.project import Project
from tests.recall.store_files import ASK, BODY, TITLE, TOLD, at_home, last, memory, no_threshold, put


@pytest.fixture
def recalling(project: Project) -> Project:
    """Return a project whose one memory answers ASK."""
    no_threshold(project)
    project.save(TITLE, BODY)
    return project


def test_a_text_is_known_for_so_many_turns(project: Project) -> None:
    with at_home(project) as places:
        told = RecallHistory(places, "s")
        told.note_injected("key", "text")
        told.save()
        for turn in range(2, 6):
            told = RecallHistory(places, "s")
            assert (told.turn, told.was_injected("key", "text", 4)) == (turn, turn < 5)
            assert not told.was_injected("key", "another text", 4)
            assert not told.was_injected("another key", "text", 4)
            told.save()


def test_a_session_that_was_told_nothing_leaves_nothing(project: Project) -> None:
    with at_home(project) as places:
        RecallHistory(places, "s").save()
        assert not os.path.exists(places.state("sessions"))
        forget_session(places, "s")


@pytest.mark.parametrize("session", ["../../x", "a/b", "\ud800", "x" * 1000, "."])
def test_a_session_is_no_path(project: Project, session: str) -> None:
    with at_home(project) as places:
        told = RecallHistory(places, session)
        told.note_injected("key", "text")
        told.save()
        assert RecallHistory(places, session).was_injected("key", "text", 9)
        (name,) = os.listdir(places.state("sessions"))
        assert len(name) == 16 + len(".json")


def test_a_session_is_told_once(recalling: Project) -> None:
    assert TOLD in recalling.prompt(ASK).context
    assert recalling.prompt(ASK).stdout == ""
    assert (last(recalling)["outcome"], last(recalling)["reason"]) == ("silent", "already_injected")
    assert TOLD in recalling.prompt(ASK, session_id="another").context


def test_a_change_is_told_again(recalling: Project) -> None:
    put(recalling, "port", memory("The port of the ledger proxy", "It listens on 7777."))
    question = "Which port does the ledger proxy listen on?"
    assert "7777" in recalling.prompt(question).context
    put(recalling, "port", memory("The port of the ledger proxy", "It listens on 8888."))
    assert "8888" in recalling.prompt(question).context


@pytest.mark.parametrize(
    ("source", "again"),
    [("compact", True), ("clear", True), ("resume", False), ("startup", False), (7, False)],
)
def test_an_emptied_context_is_told_again(recalling: Project, source: str, *, again: bool) -> None:
    assert TOLD in recalling.prompt(ASK).context
    assert recalling.start(source).returncode == 0
    assert (TOLD in recalling.prompt(ASK).context) == again


def test_after_many_turns_it_is_told_again(recalling: Project) -> None:
    """Turns count that were looked up, whether or not they were told anything."""
    no_threshold(recalling, repeat_after_turns=4)
    assert TOLD in recalling.prompt(ASK).context
    for question in (
        "write a haiku about the sea please",
        "ok",
        ASK,
        "explain how a rainbow forms in the sky",
    ):
        assert recalling.prompt(question).stdout == ""
    assert TOLD in recalling.prompt(ASK).context
