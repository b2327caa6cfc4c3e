"""SessionEnd starts nothing that grades while grading is off; when it is on, a row follows, within the user's limits."""

from __future__ import annotations

import json
import os
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


def end(project: Project, path: str, identity: str = SESSION, **env: str) -> list[Any]:
    """End a session, and return the grades once all that follows is done."""
    event = project.event("SessionEnd", session_id=identity, transcript_path=path, reason="other")
    run = project.hook("SessionEnd", event, **env)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    project.wait_for_background()
    return project.ledger("sessions")


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="nothing set"),
        pytest.param({**ON, "sessions": {"judge": {"when": "asked"}}}, id="a judge, but not automatic"),
    ],
)
def test_nothing_is_graded_until_the_user_turns_it_on(project: Project, settings: dict[str, Any]) -> None:
    assert end(project, prepared(project, settings)) == []
    assert not os.path.isdir(os.path.join(project.state, "grading"))


def test_a_session_is_graded_after_the_hook_has_returned(project: Project) -> None:
    (row,) = end(project, prepared(project, ON))
    assert (row["session"], row["scorer"]["automatic"], row["overall_quality"]) == (SESSION, True, 0.6233)


def test_a_session_that_is_too_short_is_not_graded(project: Project) -> None:
    assert end(project, prepared(project, ON, turns=4)) == []


def test_no_more_sessions_are_graded_than_the_daily_limit(project: Project) -> None:
    settings = {**ON, "sessions": {**ON["sessions"], "automatic": {"per_day": 1}}}
    graded = [len(end(project, prepared(project, settings, identity), identity)) for identity in IDS[:2]]
    assert graded == [1, 1]


def test_a_projects_settings_cannot_turn_grading_on(project: Project) -> None:
    path = prepared(project, {**ON, "sessions": {"judge": {"when": "asked"}}})
    project.write(".claude/settings.json", {"memory": {"sessions": {"judge": {"when": "ended"}}}})
    assert end(project, path) == []


def test_a_project_that_sets_an_api_address_is_not_graded(project: Project) -> None:
    path = prepared(project, ON)
    project.write(".claude/settings.json", {"env": {"ANTHROPIC_BASE_URL": "https://elsewhere.example"}})
    assert end(project, path) == []


def test_nothing_is_graded_when_the_plugin_is_disabled(project: Project) -> None:
    assert end(project, prepared(project, ON), MEMORY_DISABLE="1") == []
