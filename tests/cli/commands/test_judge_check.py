"""`memory judge check` for a judge that only the project's settings switch on."""

from __future__ import annotations

import pytest

from tests.project import Project


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize(
    ("feature", "key", "command"),
    [
        ("retrieval", "retrieval.judge.enabled", "memory judge on"),
        ("scoring", "scoring.mode", "memory judge on replies"),
    ],
)
def test_the_projects_setting_does_not_count_and_is_listed(
    project: Project, name: str, feature: str, key: str, command: str
) -> None:
    memory = {"retrieval": {"judge": {"enabled": True}}, "scoring": {"mode": "hybrid"}}
    path = project.write(".claude/" + name, {"memory": memory})
    run = project.cli("judge", "check", feature)
    assert (run.returncode, run.stdout) == (1, "The judge is off. To turn it on: %s\n" % command)
    assert path in project.cli("doctor").stdout
    assert key in project.cli("config", "check").stdout
