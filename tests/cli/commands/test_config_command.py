"""`memory config` as a real process."""

from __future__ import annotations

import json
import os
import re
import shlex

import pytest

from memory_plugin.cli.command_line import handler_of
from tests.config.settings_table import README
from tests.project import Project

KEY = "retrieval.max_inject"


def test_set_get_unset(project: Project) -> None:
    run = project.cli("config", "set", KEY, "2")
    expected = "%s is now 2 (was 3, the default): written to %s\n" % (KEY, project.settings_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, expected, "")
    again = project.cli("config", "set", KEY, "2").stdout
    assert again == "%s is still 2: nothing changed in %s\n" % (KEY, project.settings_path)
    assert project.cli("config", "get", "memory." + KEY).stdout == "2\n"
    expected = "%s is now 3, the default (was 2): removed from %s\n" % (KEY, project.settings_path)
    assert project.cli("config", "unset", KEY).stdout == expected
    assert project.cli("config", "get", KEY).stdout == "3\n"


def test_a_block_is_removed_and_named(project: Project) -> None:
    project.cli("config", "set", KEY, "2")
    expected = "retrieval: removed from %s\n" % project.settings_path
    assert project.cli("config", "unset", "retrieval").stdout == expected


def test_a_value_decided_by_the_project_is_reported_as_such(project: Project) -> None:
    project.write(".claude/settings.json", {"memory": {"retrieval": {"max_inject": 1}}})
    text = project.cli("config", "set", KEY, "2").stdout
    assert text.startswith(KEY + " is still 1, decided by the project's files: written to ")


def test_json(project: Project) -> None:
    change = project.cli("config", "set", KEY, "2", "--json").json
    assert change == {
        "key": KEY,
        "changed": True,
        "file": project.settings_path,
        "backup": None,
        "value": 2,
        "origin": "user",
        "notes": [],
    }
    assert project.cli("config", "get", KEY, "--json").json == {"key": KEY, "value": 2, "origin": "user"}
    show = project.cli("config", "show", "--json").json
    assert (show["settings"]["retrieval"]["max_inject"], show["origins"][KEY], show["problems"]) == (
        2,
        "user",
        [],
    )
    checked = project.cli("config", "check", "--json").json
    assert checked == {"files": {"user": project.settings_path}, "problems": [], "changed": []}
    assert project.cli("config", "unset", KEY, "--json").json["changed"]


def test_json_may_stand_before_the_action_too(project: Project) -> None:
    assert project.cli("config", "--json", "get", KEY).json["value"] == 3


def test_show_prints_every_key_and_get_a_block(project: Project) -> None:
    lines = project.cli("config", "show").stdout.splitlines()
    assert [line.split() for line in lines if line.startswith(KEY)] == [[KEY, "3", "default"]]
    assert project.cli("config", "get", "judge.caps").json == {
        "session_usd": 0.25,
        "day_usd": 1.0,
        "request_usd": 2.0,
    }


def test_show_of_one_key_says_what_it_means(project: Project) -> None:
    assert project.cli("config", "show", KEY).stdout.splitlines() == [
        "retrieval.max_inject: 3 (default)",
        "",
        "Most memories shown in full on one prompt; 0: none, and no titles.",
        "value: a whole number from 0 to 10; default: 3; a project may only lower it",
    ]


def test_show_of_a_key_with_many_choices_names_them(project: Project) -> None:
    line = project.cli("config", "show", "hygiene.allow").stdout.splitlines()[-1]
    assert line.startswith("known values: ")
    assert " email, " in line


def test_show_origin_names_layers_files_and_refusals(project: Project) -> None:
    path = project.write(
        ".claude/settings.json", {"memory": {"retrieval": {"max_inject": 9, "enabled": False}}}
    )
    lines = project.cli("config", "show", "retrieval", "--origin").stdout.splitlines()
    rows = {line.split()[0]: line.split(None, 2)[1:] for line in lines if line}
    assert rows["retrieval.enabled"] == ["false", "project"]
    assert rows[KEY] == ["3", "default, project refused"]
    assert "project: " + path in lines
    assert lines[-1].startswith(path + ":4: retrieval.max_inject: expected at most 3")


def test_check_fails_on_problems(project: Project) -> None:
    path = project.write(".claude/settings.local.json", {"memory": {"trust": {"accept_from": ["/"]}}})
    run = project.cli("config", "check")
    assert (run.returncode, run.stdout.startswith(path + ":4: trust.accept_from: ")) == (1, True)
    (problem,) = project.cli("config", "check", "--json").json["problems"]
    assert (problem["kind"], problem["line"]) == ("refused", 4)


