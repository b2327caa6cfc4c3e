"""`memory feedback useful`, `wrong` and `feedback`: from the command to the next prompt."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.recall.store_files import ASK, BODY, TITLE, last

ID = "use-postgres-for-the-billing-database"


@pytest.fixture
def stored(project: Project) -> Project:
    """Return a project with one memory."""
    project.save(TITLE, BODY)
    return project


def test_ratings_are_counted(stored: Project) -> None:
    run = stored.cli("feedback", "wrong", ID)
    assert run.returncode == 0, run.stderr
    (found,) = stored.cli("feedback", "useful", ID, "--json").json["memories"]
    assert (found["useful"], found["wrong"]) == (1, 1)


def test_what_was_said_decides_about_the_next_prompt_and_why_says_so(stored: Project) -> None:
    assert "<memory " in stored.prompt(ASK, session_id="first-session").context
    sure = last(stored)["candidates"][0]["confidence"]
    for _ in range(4):
        stored.cli("feedback", "wrong", ID)
    silent = stored.prompt(ASK, session_id="second-session").context
    assert ("<memory " in silent) == (sure >= 0.95)
    assert last(stored)["candidates"][0]["shift"] == 0.45
    assert sure >= 0.95 or "(needs 95%)" in stored.cli("why").stdout
    assert stored.cli("feedback", "reset", ID).stdout == "deleted: the feedback on 1 memory\n"
    assert "<memory " in stored.prompt(ASK, session_id="third-session").context
    assert "shift" not in last(stored)["candidates"][0]


def test_feedback_lists_what_was_said(stored: Project) -> None:
    assert stored.cli("feedback").stdout.startswith("No memory has been rated")
    stored.cli("feedback", "useful", ID)
    shown = stored.cli("feedback").stdout
    assert ID in shown
    assert stored.cli("feedback", "--json").json["memories"][0]["useful"] == 1
    kinds = [row["kind"] for row in stored.ledger("feedback")]
    assert kinds == ["useful"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["feedback", "useful", "nothing-like-it"], 1, "nothing-like-it"),
        (["feedback", "useful"], 2, "ID"),
        (["feedback", "reset"], 2, "name the memories, or use --all"),
        (["feedback", "reset", ID, "--all"], 2, "name the memories, or use --all"),
        (["feedback", "show", ID], 2, "only `memory feedback reset`"),
    ],
)
def test_errors_of_use(stored: Project, arguments: list[str], code: int, says: str) -> None:
    run = stored.cli(*arguments)
    assert (run.returncode, says in run.stderr) == (code, True), run.stderr


@pytest.mark.parametrize(
    "command", [["feedback", "useful", ID], ["feedback", "wrong", ID], ["feedback", "reset", "--all"]]
)
def test_inside_the_client_it_needs_the_users_word(stored: Project, command: list[str]) -> None:
    run = stored.cli(*command, inside=True)
    assert (run.returncode, "the user must approve this" in run.stderr) == (1, True)
    assert stored.ledger("feedback") == []
