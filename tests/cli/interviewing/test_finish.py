"""How an interview is deleted."""

from __future__ import annotations

from tests.project import Project


def test_none_is_discarded_that_was_not_named(project: Project) -> None:
    name = project.cli("interview", "start", "billing export", "--json").json["interview"]
    run = project.cli("interview", "discard")
    assert (run.returncode, run.stderr) == (
        2,
        "memory: discard: expected --session ID, so that none is deleted by mistake; `memory interview status` lists them\n",
    )
    assert "discard has no default" in " ".join(project.cli("interview", "--help").stdout.split())
    assert name in project.cli("interview", "status").stdout
    assert project.cli("interview", "discard", "--session", name).stdout == "deleted %s\n" % name
    assert "no interviews" in project.cli("interview", "status").stdout
