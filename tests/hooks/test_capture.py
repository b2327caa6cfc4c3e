"""Capture through the hooks: a correction becomes a candidate, the next session start offers it, and nothing is stored."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from tests.project import SESSION, Project, Run
from tests.recall.store_files import memory, put
from tests.replies.builders import (
    PLAIN,
    assistant_record,
    call_record,
    result_record,
    user_record,
    write_transcript,
)

CORRECTION = "no, we never mock the database here"


def end_turn(project: Project, prompt: str, session: str = SESSION) -> Run:
    """Run the Stop hook after an answer to a prompt."""
    path = os.path.join(project.config, "projects", "p", session + ".jsonl")
    write_transcript(path, user_record(prompt), assistant_record(PLAIN))
    event = project.event("Stop", last_assistant_message=PLAIN, prompt_id="p1", stop_hook_active=False)
    return project.hook("Stop", {**event, "session_id": session, "transcript_path": path})


def captured(project: Project) -> list[dict[str, Any]]:
    """Return the open candidates after all background work has finished."""
    project.wait_for_background()
    folder = os.path.join(project.state, "capture")
    found: list[dict[str, Any]] = []
    names = [name for name in (os.listdir(folder) if os.path.isdir(folder) else []) if name.endswith(".json")]
    for name in [name for name in names if not name.endswith(".told.json")]:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found = json.load(file)["open"]
    return found


def stored(project: Project) -> list[str]:
    """Return the files of all stores."""
    roots = [os.path.join(project.root, ".claude", "memory"), os.path.join(project.config, "memory")]
    return [
        os.path.join(folder, name) for root in roots for folder, _, names in os.walk(root) for name in names
    ]


def test_a_correction_is_offered_once_at_the_next_session_start(project: Project) -> None:
    run = end_turn(project, CORRECTION)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    (found,) = captured(project)
    assert (found["quote"], found["title"], found["origin"]["session"]) == (
        CORRECTION,
        "We never mock the database here",
        SESSION,
    )
    line = project.start().json["systemMessage"]
    assert line == "memory: 1 suggestion from your last sessions. To decide: /memory:review"
    assert project.start().json is None
    assert stored(project) == []


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("why does the proxy drop hosts?", id="nothing lasting"),
        pytest.param("<private>%s</private> fix the test" % CORRECTION, id="private"),
        pytest.param(CORRECTION + " #nomem", id="opted out"),
        pytest.param("<task-notification>%s</task-notification>" % CORRECTION, id="not typed"),
    ],
)
def test_a_prompt_that_must_not_be_captured_leaves_no_candidate(project: Project, prompt: str) -> None:
    end_turn(project, prompt)
    assert captured(project) == []
    assert project.start().json is None


def test_a_project_can_disable_capture(project: Project) -> None:
    project.write(".claude/settings.json", {"memory": {"capture": {"mode": "off"}}})
    end_turn(project, CORRECTION)
    assert captured(project) == []


def test_a_project_cannot_enable_capture(project: Project) -> None:
    project.write_settings(capture={"mode": "off"})
    project.write(".claude/settings.json", {"memory": {"capture": {"mode": "review"}}})
    end_turn(project, CORRECTION)
    assert captured(project) == []


def test_no_offer_is_shown_if_the_user_disabled_offers(project: Project) -> None:
    project.write_settings(capture={"mode": "quiet"})
    end_turn(project, CORRECTION)
    assert captured(project)
    assert project.start().json is None


def test_secrets_are_not_written_to_any_file(project: Project) -> None:
    secret = "ghp_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7c"
    end_turn(project, "From now on use the token %s for the deploy." % secret)
    captured(project)
    for folder, _, names in os.walk(project.state):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert secret.encode() not in file.read(), name


def failing_session(project: Project, session: str) -> str:
    """Write a transcript in which a command failed, something was installed, and the same command passed."""
    path = os.path.join(project.config, "projects", "p", session + ".jsonl")
    records: list[object] = [user_record("start the worker")]
    runs = [
        ("docker compose run worker", "Exit code 1\nError: Cannot find module 'bullmq'", True),
        ("pnpm add bullmq --filter worker", "done", False),
        ("docker compose run worker", "worker ready", False),
    ]
    for number, (command, output, failed) in enumerate(runs):
        identity = "t%d" % number
        records += [
            call_record("Bash", {"command": command}, identity),
            result_record(output, identity, failed=failed),
        ]
    return write_transcript(path, *records, assistant_record("The worker runs."))


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompact"])
def test_a_solved_error_becomes_a_runbook_to_review(project: Project, event: str) -> None:
    path = failing_session(project, SESSION)
    started = time.monotonic()
    run = project.hook(event, project.event(event, transcript_path=path, reason="other", trigger="auto"))
    assert time.monotonic() - started < 8
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    (found,) = captured(project)
    assert (found["kind"], found["category"]) == ("solved_error", "runbook")
    assert found["title"] == "`docker compose run` fails: Error: Cannot find module 'bullmq'"
    assert "ran `pnpm add bullmq --filter worker`" in found["body"]
    assert stored(project) == []


def test_a_correction_made_in_two_sessions_is_marked_as_repeated(project: Project) -> None:
    end_turn(project, CORRECTION, "one")
    captured(project)
    end_turn(project, "never mock the database, please", "two")
    (found,) = captured(project)
    assert (found["kind"], found["sessions"]) == ("repeated", ["one", "two"])


def test_a_session_start_shows_at_most_two_lines(project: Project) -> None:
    put(project, "theirs", memory("Deploy on Fridays"))
    end_turn(project, CORRECTION)
    captured(project)
    lines = project.start().json["systemMessage"].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["memory", "memory"]
    assert "1 pending memory" in lines[0]
    assert "from your last sessions. To decide: /memory:review" in lines[1]


def test_claude_may_ask_once_per_session_if_the_user_allows_it(project: Project) -> None:
    project.write_settings(capture={"mode": "ask"})
    assert "save it only if they say yes" in project.prompt("no, use pnpm, not npm").context
    assert project.prompt("no, use tabs, not spaces").context == ""
    other = project.prompt("no, use tabs, not spaces", session_id="other")
    assert "tabs" not in other.context
    assert "save it only if they say yes" in other.context
    assert stored(project) == []


@pytest.mark.parametrize(
    ("mode", "prompt"),
    [
        ("review", "no, use pnpm, not npm"),
        ("off", "no, use pnpm, not npm"),
        ("ask", "fix the failing test"),
        ("ask", "no, use pnpm, not npm #nomem"),
        ("ask", "<private>use pnpm, not npm</private> fix it"),
    ],
)
def test_claude_is_told_nothing_if_asking_is_disabled_or_nothing_is_capturable(
    project: Project, mode: str, prompt: str
) -> None:
    project.write_settings(capture={"mode": mode})
    assert project.prompt(prompt).context == ""


def test_a_project_cannot_enable_asking(project: Project) -> None:
    project.write(".claude/settings.json", {"memory": {"capture": {"mode": "ask"}}})
    assert project.prompt("no, use pnpm, not npm").context == ""