def test_check_without_problems(project: Project) -> None:
    run = project.cli("config", "check")
    assert (run.returncode, run.stdout) == (0, "No problems. Only the defaults are in use.\n")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param(
            ["set", "retrieval.max_injct", "2"],
            2,
            "memory: retrieval.max_injct: no such key; nearest key: retrieval.max_inject;",
            id="a misspelt key",
        ),
        pytest.param(
            ["get", "zzz"],
            2,
            "memory: zzz: no such key; `memory config show` lists all keys",
            id="no key at all",
        ),
        pytest.param(
            ["set", "retrieval", "3"],
            2,
            "memory: retrieval is a block of keys; to list them: memory config show retrieval",
            id="a block for a key",
        ),
        pytest.param(["show", "zzz"], 2, "memory: zzz: no such key", id="show of no key"),
        pytest.param(["unset", "zzz"], 2, "memory: zzz: no such key", id="unset of no key"),
        pytest.param(["unset", ""], 2, "memory: (empty): no such key", id="unset of nothing"),
        pytest.param(
            ["set", KEY, "11"],
            2,
            "memory: retrieval.max_inject: expected a whole number from 0 to 10, got 11",
            id="range",
        ),
        pytest.param(
            ["set", "hygiene.allow", '["emial"]'],
            2,
            'memory: hygiene.allow: expected a list of known ids, got one with "emial"; nearest: email;',
            id="a misspelt id",
        ),
        pytest.param(
            [],
            2,
            "memory: expected one of show, get, set, unset, check, statusline, completions;",
            id="no action",
        ),
        pytest.param(["set", KEY], 2, "memory: the following arguments are required: VALUE", id="no value"),
    ],
)
def test_errors_are_one_line_on_the_error_stream(
    project: Project, words: list[str], code: int, message: str
) -> None:
    run = project.cli("config", *words)
    assert (run.returncode, run.stdout) == (code, "")
    assert run.stderr.startswith(message)
    assert run.stderr.count("\n") == 1
    assert not os.path.exists(project.settings_path)


def test_a_broken_file_is_not_touched(project: Project) -> None:
    with open(project.settings_path, "w", encoding="utf-8") as file:
        file.write("{")
    run = project.cli("config", "set", KEY, "2")
    assert (run.returncode, run.stderr.startswith("memory: %s: expected JSON" % project.settings_path)) == (
        1,
        True,
    )
    with open(project.settings_path, encoding="utf-8") as file:
        assert file.read() == "{"


@pytest.mark.parametrize("words", [["set", KEY, "2"], ["unset", KEY]], ids=["set", "unset"])
def test_inside_the_client_a_change_needs_approval(project: Project, words: list[str]) -> None:
    before = json.dumps({"memory": {"retrieval": {"max_inject": 1}}})
    with open(project.settings_path, "w", encoding="utf-8") as file:
        file.write(before)
    run = project.cli("config", *words, inside=True)
    assert (run.returncode, run.stdout, "the user must approve this" in run.stderr) == (1, "", True)
    with open(project.settings_path, encoding="utf-8") as file:
        assert file.read() == before
    assert project.cli("config", "get", KEY, inside=True).stdout == "1\n"


def test_switching_a_judge_on_says_what_is_sent_and_what_it_may_cost(project: Project) -> None:
    loud = project.cli("config", "set", "retrieval.judge.enabled", "true").stdout.splitlines()
    assert loud[1].startswith("The judge for recall is on. It sends the prompt's beginning and end")
    assert loud[1].endswith("At most $0.25 a session and $1.00 a day for all judges.")
    again = project.cli("config", "unset", "retrieval.judge.enabled").stdout.splitlines()
    assert len(again) == 1


def test_prices_of_the_users_own_are_one_value(project: Project) -> None:
    prices = {"qwen3:4b": [0, 0], "a.b": [1.5, 7]}
    assert project.cli("config", "set", "judge.prices", json.dumps(prices)).returncode == 0
    assert json.loads(project.cli("config", "get", "judge.prices").stdout) == prices
    assert '"judge.prices"' not in project.cli("config", "check").stdout
    assert (
        "judge.prices.m: expected a list of 2 numbers"
        in project.cli("config", "set", "judge.prices", '{"m": 1}').stderr
    )
    path = project.write(".claude/settings.json", {"memory": {"judge": {"prices": {"m": [0, 0]}}}})
    assert path in project.cli("config", "check").stdout
    assert json.loads(project.cli("config", "get", "judge.prices").stdout) == prices
    project.cli("config", "unset", "judge.prices")
    assert project.cli("config", "get", "judge.prices").stdout == "{}\n"


def documented() -> list[str]:
    """Return the command lines in the help and in config/README.md."""
    with open(README, encoding="utf-8") as file:
        blocks = re.findall(r"```sh\n(.*?)```", file.read(), re.DOTALL)
    lines = handler_of("config").examples.splitlines() + "".join(blocks).splitlines()
    return [re.split(r"  +|\s#", line.strip())[0] for line in lines]


@pytest.mark.parametrize("line", documented())
def test_every_documented_command_works(project: Project, line: str) -> None:
    program, *words = shlex.split(line)
    run = project.cli(*words)
    assert (program, run.returncode, run.stderr) == ("memory", 0, "")
