"""The command line as a whole: exit codes, one-line errors, help for every command, both forms of a search."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module

import pytest

from memory_plugin.cli import command_line, commands
from memory_plugin.cli.command_line import handler_of
from memory_plugin.host.commands import COMMANDS, DAILY, MORE, SHARING, TABLE, second_words
from tests.project import PLUGIN_ROOT, Project


def cli(project: Project, *args: str, **env: str | None) -> tuple[int, str, str]:
    """Return a run without `--root`, in the project's folder."""
    run = project.memory(*args, stdin=b"", **env)
    return run.returncode, run.stdout, run.stderr


FOLDER = os.path.dirname(commands.__file__)
NOUNS = sorted({row.noun for row in TABLE if row.second})


def test_every_module_is_named_for_a_command_and_every_row_has_a_module() -> None:
    modules = {name.removesuffix(".py") for name in os.listdir(FOLDER) if name.endswith("_command.py")}
    assert {row.module + "_command" for row in TABLE} == modules
    for module in sorted({row.module for row in TABLE}):
        handlers = import_module("memory_plugin.cli.commands.%s_command" % module).HANDLERS
        assert set(handlers) == {row.name for row in TABLE if row.module == module}


def test_the_table_says_which_commands_need_approval() -> None:
    asking = {name for name in COMMANDS if handler_of(name).approval}
    assert asking == {row.name for row in TABLE if row.asks}


@pytest.mark.parametrize("command", [name for name in COMMANDS if handler_of(name).run])
def test_every_command_has_help_with_examples(project: Project, command: str) -> None:
    handler = handler_of(command)
    code, out, err = cli(project, *command.split(), "--help")
    assert (code, err) == (0, "")
    assert "--json" in out
    assert "--root" in out
    assert "examples:" in out
    assert "memory " + command in handler.examples
    assert handler.help[0].islower()
    assert not handler.help.endswith(".")


def test_the_help_is_one_screen_that_names_every_command(project: Project) -> None:
    code, out, _ = cli(project, "--help", COLUMNS="80")
    assert code == 0
    listed = re.findall(r"^  (\w+) {2,}[a-z]", out, re.MULTILINE)
    assert listed == [row.name for row in TABLE if row.group == DAILY]
    others = re.findall(r"[a-z]+", re.sub(r"\([^)]*\)", "", out[out.index(SHARING + ":") :]))
    assert {row.name for row in TABLE if row.group in (SHARING, MORE)} <= set(others)
    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) <= 24


def test_commands_that_hooks_start_work_and_are_not_listed(project: Project) -> None:
    listed = cli(project, "--help")[1]
    for row in TABLE:
        if row.background:
            assert row.second not in second_words(row.noun)
            assert re.search(r"^  %s " % row.name, listed, re.MULTILINE) is None
    assert cli(project, "refresh")[0] == 0


@pytest.mark.parametrize("noun", NOUNS)
def test_a_noun_lists_its_second_words(project: Project, noun: str) -> None:
    words = second_words(noun)
    out = cli(project, noun, "--help")[1]
    assert [
        word for word in words if not re.search(r"^ +(memory %s )?%s " % (noun, word), out, re.MULTILINE)
    ] == []
    if not handler_of(noun).run:
        code, out, err = cli(project, noun)
        assert (code, out) == (2, "")
        assert ", ".join(words) in err


def test_options_for_all_may_stand_between_the_words_of_a_name(project: Project) -> None:
    usual = cli(project, "check", "secrets", "--json")
    assert usual[0] == 0
    assert '"findings"' in usual[1]
    assert cli(project, "check", "--json", "--root", project.root, "secrets") == usual
    assert cli(project, "--json", "check", "--root=" + project.root, "secrets") == usual
    assert cli(project, "check", "--", "secrets")[0] == 2  # a path


@pytest.mark.parametrize(
    "args",
    [
        ["frobnicate"],
        ["save"],
        ["save", "--category", "nonsense", "--title", "t", "--body", "b"],
        ["save", "--category", "decision", "--title", "t"],
        ["save", "--category", "decision", "--title", "t", "--body", "b", "--expires", "2020-01-01"],
        ["save", "--category", "decision", "--title", "t", "--body", "b", "--expires", "2031-W01-1x"],
        ["save", "--category", "decision", "--title", "t", "--body", "b", "--expires", "2031-W50"],
        ["save", "--category", "decision", "--title", "t", "--body", "b", "--expires", "20311201"],
        ["save", "--category", "decision", "--title", " ", "--body", "b"],
        ["save", "--category", "decision", "--title", "t", "--body", ""],
        ["edit", "x", "--title", ""],
        ["edit", "x", "--body", " "],
        ["save", "--category", "decision", "--title", "t", "--body", "-", "--context", "-"],
        ["save", "--category", "decision", "--title", "t", "--body", "b", "--scope", "world"],
        ["list", "--status", "lost"],
        ["accept"],
        ["accept", "x", "--all"],
        ["check", "secrets", "x"],
        ["edit", "x", "--expires", "soon"],
        ["list", "--root", "no-such-folder"],
        ["list", "--root", os.devnull],
        ["--mode", "guess", "--query", "x"],
        ["list", "\udcff"],
    ],
    ids=" ".join,
)
def test_a_usage_error_is_one_line_and_exit_code_2(project: Project, args: list[str]) -> None:
    code, out, err = cli(project, *args)
    assert (code, out) == (2, "")
    assert err.startswith("memory: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "args",
    [
        ["show", "x"],
        ["forget", "x"],
        ["restore", "x"],
        ["forget", "x", "--keep"],
        ["edit", "x", "--title", "t"],
        ["accept", "x"],
    ],
)
def test_a_missing_memory_is_one_line_and_exit_code_1(project: Project, args: list[str]) -> None:
    code, out, err = cli(project, *args)
    assert (code, out) == (1, "")
    assert err == "memory: x: no memory has this id or title. To find it: memory search WORDS\n"


