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
def test_check_says_why_the_projects_setting_does_not_count(
    project: Project, name: str, feature: str, key: str, command: str
) -> None:
    memory = {"retrieval": {"judge": {"enabled": True}}, "scoring": {"mode": "hybrid"}}
    path = project.write(".claude/" + name, {"memory": memory})
    run = project.cli("judge", "check", feature)
    reason = "only your own settings can turn a judge on, because it sends text."
    assert (run.returncode, run.stdout) == (
        1,
        "%s in %s does not count: %s\nThe judge is off. To turn it on: %s\n" % (key, path, reason, command),
    )
    assert project.cli("judge", "check", "interview").stdout.count("\n") == 1
