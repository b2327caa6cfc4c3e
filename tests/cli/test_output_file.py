"""Output files: where a command of Claude's may write, and that no file of somebody else's is replaced."""

from __future__ import annotations

import os

import pytest

from tests.cli.pseudo_terminal import PseudoTerminal
from tests.project import Project

GOOD = '{"turn": 1, "role": "user", "content": "Thanks!"}\n{"turn": 2, "role": "assistant", "content": "Gladly."}\n'


@pytest.fixture
def user(project: Project) -> Project:
    """Return a project with something to report, and a home folder with files of the user's."""
    project.prompt("hello there, which database do we use?")
    project.write("talk.jsonl", GOOD)
    for path in (".claude/CLAUDE.md", ".claude/settings.json", ".bashrc"):
        with open(os.path.join(project.home, path), "w", encoding="utf-8") as file:
            file.write("{}")
    return project


def evaluate(project: Project, path: str) -> int:
    """Let Claude write an evaluation; return the exit code."""
    return project.cli("evaluate", "--gates-only", "talk.jsonl", "--report", path, inside=True).returncode


def linked(project: Project, name: str, target: str) -> str:
    """Make a link in the project; return its path."""
    path = os.path.join(project.root, name)
    os.symlink(target, path)
    return path


ELSEWHERE = (
    "HOME/.claude/CLAUDE.md",
    "HOME/.claude/settings.json",
    "HOME/.bashrc",
    "HOME/new.html",
    "ROOT/../new.html",
    "ROOT/.git/hooks/pre-commit",
    "ROOT/.claude/settings.json",
    "ROOT/.envrc",
    "ROOT/link.html",
    "ROOT/out/x.html",
    "ROOT/talk.jsonl",
    "ROOT/hard.html",
    "STATE/trust/trusted.jsonl",
)


def test_a_command_of_claudes_writes_nothing_elsewhere_and_replaces_nothing(user: Project) -> None:
    user.save("Tabs", "Indent with tabs.")
    linked(user, "link.html", os.path.join(user.home, ".bashrc"))
    linked(user, "out", user.home)
    os.link(os.path.join(user.home, ".bashrc"), os.path.join(user.root, "hard.html"))
    for name in ELSEWHERE:
        path = name.replace("HOME", user.home).replace("ROOT", user.root).replace("STATE", user.state)
        before = _content(path)
        assert user.cli("report", "--out", path, inside=True).returncode in (1, 2), name
        assert _content(path) == before, name


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def test_an_evaluation_replaces_only_its_own_reports(user: Project) -> None:
    assert evaluate(user, "result") == 0
    assert evaluate(user, "result") == 0, "its own earlier output"
    user.write("other.md", "# Mine\n")
    assert evaluate(user, "other") == 1
    assert _content(os.path.join(user.root, "other.md")) == b"# Mine\n"
    assert evaluate(user, os.path.join(user.home, ".claude", "CLAUDE")) == 1
    assert _content(os.path.join(user.home, ".claude", "CLAUDE.md")) == b"{}"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", '{"scripts": {"eval": "memory evaluate talks/*.jsonl"}}'),
        ("package.json", '{"scripts": {}, "written_by": "memory evaluate"}'),
        ("package.md", "Run memory evaluate.\n\n<!-- memory evaluate -->\n"),
    ],
    ids=["json", "json by us", "markdown"],
)
def test_a_file_that_only_mentions_us_is_kept(user: Project, name: str, content: str) -> None:
    user.write(name, content)
    assert evaluate(user, "package") == 1
    assert _content(os.path.join(user.root, name)) == content.encode()


def test_a_page_that_only_quotes_a_report_is_kept(user: Project) -> None:
    path = user.write("page.html", "<!DOCTYPE html>\n<p>&lt;<!-- memory report -->")
    assert user.cli("report", "--out", path).returncode == 1


def test_a_report_is_written_into_the_project_and_into_our_own_folder(user: Project) -> None:
    for words in (
        (),
        ("--out", os.path.join(user.root, "page.html")),
        ("--out", os.path.join(user.state, "reports", "x.html")),
    ):
        assert user.cli("report", *words, inside=True).returncode == 0, words
        assert user.cli("report", *words, inside=True).returncode == 0, words
    assert os.stat(os.path.join(user.root, "page.html")).st_mode & 0o777 == 0o600


def test_off_a_terminal_a_file_of_somebody_elses_is_kept(user: Project) -> None:
    path = user.write("page.html", "mine")
    run = user.cli("report", "--out", path)
    assert (run.returncode, "not an earlier output" in run.stderr) == (1, True)
    assert _content(path) == b"mine"


@pytest.mark.parametrize(("answer", "replaced"), [("y", True), ("n", False)], ids=["yes", "no"])
def test_in_a_terminal_the_user_is_asked(user: Project, answer: str, *, replaced: bool) -> None:
    path = user.write("page.html", "mine")
    run = PseudoTerminal(user, "report", "--out", path)
    run.until("write?")
    run.type(answer + "\n")
    run.end()
    assert (_content(path) != b"mine") is replaced


def test_names_in_a_report_are_text(user: Project) -> None:
    user.write("odd.jsonl", GOOD)
    name = "# [x](http:evil) `rm` <b>.jsonl"
    os.rename(os.path.join(user.root, "odd.jsonl"), os.path.join(user.root, name))
    assert user.cli("evaluate", "--gates-only", name, "--report", "result", inside=True).returncode == 0
    with open(os.path.join(user.root, "result.md"), encoding="utf-8") as file:
        text = file.read()
    assert "[x](" not in text
    assert "`rm`" not in text.replace("\\`", "")
    assert "<b>" not in text
