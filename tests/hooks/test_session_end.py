"""SessionEnd returns at once and does nothing while grading is off; when it is on, a row follows soon, within the user's limits."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.kernel.transcript.rows import lines
from tests.project import SESSION, Project
from tests.sessions.bench import IDS, work
from tests.sessions.grades import reply

ON: dict[str, Any] = {
    "judge": {"backend": "scripted"},
    "sessions": {"judge": {"when": "ended"}},
}


def prepared(project: Project, settings: dict[str, Any], identity: str = SESSION, turns: int = 5) -> str:
    """Return the path of a transcript in a project with those settings and a script for the judge."""
    folder = os.path.join(project.config, "projects", "p")
    script = os.path.join(project.state, "judge")
    for made in (folder, script):
        os.makedirs(made, exist_ok=True)
    path = os.path.join(folder, identity + ".jsonl")
    with open(path, "wb") as file:
        file.write(
            lines(
                *({**row, "sessionId": identity, "cwd": project.root} for row in work(identity[-3:], turns))
            )
        )
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"memory": settings}, file)
    with open(os.path.join(script, "script.json"), "w", encoding="utf-8") as file:
        json.dump({"replies": [{"text": json.dumps(reply())}]}, file)
    return path


def end(project: Project, path: str, identity: str = SESSION, **env: str) -> float:
    """Return the seconds that the hook took."""
    event = project.event("SessionEnd", session_id=identity, transcript_path=path, reason="other")
    started = time.monotonic()
    run = project.hook("SessionEnd", event, **env)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    return time.monotonic() - started


def soon(found: Callable[[], object]) -> bool:
    """Whether something comes true within ten seconds."""
    for _ in range(200):
        if found():
            return True
        time.sleep(0.05)
    return False


def notes(project: Project) -> list[str]:
    folder = os.path.join(project.state, "grading", "ended")
    return os.listdir(folder) if os.path.isdir(folder) else []


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="nothing set"),
        pytest.param({**ON, "sessions": {"judge": {"when": "asked"}}}, id="a judge, but not automatic"),
    ],
)
def test_nothing_is_graded_until_the_user_turns_it_on(project: Project, settings: dict[str, Any]) -> None:
    end(project, prepared(project, settings))
    assert notes(project) == []
    assert not os.path.isdir(os.path.join(project.state, "grading"))


def test_a_session_is_graded_after_the_hook_has_returned(project: Project) -> None:
    assert end(project, prepared(project, ON)) < 8
    assert soon(lambda: project.ledger("sessions"))
    (row,) = project.ledger("sessions")
    assert (row["session"], row["scorer"]["automatic"], row["overall_quality"]) == (SESSION, True, 0.6233)
    assert soon(lambda: not notes(project))


@pytest.mark.parametrize(
    ("per_day", "turns"), [pytest.param(0, 5, id="the day's bound"), pytest.param(5, 4, id="too short")]
)
def test_a_session_outside_the_limits_is_not_graded(project: Project, per_day: int, turns: int) -> None:
    settings = {**ON, "sessions": {**ON["sessions"], "automatic": {"per_day": per_day}}}
    end(project, prepared(project, settings, turns=turns))
    assert soon(lambda: not notes(project))
    assert project.ledger("sessions") == []


def test_no_more_sessions_are_graded_than_the_daily_limit(project: Project) -> None:
    settings = {
        **ON,
        "sessions": {**ON["sessions"], "automatic": {"per_day": 2}},
    }
    for identity in IDS[:4]:
        end(project, prepared(project, settings, identity), identity)
        assert soon(lambda: not notes(project))
    assert len(project.ledger("sessions")) == 2


def test_a_session_left_behind_by_a_dead_process_is_graded_by_the_next_one(project: Project) -> None:
    first, second = (prepared(project, ON, identity) for identity in IDS[:2])
    folder = os.path.join(project.state, "grading", "ended")
    os.makedirs(folder)
    told = {"session": IDS[0], "transcript": first, "project": os.path.realpath(project.root)}
    for name, content in (
        ("a.json", json.dumps(told)),
        ("b.json", "{"),
        ("c.json", "[]"),
        ("d.json", json.dumps({**told, "project": "/other"})),
    ):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)
    end(project, second, IDS[1])
    assert soon(lambda: len(project.ledger("sessions")) == 2)
    assert {row["session"] for row in project.ledger("sessions")} == set(IDS[:2])


def test_a_projects_settings_cannot_turn_grading_on(project: Project) -> None:
    path = prepared(project, {**ON, "sessions": {"judge": {"when": "asked"}}})
    project.write(".claude/settings.json", {"memory": {"sessions": {"judge": {"when": "ended"}}}})
    end(project, path)
    assert notes(project) == []


def test_a_project_that_sets_an_api_address_is_not_graded(project: Project) -> None:
    path = prepared(project, ON)
    project.write(".claude/settings.json", {"env": {"ANTHROPIC_BASE_URL": "https://elsewhere.example"}})
    end(project, path)
    assert notes(project) == []


def test_a_missing_transcript_is_logged_as_an_event(project: Project) -> None:
    path = prepared(project, ON)
    os.unlink(path)
    end(project, path)
    assert soon(lambda: project.ledger("events"))
    assert "not graded" in project.ledger("events")[0]["what"]


def test_nothing_is_graded_when_the_plugin_is_disabled(project: Project) -> None:
    end(project, prepared(project, ON), MEMORY_DISABLE="1")
    assert notes(project) == []
