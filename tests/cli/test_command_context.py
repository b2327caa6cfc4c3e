"""When a command counts as approved by the user."""

from __future__ import annotations

import pytest

from tests.project import SESSION, Project

BODY = ("--category", "decision", "--title", "Use Postgres", "--body", "b", "--json")


def trust(project: Project, **env: str | None) -> str:
    return str(project.cli("save", *BODY, stdin="", inside=False, **env).json["trust"])


def test_a_command_in_a_terminal_is_approved(project: Project) -> None:
    assert trust(project) == "trusted"


@pytest.mark.parametrize(
    "env",
    [
        {"CLAUDECODE": "1"},
        {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION},
        {"CLAUDE_CODE_SESSION_ID": SESSION},
    ],
    ids=" ".join,
)
def test_a_command_of_claude_is_not_approved(project: Project, env: dict[str, str]) -> None:
    assert trust(project, **env) == "pending"


@pytest.mark.parametrize("name", ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID"])
@pytest.mark.parametrize("value", ["", "0", "1"])
def test_a_project_cannot_remove_the_mark_of_the_client(project: Project, name: str, value: str) -> None:
    project.write(".claude/settings.json", {"env": {name: value}})
    env = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION, name: value}
    assert trust(project, **env) == "pending"


@pytest.mark.parametrize("prompt", ["/memory:save we use Postgres", "Please remember that we use Postgres"])
def test_a_save_request_of_the_user_approves_commands_of_this_session(project: Project, prompt: str) -> None:
    project.user_types(prompt)
    assert trust(project, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=SESSION) == "trusted"
    other = project.cli(
        "save",
        "--category",
        "decision",
        "--title",
        "Other",
        "--body",
        "b",
        "--json",
        CLAUDECODE="1",
        CLAUDE_CODE_SESSION_ID="other",
    )
    assert other.json["trust"] == "pending"


@pytest.mark.parametrize(
    "words",
    [
        ("accept", "--all"),
        ("forget", "use-postgres", "--now"),
        ("config", "set", "retrieval.max_pointers", "5"),
    ],
)
def test_a_command_that_needs_approval_changes_nothing_without_it(
    project: Project, words: tuple[str, ...]
) -> None:
    project.cli("save", *BODY)
    run = project.cli(*words, inside=True)
    assert (run.returncode, run.stdout) == (1, "")
    assert "nothing changed" in run.stderr
    assert run.stderr.count("\n") == 1
    assert project.cli_allowed(*words).returncode == 0
