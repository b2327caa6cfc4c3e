"""`memory settle`: what the user allowed is carried out one by one, and requests are checked."""

from __future__ import annotations

import json

import pytest

from tests.project import SESSION, Project


def command_in(folder: str, *words: object) -> dict[str, object]:
    """Return a command that the user allowed in a folder."""
    return {"words": words, "folder": folder, "texts": []}


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(command_in("/gone", "status"), id="its folder is gone"),
        pytest.param(command_in("/", "status", "--help"), id="help"),
        pytest.param({"words": ["status"]}, id="no folder"),
        pytest.param(command_in("/", 5), id="no words"),
        pytest.param(5, id="no command"),
    ],
)
def test_a_command_that_fails_does_not_stop_the_next(project: Project, first: object) -> None:
    project.save("Loud", "Log every call.")
    commands = [first, command_in(project.root, "forget", "loud")]
    project.cli("settle", stdin=json.dumps({"session": SESSION, "commands": commands}))
    stop = project.hook("Stop", project.event("Stop", last_assistant_message="Done."))
    assert "forgotten: loud" in stop.message


@pytest.mark.parametrize(
    "request_", ['{"commands": []}', '{"commands": [{}]}', '{"session": 1, "commands": [{}]}', "[]", "{"]
)
def test_what_is_no_request_of_a_hook_is_a_usage_error(project: Project, request_: str) -> None:
    run = project.cli("settle", stdin=request_)
    assert (run.returncode, run.stderr) == (2, "memory: expected commands from a hook on standard input\n")
