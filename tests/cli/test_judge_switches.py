"""A judge that needs two settings is reported wherever only one of them is set."""

from __future__ import annotations

from typing import Any

import pytest

from tests.project import Project

ON = {"enabled": True}


@pytest.mark.parametrize(
    ("own", "says", "fix"),
    [
        pytest.param({"scoring": {"mode": "hybrid"}}, "scoring.mode is hybrid", "memory judge on scoring", id="hybrid without a judge"),
        pytest.param(
            {"scoring": {"judge": ON}}, "scoring.mode is deterministic", "memory config set scoring.mode hybrid", id="no hybrid",
        ),
        pytest.param(
            {"scoring": {"enabled": False, "mode": "hybrid", "judge": ON}}, "no reply is scored",
            "memory config set scoring.enabled true", id="nothing is scored",
        ),
        pytest.param(
            {"sessions": {"automatic": {"enabled": True}}}, "sessions.judge.enabled is false", "memory judge on sessions",
            id="sessions without a judge",
        ),
        pytest.param(
            {"retrieval": {"enabled": False, "judge": ON}}, "retrieval.enabled is false",
            "memory config set retrieval.enabled true", id="recall is off",
        ),
        pytest.param({"scoring": {"mode": "hybrid", "judge": ON}}, "", "", id="both switches"),
        pytest.param({}, "", "", id="nothing"),
    ],
)  # fmt: skip
def test_a_missing_switch_is_named_everywhere(
    project: Project, own: dict[str, Any], says: str, fix: str
) -> None:
    project.write_settings(**own)
    notes = project.cli("config", "check", "--json").json["notes"]
    assert [(says in note, note.endswith(fix)) for note in notes] == ([(True, True)] if says else [])
    doctor = project.cli("doctor").stdout
    assert (fix in doctor and says in doctor) if says else "every judge setting takes effect" in doctor
    project.save("Use Postgres", "Billing runs on Postgres.")
    assert ("note: " in project.cli("status").stdout) == bool(says)


def test_setting_one_switch_names_the_other(project: Project) -> None:
    assert "memory judge on scoring" in project.cli("config", "set", "scoring.mode", "hybrid").stdout


def test_a_judge_that_nothing_asks_needs_no_key(project: Project) -> None:
    project.write_settings(scoring={"judge": ON})
    assert "no_key" not in project.cli("doctor").stdout
    project.write_settings(scoring={"mode": "hybrid", "judge": ON})
    assert "no_key" in project.cli("doctor").stdout
