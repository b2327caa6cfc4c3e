"""`memory accept` and `memory reject` with candidate ids: all are stored as shown or rejected, or none is."""

from __future__ import annotations

import os

import pytest

from tests.project import Project
from tests.replies.builders import PLAIN, assistant_record, user_record, write_transcript

RULES = ("no, we never mock the database here", "from now on write commit messages in the imperative")
UNKNOWN = "c-0000000000"


@pytest.fixture
def session(project: Project) -> Project:
    """Return a project with two candidates."""
    path = os.path.join(project.config, "projects", "p", "session.jsonl")
    rows = [row for rule in RULES for row in (user_record(rule), assistant_record(PLAIN))]
    write_transcript(path, *rows)
    assert project.cli("capture", path).returncode == 0
    return project


def candidates(project: Project) -> dict[str, str]:
    """Return the ids of the open candidates by their quotes."""
    return {row["quote"]: row["id"] for row in project.candidates()}


def titles(project: Project) -> list[str]:
    return [row["title"] for row in project.memories()]


def test_a_candidate_is_stored_by_its_id(session: Project) -> None:
    identity = candidates(session)[RULES[0]]
    run = session.cli("accept", identity)
    assert (run.returncode, run.stderr) == (0, "")
    assert "accepted: %s  We never mock the database here" % identity in run.stdout
    (memory,) = session.memories()
    assert memory["trust"] == "trusted"
    assert "  stored as " + memory["id"] in run.stdout
    assert list(candidates(session)) == [RULES[1]]


def test_several_candidates_are_stored_at_once(session: Project) -> None:
    ids = sorted(candidates(session).values())
    assert sorted(session.cli("accept", "--json", *ids).json["accepted"]) == ids
    assert len(titles(session)) == 2
    assert candidates(session) == {}


def test_a_candidate_is_rejected_by_its_id(session: Project) -> None:
    identity = candidates(session)[RULES[0]]
    run = session.cli("reject", identity)
    assert (run.returncode, run.stdout) == (0, "rejected: %s  We never mock the database here\n" % identity)
    assert list(candidates(session)) == [RULES[1]]
    assert titles(session) == []


@pytest.mark.parametrize("command", ["accept", "reject"])
def test_an_invalid_id_decides_nothing(session: Project, command: str) -> None:
    ids = candidates(session)
    run = session.cli(command, ids[RULES[0]], UNKNOWN)
    assert run.returncode == 1
    assert "%s: no suggestion has this id; to see them: memory review" % UNKNOWN in run.stderr
    assert candidates(session) == ids
    assert titles(session) == []


@pytest.mark.parametrize("command", ["accept", "reject"])
def test_candidates_and_memories_are_named_apart(session: Project, command: str) -> None:
    run = session.cli(command, candidates(session)[RULES[0]], "some-memory")
    assert run.returncode == 2
    assert "name suggestions or memories, not both" in run.stderr


def test_claude_stores_no_candidate_unasked(session: Project) -> None:
    identity = candidates(session)[RULES[0]]
    run = session.cli("accept", identity, inside=True)
    assert run.returncode == 1
    assert titles(session) == []


def test_a_project_without_sessions_is_told_so(project: Project) -> None:
    run = project.cli("capture", "--project")
    assert run.returncode == 0
    assert "No past sessions of this project found" in run.stdout
