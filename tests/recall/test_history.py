"""Nothing is injected twice in a session, unless it changed, the context was cleared or many turns have passed."""

from __future__ import annotations

import os
import threading

import pytest

from memory_plugin.kernel.files import Busy, FileLock
from memory_plugin.kernel.paths import Paths, session_file
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall import history as module
from memory_plugin.recall.history import (
    CATALOG,
    FAILURE,
    GUARD,
    TOOL,
    RecallHistory,
    forget_session,
    remaining_for_tools,
)
from tests.project import Project
from tests.recall.store_files import ASK, BODY, TITLE, TOLD, at_home, last, memory, no_threshold, put


@pytest.fixture
def recalling(project: Project) -> Project:
    """Return a project whose one memory answers ASK."""
    no_threshold(project)
    project.save(TITLE, BODY)
    return project


def test_texts_and_pointers_count_for_a_number_of_turns(project: Project) -> None:
    with at_home(project) as paths:
        history = RecallHistory(paths, "s")
        history.record_injected("key", "text")
        history.record_pointer("key", "line")
        history.save()
        for turn in range(2, 6):
            history = RecallHistory(paths, "s")
            counts = history.was_injected("key", "text", 4), history.was_pointed("key", "line", 4)
            assert (history.turn, *counts) == (turn, turn < 5, turn < 5)
            assert history.was_pointed("key", "line")
            assert not history.was_injected("key", "another text", 4)
            assert not history.was_injected("another key", "text", 4)
            history.save()


def tell(paths: Paths, place: str, key: str, agent: str = "") -> None:
    """Record that a place gave a full text and a pointer."""
    with RecallHistory(paths, "s", place, agent) as history:
        history.record_injected(key, "text")
        history.record_pointer(key + "-near", "line")


def test_places_share_the_injected_texts_and_have_separate_counts(project: Project) -> None:
    with at_home(project) as paths:
        tell(paths, CATALOG, "rule")
        tell(paths, TOOL, "one")
        tell(paths, TOOL, "two")
        tell(paths, FAILURE, "three")
        history = RecallHistory(paths, "s")
        assert all(history.was_injected(key, "text", 9) for key in ("rule", "one", "two", "three"))
        assert history.was_pointed("one-near", "line")
        assert (history.injected_counts(CATALOG), history.injected_counts(TOOL, FAILURE)) == ((1, 1), (3, 3))


def left(project: Project, paths: Paths, **settings: object) -> int:
    """Return what is left for tool calls under these settings."""
    project.write_settings(retrieval=settings)
    return remaining_for_tools(RecallHistory(paths, "s", TOOL), load(paths.config_dir, None))


def test_tool_calls_of_both_kinds_share_one_limit(project: Project) -> None:
    """A full text and a pointer count one each; what the other places said counts nothing."""
    with at_home(project) as paths:
        tell(paths, CATALOG, "rule")
        tell(paths, TOOL, "one")
        tell(paths, FAILURE, "two")
        assert left(project, paths, tool={"max_per_session": 9}) == 5
        assert left(project, paths, tool={"max_per_session": 3}) == 0
        assert left(project, paths, tool={"max_per_session": 0}) == 0
        assert left(project, paths, enabled=False) == 0


def test_only_prompts_are_turns(project: Project) -> None:
    with at_home(project) as paths:
        for turn in (1, 2, 3):
            tell(paths, TOOL, "key%d" % turn)
            history = RecallHistory(paths, "s")
            assert history.turn == turn
            history.save()
        assert RecallHistory(paths, "s", TOOL).turn == 3


def test_a_subagent_has_a_record_of_its_own(project: Project) -> None:
    """What a sub-agent is told reaches no other context; after a compaction of the session its context is still what it was."""
    with at_home(project) as paths:
        tell(paths, TOOL, "key", agent="a1")
        known = [
            RecallHistory(paths, "s", TOOL, agent).was_injected("key", "text", 9)
            for agent in ("", "a1", "a2")
        ]
        assert known == [False, True, False]
        tell(paths, TOOL, "key")
        forget_session(paths, "s")
        assert not RecallHistory(paths, "s", TOOL).was_injected("key", "text", 9)
        assert RecallHistory(paths, "s", TOOL, "a1").was_injected("key", "text", 9)


