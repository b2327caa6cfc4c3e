"""Closed or full streams and a deleted folder give one line and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import shlex
import sys

import pytest

from tests.cli.test_widths import in_terminal
from tests.project import PLUGIN_ROOT, Project, Run

FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")


def shell(project: Project, words: str, redirections: str, stdin: bytes = b"") -> Run:
    """Return the result of a command, run by a shell that redirects its streams."""
    script = shlex.quote(os.path.join(PLUGIN_ROOT, "scripts", "memory.py"))
    line = "%s %s %s %s" % (shlex.quote(project.python), script, words, redirections)
    return project.process(["sh", "-c", line], stdin)


@pytest.mark.parametrize("redirections", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "words",
    [
        "list",
        *(pytest.param(words, marks=pytest.mark.slow) for words in ("search -", "list --json", "--help")),
    ],
)
def test_a_closed_stream_is_not_an_error(project: Project, words: str, redirections: str) -> None:
    run = shell(project, words, redirections)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_closed_stream_s_descriptor_is_not_reused(project: Project) -> None:
    """Otherwise output would end up in the first file that is opened."""
    words = "save --category decision --title One --body b"
    assert shell(project, words, ">&- 2>&-").returncode == 0
    path = os.path.join(project.root, ".claude", "memory", "decisions", "one.json")
    with open(path, encoding="utf-8") as file:
        assert "saved" not in file.read()
    assert "one" in project.cli("list").stdout


@FULL
@pytest.mark.parametrize("words", ["list", "list --json"])
def test_a_full_output_is_one_line(project: Project, words: str) -> None:
    project.save("One", "b")
    run = shell(project, words, ">/dev/full")
    assert (run.returncode, run.stderr) == (1, "memory: standard output: No space left on device\n")


@FULL
def test_help_on_a_full_output_is_no_traceback(project: Project) -> None:
    assert "Exception" not in shell(project, "--help", ">/dev/full").stderr


@FULL
@pytest.mark.parametrize(("words", "code"), [("show x", 1), ("list --nonsense", 2)])
def test_a_full_error_stream_keeps_the_exit_code(project: Project, words: str, code: int) -> None:
    assert shell(project, words, "2>/dev/full").returncode == code


@FULL
def test_an_answer_in_an_interview_on_a_full_output_is_one_line(project: Project) -> None:
    project.cli("interview", "start", "billing", "--json")
    run = shell(project, "interview answer --json", ">/dev/full", b"It runs on Postgres.")
    assert (run.returncode, run.stderr) == (1, "memory: standard output: No space left on device\n")


@pytest.mark.parametrize("words", ["list", "list --root ."])
def test_a_deleted_current_folder_is_reported(project: Project, words: str) -> None:
    gone = os.path.join(project.root, "gone")
    os.mkdir(gone)
    script = os.path.join(PLUGIN_ROOT, "scripts", "memory.py")
    line = "cd gone && rmdir ../gone && exec %s %s %s" % (project.python, script, words)
    run = project.process(["sh", "-c", line])
    assert run.returncode == 2
    assert run.stderr == "memory: the current folder no longer exists; change to another one\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    "words",
    [
        "save --category decision --title One --body -",
        "search -",
        "import -",
        "check phrases -",
        "check text --jsonl",
        "replies score -",
        "replies score --jsonl",
        "evaluate -",
        "interview check-question",
        "session store session.jsonl",
    ],
)
def test_a_command_that_reads_a_terminal_says_so(project: Project, words: str) -> None:
    project.write("session.jsonl", json.dumps({"type": "user", "message": {"role": "user", "content": "Hi"}}))
    if words.startswith("interview"):
        assert project.cli("interview", "start", "billing export").returncode == 0
    seen = in_terminal(project, 120, words.split())
    assert "memory: reading standard input; to end it, press Ctrl-D on an empty line" in seen
    assert "a bug in memory" not in seen


def test_a_pipe_is_read_without_a_word(project: Project) -> None:
    assert shell(project, "search -", "", b"staging").stderr == ""
