"""Capture stores, injects and sends nothing without approval, however it runs and whatever the state folder contains."""

from __future__ import annotations

import json
import os
from typing import Callable

import pytest

from memory_plugin.kernel.paths import Paths
from tests.hooks.test_capture import CORRECTION, failing_session, stored
from tests.project import SESSION, Project
from tests.replies.builders import PLAIN, assistant_record, user_record, write_transcript

DECISION = "we decided to keep the sessions in Redis"


def capture_file(project: Project) -> str:
    """Return the path of the project's candidates."""
    return os.path.join(project.state, "capture", Paths(project.root).project_key + ".json")


def nothing(project: Project) -> None:
    """Leave the state folder as it is."""


def a_file_for_the_folder(project: Project) -> None:
    os.makedirs(project.state, exist_ok=True)
    with open(os.path.join(project.state, "capture"), "w", encoding="utf-8") as file:
        file.write("no folder")


def a_folder_for_the_file(project: Project) -> None:
    os.makedirs(capture_file(project))


def a_folder_for_the_lock(project: Project) -> None:
    os.makedirs(capture_file(project) + ".lock")


def a_pipe_for_the_file(project: Project) -> None:
    os.makedirs(os.path.dirname(capture_file(project)))
    os.mkfifo(capture_file(project))


def a_link_into_the_store(project: Project) -> None:
    os.makedirs(os.path.dirname(capture_file(project)))
    os.symlink(os.path.join(project.root, "target.json"), capture_file(project))


def damaged_candidates(project: Project) -> None:
    os.makedirs(os.path.dirname(capture_file(project)))
    with open(capture_file(project), "w", encoding="utf-8") as file:
        file.write(
            '{"open": [{"id": "c-0123456789", "kind": "rule", "origin": {"session": 3}}, 7], "closed": 1}'
        )


FAULTS = [
    nothing,
    a_file_for_the_folder,
    a_folder_for_the_file,
    a_folder_for_the_lock,
    a_pipe_for_the_file,
    a_link_into_the_store,
    damaged_candidates,
]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault.__name__))
def test_nothing_is_stored_injected_or_sent_without_approval(
    project: Project, fault: Callable[[Project], None]
) -> None:
    project.write_settings(capture={"mode": "ask"})
    fault(project)
    path = failing_session(project, SESSION)
    with open(path, "ab") as file:
        rows = [
            user_record(CORRECTION),
            assistant_record(PLAIN),
            user_record(DECISION),
            assistant_record("Done."),
        ]
        file.writelines(json.dumps(row).encode() + b"\n" for row in rows)
    told = [
        project.prompt(CORRECTION).context,
        project.prompt("How are sessions kept?", session_id="next").context,
    ]
    for event in ("Stop", "PreCompact", "SessionEnd"):
        fields = {"last_assistant_message": PLAIN, "prompt_id": "p1", "reason": "other", "trigger": "auto"}
        run = project.hook(event, project.event(event, transcript_path=path, **fields))
        assert (run.returncode, run.stdout) == (0, "")
    request = json.dumps({"event": "SessionEnd", "session": SESSION, "transcript": path})
    for words, stdin in (
        (["background"], request),
        (["capture", path], ""),
        (["review"], ""),
    ):
        for inside in (False, True):
            assert "a bug in memory" not in project.cli(*words, stdin=stdin, inside=inside).stderr
    assert project.start().returncode == 0
    assert stored(project) == []
    assert all("Redis" not in context and "mock" not in context for context in told)
    assert not os.path.exists(os.path.join(project.root, "target.json"))
    assert project.ledger("judge-calls") == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"[]\n{}\n",
        b'{"type":"user","message":{"content":' + b"[" * 5000 + b"\n",
        b"{" * 10_000,
    ],
    ids=["empty", "no text", "no rows", "deep", "open"],
)
def test_a_hostile_transcript_yields_no_candidates(project: Project, content: bytes) -> None:
    path = os.path.join(project.config, "projects", "p", "s.jsonl")
    write_transcript(path, content)
    run = project.cli("capture", path, "--json")
    assert run.returncode == 0
    assert run.json["open"] == 0
    assert stored(project) == []
