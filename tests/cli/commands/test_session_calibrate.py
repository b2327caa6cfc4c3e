"""`memory session calibrate` takes a person through sessions, stores each answer at once, and resumes where it stopped."""

from __future__ import annotations

import pytest

from memory_plugin.sessions.rubric import dimensions
from tests.cli.commands.test_session_command import transcript
from tests.project import Project
from tests.sessions.bench import IDS

ANSWERS = "complete\n0.8\n0.7\n0.6\n2\n0.9\n"


def walk(project: Project, stdin: str, *more: str) -> str:
    """Return the output of a run in which a person types these lines."""
    run = project.cli("session", "calibrate", "--ask", *more, stdin=stdin)
    assert "Traceback" not in run.stderr
    return run.stdout


@pytest.fixture
def old(project: Project) -> Project:
    """Return a project with three transcripts."""
    for name in IDS[:3]:
        transcript(project, name)
    return project


def labels(project: Project) -> list[str]:
    """Return the sessions that have labels, in the order of the ledger."""
    return [row["session"] for row in project.ledger("sessions") if row["kind"] == "label"]


def test_each_session_is_shown_and_its_answers_are_kept_at_once(old: Project) -> None:
    printed = walk(old, ANSWERS + "q\n")
    assert "session 1 of 20" in printed
    assert "session 2 of 20" in printed
    assert "1 session labeled" in printed
    (row,) = (row for row in old.ledger("sessions") if row["kind"] == "label")
    assert set(row["dimensions"]) == set(dimensions())


def test_it_resumes_where_it_stopped(old: Project) -> None:
    walk(old, ANSWERS + "q\n")
    printed = walk(old, ANSWERS + ANSWERS)
    assert "session 2 of 20" in printed
    assert len(labels(old)) == len(set(labels(old))) == 3
    assert walk(old, "").startswith("3 sessions labeled")


def test_a_session_can_be_skipped_and_a_wrong_answer_is_asked_again(old: Project) -> None:
    printed = walk(old, "s\n" + "excellent\n" + ANSWERS + "q\n")
    assert (
        "expected 0 failed, 1 partial, 2 complete, 3 exceeded, s to skip the session, or q to stop" in printed
    )
    assert len(labels(old)) == 1


def test_it_ends_after_twenty(old: Project) -> None:
    for name in IDS[3:22]:
        transcript(old, name)
    assert "20 sessions labeled" in walk(old, ANSWERS * 22)
    assert len(labels(old)) == 20


def test_no_score_of_a_scorer_is_shown(old: Project) -> None:
    printed = walk(old, "q\n")
    assert "overall" not in printed
    assert "unscored" not in printed


def test_without_a_terminal_it_only_compares(old: Project) -> None:
    run = old.cli("session", "calibrate", stdin=ANSWERS)
    assert "no session is both scored and labeled" in run.stderr
    assert labels(old) == []


def test_without_sessions_it_says_what_it_takes(project: Project) -> None:
    run = project.cli("session", "calibrate", "--ask", stdin="")
    assert (run.returncode, run.stdout) == (1, "")
    assert "no session was labeled; a session needs at least 2 turns" in run.stderr
