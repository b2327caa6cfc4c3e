"""Errors about files that a command names: one wording and one exit code for all commands."""

from __future__ import annotations

import errno
import os

import pytest

from memory_plugin.cli import command_line
from memory_plugin.kernel.files import Busy
from tests.cli.test_command_line import cli
from tests.project import Project


@pytest.mark.parametrize(
    "words",
    [
        ["replies", "score"],
        ["import"],
        ["import", "--dry-run", "."],
        ["session", "calibrate"],
        ["evaluate", "--agreement"],
        ["evaluate", ".", "--pack"],
        ["evaluate", ".", "--rubric"],
        ["evaluate", "rules", "check"],
        ["session", "signals"],
        ["session", "prepare"],
        ["session", "score"],
        ["interview", "start", "billing", "--pack"],
        ["list", "--root"],
    ],
    ids=" ".join,
)
def test_a_missing_file_is_one_line_and_exit_code_2(project: Project, words: list[str]) -> None:
    code, out, err = cli(project, *words, "no/file.json")
    name = os.path.join(project.root, "no/file.json") if "--root" in words else "no/file.json"
    assert (code, out, err) == (2, "", "memory: %s: no such file or folder\n" % name)


def test_a_missing_output_folder_is_reported_before_any_work(project: Project) -> None:
    talk = project.write("talk.jsonl", "{}")
    assert cli(project, "evaluate", talk, "--report", "no/file")[::2] == (
        2,
        "memory: no: no such file or folder\n",
    )


@pytest.mark.parametrize("words", [["evaluate", "."], ["evaluate", "rules", "check"]])
def test_an_unknown_pack_lists_the_known_ones(project: Project, words: list[str]) -> None:
    option = [] if "rules" in words else ["--pack"]
    code, _, err = cli(project, *words, *option, "nonsense")
    assert code == 2
    assert err.startswith("memory: nonsense: expected one of caregiving, ")
    assert err.endswith(", or a .json file\n")


@pytest.mark.parametrize(
    "words",
    [
        ["replies", "score"],
        ["evaluate"],
        ["import"],
        ["session", "calibrate"],
        ["session", "signals"],
    ],
    ids=" ".join,
)
def test_a_named_pipe_does_not_block(project: Project, words: list[str]) -> None:
    path = os.path.join(project.root, "pipe.json")
    os.mkfifo(path)
    code, _, err = cli(project, *words, path)
    assert code in (1, 2)
    assert "pipe.json" in err
    assert "Errno" not in err


def test_an_error_of_the_disk_has_no_errno(project: Project) -> None:
    path = os.path.join(project.root, "a" * 300)
    for words in (["replies", "score"], ["import"], ["session", "calibrate"], ["evaluate"]):
        err = cli(project, *words, path)[2]
        assert "Errno" not in err
        assert err.count("\n") == 1


def test_a_state_folder_that_cannot_be_made_is_named(project: Project) -> None:
    project.write(".claude/memory/decisions/one.json", {"title": "One", "content": {"decision": "b"}})
    with open(os.path.join(project.config, "lcars"), "w", encoding="utf-8"):
        pass
    for words in (["save", "--category", "decision", "--title", "t", "--body", "b"], ["accept", "--all"]):
        code, _, err = cli(project, *words)
        assert (code, err) == (1, "memory: %s/lcars: not a folder\n" % project.config)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM], ids=errno.errorcode.get)
def test_a_command_that_may_not_write_says_where_it_may(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number), "/state/locks")

    monkeypatch.setattr(command_line, "_run", refuse)
    assert command_line.main(["list"]) == 1
    advice = "if Claude Code's sandbox forbids it, run the command in your own terminal"
    assert capsys.readouterr().err == "memory: /state/locks: %s; %s\n" % (os.strerror(number), advice)


def test_a_held_lock_asks_for_the_command_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> int:
        raise Busy("locked by another process")

    monkeypatch.setattr(command_line, "_run", refuse)
    assert command_line.main(["list"]) == 1
    assert capsys.readouterr().err == "memory: locked by another process; run the command again\n"
