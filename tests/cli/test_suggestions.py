"""Typos in commands and options, help by name, the one-line save, and filters of the list."""

from __future__ import annotations

import shutil

import pytest

from memory_plugin.cli.commands.config_command import SHELLS
from memory_plugin.memories.record import MAX_TITLE
from tests.project import PLUGIN_ROOT, Project


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scroe"], "unknown command 'scroe'; did you mean replies score? See `memory --help`"),
        (
            ["replies", "tuen"],
            "unknown command 'replies tuen'; did you mean replies tune? See `memory replies --help`",
        ),
        (
            ["session", "calibrat"],
            "unknown command 'session calibrat'; did you mean session calibrate? See `memory session --help`",
        ),
        (
            ["judge", "zzz"],
            "judge: expected one of on, off, check, reset, got 'zzz'; see `memory judge --help`",
        ),
        (
            ["guards", "tset", "ls"],
            "unknown command 'guards tset'; did you mean guards test? See `memory guards --help`",
        ),
        (["status", "zzz"], "unexpected word 'zzz'; put a text of several words in quotes"),
        (["lst"], "unknown command 'lst'; did you mean list? See `memory --help`"),
        (["frobnicate"], "unknown command 'frobnicate';"),
        (
            ["list", "--categry", "decision"],
            "unknown option '--categry'; did you mean --category? See `memory list --help`",
        ),
        (["list", "--zzz"], "unknown option '--zzz'; see `memory list --help`"),
    ],
)
def test_a_typo_gets_one_line_with_the_nearest_name(project: Project, words: list[str], message: str) -> None:
    run = project.cli(*words)
    assert run.returncode == 2
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert "grade" not in run.stderr


def test_help_takes_a_command(project: Project) -> None:
    by_name = project.memory("help", "list")
    assert by_name.returncode == 0
    assert by_name.stdout == project.memory("list", "--help").stdout
    assert project.memory("help", "check", "text").stdout == project.memory("check", "text", "--help").stdout
    assert "every day:" in project.memory("help").stdout


def test_one_line_is_enough_to_save(project: Project) -> None:
    run = project.cli("save", "Staging is reset every night at 03:00. Put test data into seeds/.", "--json")
    assert run.returncode == 0, run.stderr
    shown = project.cli("show", run.json["id"], "--json").json
    assert shown["title"] == "Staging is reset every night at 03:00"
    long = project.cli("save", "word " * 60, "--json").json
    assert len(project.cli("show", long["id"], "--json").json["title"]) <= MAX_TITLE


def test_a_save_without_text_says_what_is_missing(project: Project) -> None:
    for words, missing in (
        ((), "nothing to save"),
        ((" ",), "nothing to save"),
        (("--title", "x"), "--title needs a --body"),
    ):
        run = project.cli("save", *words)
        assert (run.returncode, run.stdout) == (2, "")
        assert missing + ". Try: memory save" in run.stderr
    assert project.cli("save", "text", "--body", "other").returncode == 2


def test_the_list_is_filtered_by_tag_and_limit(project: Project) -> None:
    project.save("Postgres for billing", "Row locks.", "--tags", "Billing,db")
    project.save("Deploy on Tuesdays", "Never on Friday.")
    titles = [memory["title"] for memory in project.memories("--tag", "billing")]
    assert titles == ["Postgres for billing"]
    assert len(project.memories("--limit", "1")) == 1
    assert project.cli("list", "--limit", "0").returncode == 2
    assert "No memories match" in project.cli("list", "--tag", "nope").stdout


@pytest.mark.parametrize("name", ["reset staging", "Nightly staging", "staging-is-rezet"])
def test_a_name_that_no_memory_has_brings_the_nearest(project: Project, name: str) -> None:
    saved = project.save("Staging is reset nightly", "At 03:00.")
    project.save("Deploy on Tuesdays", "Never on Friday.")
    run = project.cli("show", name)
    assert run.returncode == 1
    assert "Did you mean %s? To find it: memory search WORDS" % saved in run.stderr


def test_search_shows_a_piece_of_the_text(project: Project) -> None:
    project.save("Postgres for billing", "Row locks decided it & MySQL <8> lost.")
    assert "    Row locks decided it & MySQL <8> lost." in project.cli("search", "billing").stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_are_valid(project: Project, shell: str) -> None:
    run = project.cli("config", "completions", shell)
    assert (run.returncode, "config completions words" in run.stdout) == (0, True)
    program = shutil.which(shell)
    if program is not None:
        assert project.process([program, "-n"], run.stdout.encode()).returncode == 0


@pytest.mark.parametrize(
    ("typed", "next_words"),
    [
        ("", {"save", "config"}),
        ("list", {"--tag", "--status"}),
        ("replies", {"history", "tune"}),
        ("check secrets", {"--fix", "--json"}),
        ("config", {"show", "completions"}),
        ("nonsense", {"--help"}),
    ],
)
def test_words_that_may_come_next(project: Project, typed: str, next_words: set[str]) -> None:
    run = project.memory("config", "completions", "words", "--", *typed.split())
    assert next_words <= set(run.stdout.split())


def test_bash_completes_a_command_and_an_option(project: Project) -> None:
    program = shutil.which("bash")
    if program is None:
        pytest.skip("no bash")
    ask = "\nCOMP_WORDS=(%s/bin/memory %s); COMP_CWORD=%d; _memory; echo ${COMPREPLY[@]}"
    script = project.cli("config", "completions", "bash").stdout
    for typed, at, found in (("sea", 1, "search"), ("list --ta", 2, "--tag"), ("replies hi", 2, "history")):
        run = project.process([program, "-c", script + ask % (PLUGIN_ROOT, typed, at)])
        assert run.stdout == found + "\n"