def test_parallel_tool_calls_lose_nothing_and_say_nothing_twice(project: Project) -> None:
    told: list[int] = []

    def call(paths: Paths, number: int) -> None:
        try:
            with RecallHistory(paths, "s", TOOL) as history:
                if not history.was_injected("shared", "text", 9):
                    told.append(number)
                    history.record_injected("shared", "text")
                history.record_injected("own%d" % number, "text")
        except Busy:
            return

    with at_home(project) as paths:
        threads = [threading.Thread(target=call, args=(paths, number)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        history = RecallHistory(paths, "s", TOOL)
        known = [number for number in range(12) if history.was_injected("own%d" % number, "text", 9)]
        assert len(told) == 1
        assert history.injected_counts(TOOL) == (len(known) + 1, 0)


def test_a_hook_without_the_lock_gets_busy_soon(project: Project) -> None:
    with at_home(project) as paths:
        tell(paths, TOOL, "key")
        waiting, prompt = RecallHistory(paths, "s", TOOL), RecallHistory(paths, "s")
        with FileLock(session_file(paths, "s"), 1.0):
            with pytest.raises(Busy), waiting:
                pytest.fail("entered without the lock")
            prompt.record_injected("other", "text")
            with pytest.raises(Busy):
                prompt.save()
        prompt.save()
        assert RecallHistory(paths, "s").was_injected("other", "text", 9)


def test_nothing_is_recorded_if_the_answer_fails(project: Project) -> None:
    def fail(history: RecallHistory) -> None:
        with history:
            history.record_injected("key", "text")
            raise KeyError

    with at_home(project) as paths:
        with pytest.raises(KeyError):
            fail(RecallHistory(paths, "s", TOOL))
        assert not RecallHistory(paths, "s").was_injected("key", "text", 9)
        tell(paths, TOOL, "key")  # the lock is free again


@pytest.mark.parametrize(
    "damage",
    [
        b'{"place": "tool", "inj',
        b"\xff\x00",
        b"[1]",
        b'{"place": 7}',
        b'{"place": "tool", "injected": [1], "pointed": 3}',
    ],
    ids=["cut off", "bytes", "a list", "no place", "other types"],
)
def test_damaged_rows_are_skipped(project: Project, damage: bytes) -> None:
    with at_home(project) as paths:
        tell(paths, TOOL, "before")
        with open(session_file(paths, "s"), "ab") as file:
            file.write(b"\n" + damage)
        tell(paths, TOOL, "after")
        history = RecallHistory(paths, "s")
        assert [history.was_injected(key, "text", 9) for key in ("before", "after")] == [True, True]


def test_a_record_that_is_too_large_to_read_starts_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a guard would deny every call for the rest of the session."""
    monkeypatch.setattr(module, "_MAX_BYTES", 400)
    with at_home(project) as paths:
        for number in range(20):
            tell(paths, GUARD, "key%d" % number)
            assert RecallHistory(paths, "s", GUARD).was_injected("key%d" % number, "text", 9)


def test_the_record_of_an_older_version_is_no_record(project: Project) -> None:
    with at_home(project) as paths:
        os.makedirs(paths.state("sessions"))
        with open(session_file(paths, "s"), "w", encoding="ascii") as file:
            file.write('{"turn": 3, "header": true, "injected": {"a": ["b", 2]}, "pointed": {"c": "d"}}')
        assert RecallHistory(paths, "s").turn == 1
        tell(paths, TOOL, "key")
        assert RecallHistory(paths, "s").was_injected("key", "text", 9)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_in_its_place_is_an_error_and_no_wait(project: Project) -> None:
    with at_home(project) as paths:
        os.makedirs(paths.state("sessions"))
        os.mkfifo(session_file(paths, "s"))
        with pytest.raises(OSError, match="not a regular file"):
            tell(paths, TOOL, "key")


def test_a_session_without_an_id_has_no_record(project: Project) -> None:
    with at_home(project) as paths:
        with RecallHistory(paths, "", TOOL) as history:
            history.record_injected("key", "text")
        assert not RecallHistory(paths, "").was_injected("key", "text", 9)
        assert not os.path.exists(paths.state("sessions"))


def test_a_session_without_injections_writes_nothing(project: Project) -> None:
    with at_home(project) as paths:
        RecallHistory(paths, "s").save()
        assert not os.path.exists(paths.state("sessions"))
        forget_session(paths, "s")


@pytest.mark.parametrize("session", ["../../x", "a/b", "\ud800", "x" * 1000, "."])
def test_a_session_is_no_path(project: Project, session: str) -> None:
    with at_home(project) as paths:
        told = RecallHistory(paths, session)
        told.record_injected("key", "text")
        told.save()
        assert RecallHistory(paths, session).was_injected("key", "text", 9)
        (name,) = os.listdir(paths.state("sessions"))
        assert len(name) == 16 + len(".json")


def test_a_memory_is_injected_once_in_a_session(recalling: Project) -> None:
    assert TOLD in recalling.prompt(ASK).context
    assert recalling.prompt(ASK).stdout == ""
    assert (last(recalling)["outcome"], last(recalling)["reason"]) == ("silent", "already_injected")
    assert TOLD in recalling.prompt(ASK, session_id="another").context


def test_a_changed_memory_is_injected_again(recalling: Project) -> None:
    put(recalling, "port", memory("The port of the ledger proxy", "It listens on 7777."))
    recalling.cli("accept", "port")
    question = "Which port does the ledger proxy listen on?"
    assert "7777" in recalling.prompt(question).context
    put(recalling, "port", memory("The port of the ledger proxy", "It listens on 8888."))
    recalling.cli("accept", "port")
    assert "8888" in recalling.prompt(question).context


@pytest.mark.parametrize(
    ("source", "again"),
    [("compact", True), ("clear", True), ("resume", False), ("startup", False), (7, False)],
)
def test_after_the_context_is_cleared_it_is_injected_again(
    recalling: Project, source: str, *, again: bool
) -> None:
    assert TOLD in recalling.prompt(ASK).context
    assert recalling.start(source).returncode == 0
    assert (TOLD in recalling.prompt(ASK).context) == again


def test_after_many_turns_it_is_injected_again(recalling: Project) -> None:
    """Turns count that were looked up, whether or not they were told anything."""
    no_threshold(recalling)
    assert TOLD in recalling.prompt(ASK).context
    for question in ("write a haiku about the sea please", "ok", *[ASK] * 38):
        assert recalling.prompt(question).stdout == ""
    assert TOLD in recalling.prompt(ASK).context
