"""Tables: columns that fit a terminal, tabs in a pipe."""

from __future__ import annotations

import pytest

from tests.cli.test_widths import STYLE, in_terminal
from tests.project import Project

# Commands of a person that print what is stored or what happened; those that ask a model or a server have none of this.
COMMANDS = (
    ["list"],
    ["list", "--status", "all"],
    ["search", "billing"],
    ["status"],
    ["why"],
    ["doctor"],
    ["replies", "history"],
    ["guards"],
    ["feedback"],
    ["report", "--text"],
    ["session", "list"],
)


def printed(project: Project, width: int, *words: str) -> str:
    """Return what a command prints on a terminal of a width, without colors and progress."""
    lines = STYLE.sub("", in_terminal(project, width, list(words))).split("\n")
    return "\n".join(line.rpartition("\r")[2] for line in lines)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(str(tmp_path_factory.mktemp("box")))
    title = "The billing database of the order service runs on Postgres 16 because of its row locks and nothing else"
    project.save(title, "MySQL lost updates under load.", "--asked-as", "billing")
    project.save(
        "Short", "A sentence about billing.", "--guard-command", "git push --force", category="constraint"
    )
    project.prompt("which billing database do we use for the order service?")
    project.hook(
        "Stop", project.event("Stop", last_assistant_message="Great question! Use Postgres.", prompt_id="p1")
    )
    return project


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(used: Project, width: int, words: list[str]) -> None:
    text = printed(used, width, *words)
    assert text.strip()
    assert [
        line
        for line in text.splitlines()
        if len(line) > width and used.root not in line and " " in line.strip()
    ] == []


def test_a_narrow_list_shows_whole_ids_and_titles(used: Project) -> None:
    lines = printed(used, 80, "list").splitlines()
    assert lines[:2] == ["Short", "    short  constraint, %s" % lines[1][-10:]]
    (title_line,) = [line for line in lines if line.startswith("The billing database")]
    assert title_line == "The billing database of the order service runs on Postgres 16 because of its row"
    assert any(
        line.split() and line.split()[0].startswith("the-billing-database-of-the-order") for line in lines
    )
    assert printed(used, 250, "list").startswith("ID ")


def test_a_pipe_gets_tabs_and_nothing_cut(used: Project) -> None:
    lines = used.cli("list").stdout.splitlines()
    assert lines[0].split("\t")[:2] == ["ID", "CATEGORY"]
    assert any(
        line.endswith(
            "\tThe billing database of the order service runs on Postgres 16 because of its row locks and nothing else"
        )
        for line in lines
    )