def test_without_a_home_it_says_so(project: Project) -> None:
    words = ("save", "--category", "decision", "--title", "t", "--body", "b")
    code, _, err = cli(project, *words, HOME=None, CLAUDE_CONFIG_DIR=None)
    assert code == 1
    assert "no home folder" in err
    assert not os.path.exists(os.path.join(project.root, ".claude"))


def test_both_forms_of_a_search(project: Project) -> None:
    project.save("Postgres for billing", "Billing runs on Postgres.")
    store = os.path.join(".claude", "memory")
    usual = cli(project, "search", "postgres", "--json")
    assert usual[0] == 0
    assert "postgres-for-billing" in usual[1]
    for other in (["--query", "postgres", "--root", store, "--json"], ["--query=postgres", "--json"]):
        assert cli(project, "--mode", "search", *other) == usual
        assert cli(project, "--mode=search", *other) == usual


def test_options_for_all_may_stand_before_the_command(project: Project) -> None:
    identity = project.save("Postgres for billing", "b")
    elsewhere = os.path.dirname(project.root)
    run = project.memory("--root", project.root, "--json", "list")
    assert [memory["id"] for memory in run.json["memories"]] == [identity]
    assert cli(project, "list", "--root", elsewhere)[1].startswith("No memories in this project yet")


def test_a_command_is_described_for_its_own_project(project: Project) -> None:
    elsewhere = os.path.join(os.path.dirname(project.root), "elsewhere")
    os.makedirs(elsewhere)
    name = project.save("Postgres for billing", "b")
    code, out, err = cli(project, "describe", "forget", name, "--now", "--root", elsewhere)
    assert (code, out) == (1, "")
    assert "no memory has this id" in err
    assert "Postgres" in cli(project, "describe", "forget", name, "--now", "--root", project.root)[1]


def test_root_may_be_the_store_even_before_it_exists(project: Project) -> None:
    store = os.path.join(project.root, ".claude", "memory")
    words = ("save", "--category", "decision", "--title", "One", "--body", "b", "--root", store)
    assert cli(project, *words)[0] == 0
    assert os.listdir(os.path.join(store, "decisions")) == ["one.json"]


def test_from_a_folder_below_the_project_is_found(project: Project) -> None:
    below = os.path.join(project.root, "a", "b")
    os.makedirs(below)
    identity = project.save("One", "b")
    script = os.path.join(PLUGIN_ROOT, "scripts", "memory.py")
    done = subprocess.run(
        [sys.executable, script, "list"],
        cwd=below,
        env=project.environment(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert identity.encode() in done.stdout


def test_a_reader_that_closes_the_pipe_is_not_an_error(project: Project) -> None:
    for number in range(3):
        project.save("Memory %d" % number, "b" * 3000)
    script = os.path.join(PLUGIN_ROOT, "scripts", "memory.py")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, script, "list", "--root", project.root],
            env=project.environment(),
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_project_cannot_change_the_state_folder(project: Project) -> None:
    evil = os.path.join(project.root, "evil")
    project.write(".claude/settings.json", {"env": {"CLAUDE_CONFIG_DIR": evil, "HOME": evil}})
    code, _, err = cli(
        project,
        "save",
        "--category",
        "decision",
        "--title",
        "t",
        "--body",
        "b",
        HOME=evil,
        CLAUDE_CONFIG_DIR=evil,
    )
    assert code == 1
    assert "no home folder" in err
    assert not os.path.exists(evil)


def test_the_version_is_named(project: Project) -> None:
    code, out, _ = cli(project, "--version")
    assert code == 0
    assert out.startswith("memory ")


def test_without_a_command_the_help_is_shown(project: Project) -> None:
    code, out, err = cli(project)
    assert (code, err) == (2, "")
    assert "COMMAND" in out


def test_rarely_needed_modules_are_not_imported(project: Project) -> None:
    """Claude waits for each step of an interview, and imports take most of its time."""
    package = os.path.join(PLUGIN_ROOT, "scripts")
    code = (
        "import sys; sys.path.insert(0, %r); import memory_plugin.cli.command_line; print(*sys.modules)"
        % package
    )
    found = set(project.process([project.python, "-I", "-S", "-c", code]).stdout.split())
    assert "memory_plugin.cli.command_line" in found
    rare = {"difflib", "shutil", "textwrap", "threading", "html", "memory_plugin.memories.record"}
    assert found & rare == set()


def test_an_error_while_the_options_are_made_is_one_line(
    project: Project, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options are created from files, such as the list of categories; an error there must not be a traceback."""

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.chdir(project.root)
    monkeypatch.setattr(command_line, "handler_of", fail)
    assert command_line.main(["save"]) == 1
    assert capfd.readouterr().err.startswith("memory: a bug in memory: MemoryError at ")
