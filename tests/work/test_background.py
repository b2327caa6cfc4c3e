"""The background refresh: one process at a time, with a minimum interval between two."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.kernel.files import FileLock
from memory_plugin.kernel.settings.load import load
from memory_plugin.memories.grants import record_saves
from memory_plugin.memories.tickets import issue_ticket, take_ticket
from memory_plugin.recall.index_file import index_path
from memory_plugin.work import background
from tests.project import Project
from tests.recall.store_files import at_home


def test_a_refresh_is_not_started_again_for_a_while(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def note(arguments: list[str]) -> bool:
        started.append(arguments)
        return True

    monkeypatch.setattr(background, "start", note)
    with at_home(project) as paths:
        assert background.start_refresh(paths)
        assert not background.start_refresh(paths)
        os.utime(index_path(paths) + ".started", (time.time() - 60, time.time() - 60))
        assert background.start_refresh(paths)
        os.utime(index_path(paths) + ".started", (time.time() + 3600, time.time() + 3600))
        assert background.start_refresh(paths), "a clock that was set back stops nothing"
    assert started == [["refresh", "--root", project.root]] * 3


def test_only_one_of_many_concurrent_callers_starts_a_refresh(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "start", lambda _: True)
    with at_home(project) as paths, ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(lambda _: background.start_refresh(paths), range(20))) == 1


def test_no_refresh_is_started_while_another_is_running(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "start", lambda _: True)
    with at_home(project) as paths:
        os.makedirs(os.path.dirname(index_path(paths)))
        with FileLock(index_path(paths) + ".lock", 0.0):
            assert not background.start_refresh(paths)


def test_a_missing_python_interpreter_raises_no_error(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with at_home(project) as paths:
        assert not background.start_refresh(paths)


@pytest.mark.parametrize(
    "who", ["", "person"], ids=["the transcript says nothing", "the command prints nothing"]
)
def test_what_the_user_allowed_is_awaited_only_until_the_deadline(
    project: Project, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    monkeypatch.setattr("memory_plugin.kernel.transcript.who_allowed", lambda *_: who)
    monkeypatch.setattr("memory_plugin.kernel.transcript.PERSON", "person")
    monkeypatch.setattr(background, "start", lambda *_: True)
    monkeypatch.setattr(background, "_OUTPUT_SECONDS", 60.0)
    with at_home(project) as paths:
        context = Context(paths, load(paths.config_dir, paths.project_root), Deadline(0.1), "s")
        number = issue_ticket(paths, "s", {"words": ["status"], "project": paths.project_key})
        assert take_ticket(paths, "s", number, ["status"])
        record_saves(paths, "s", ["saved"])
        lines = background.settle_deferred(context, wait=60.0)
    assert context.deadline.elapsed_ms() < 30_000
    assert lines == ["saved", *([background._STARTED % "status"] if who else [])]


def test_what_the_user_allowed_is_carried_out_even_if_no_line_can_be_taken(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("memory_plugin.kernel.transcript.who_allowed", lambda *_: "person")
    monkeypatch.setattr("memory_plugin.kernel.transcript.PERSON", "person")
    monkeypatch.setattr("memory_plugin.memories.grants.take_unshown_saves", busy)
    monkeypatch.setattr(background, "start", lambda *_: True)
    with at_home(project) as paths:
        context = Context(paths, load(paths.config_dir, paths.project_root), Deadline(0.1), "s")
        number = issue_ticket(paths, "s", {"words": ["status"], "project": paths.project_key})
        assert take_ticket(paths, "s", number, ["status"])
        assert background.settle_deferred(context) == [background._STARTED % "status"]
