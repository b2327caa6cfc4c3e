"""Guards on the command line: saving, confirming, listing and testing them."""

from __future__ import annotations

import json
import os
import shlex

import pytest

from tests.project import Project
from tests.recall.store_files import memory, put
from tests.rows import every

TITLE, RULE = "Never force-push main", "Others build on main; open a pull request."
FORCE = "git push --force"
IDENTITY = "never-force-push-main"


def saved(project: Project, *more: str, inside: bool = False) -> str:
    """Save a guarded memory and return its id."""
    return project.save(TITLE, RULE, "--guard-command", FORCE, *more, category="constraint", inside=inside)


def states(project: Project) -> dict[str, str]:
    """Return the state of each guard, by the id of its memory."""
    run = project.cli("guards", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    return {row["id"]: row["state"] for row in run.json["guards"]}


def typed(project: Project, prompt: str) -> None:
    """Let the user type a prompt in the client."""
    assert project.user_types(prompt).returncode == 0


def in_file(project: Project, identity: str = IDENTITY) -> object:
    """Return the guard in a memory's file."""
    run = project.cli("show", identity, "--json")
    with open(run.json["path"], encoding="utf-8") as file:
        return json.load(file).get("guard")


def test_a_guard_that_the_user_saves_is_in_force(project: Project) -> None:
    identity = saved(project, "--guard-file", "db/*.sql", "--guard-action", "ask")
    assert states(project) == {identity: "in force"}
    assert in_file(project) == {"files": ["db/*.sql"], "commands": [FORCE], "action": "ask"}


def test_saving_accepting_showing_and_listing_say_it_in_words(project: Project) -> None:
    words = "blocks the first call in each session that runs `git push --force`, and shows Claude this memory"
    options = ("--category", "constraint", "--title", TITLE, "--body", RULE, "--guard-command", FORCE)
    assert words in project.cli("save", *options).stdout
    assert words in project.cli("show", IDENTITY).stdout
    assert project.cli("show", IDENTITY, "--json").json["guard"]["commands"] == [FORCE]
    assert "in force: " + words in " ".join(project.cli("guards").stdout.split())
    put(project, "other", memory("Other", "x", guard={"commands": ["terraform apply"], "action": "ask"}))
    assert (
        "Claude Code asks you each time Claude runs `terraform apply`"
        in project.cli("accept", "other").stdout
    )
    assert "2 guards in force" in project.cli("status").stdout
    assert project.cli("status", "--json").json["guards"] == 2


def test_a_path_in_the_project_becomes_a_pattern_from_its_root(project: Project) -> None:
    saved(project, "--guard-file", os.path.join(os.path.realpath(project.root), "db", "x.sql"))
    assert in_file(project) == {"files": ["/db/x.sql"], "commands": [FORCE], "action": "remind"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--guard-command", "a | b"], "guard.commands[0]: expected the start of one command"),
        (["--guard-command", " "], "guard.commands[0]: expected one line"),
        (["--guard-file", "!a"], "there are no exceptions"),
        (["--guard-file", "../a"], "leave out . and .."),
        (["--guard-action", "ask"], "--guard-action needs --guard-command or --guard-file"),
        (["--guard-command", "x" * 201], "expected one line of 1 to 200 visible characters"),
    ],
)
def test_an_impossible_guard_is_refused_and_nothing_is_saved(
    project: Project, options: list[str], message: str
) -> None:
    run = project.cli("save", "--category", "constraint", "--title", TITLE, "--body", RULE, *options)
    assert (run.returncode, run.stdout) == (1, "")
    assert message in run.stderr
    assert project.memories() == []


def test_editing_replaces_one_part_and_removes_the_whole(project: Project) -> None:
    saved(project, "--guard-file", "db/")
    assert (
        project.cli("edit", IDENTITY, "--guard-command", "git push -f", "--guard-command", FORCE).returncode
        == 0
    )
    assert in_file(project) == {"files": ["db/"], "commands": ["git push -f", FORCE], "action": "remind"}
    assert project.cli("edit", IDENTITY, "--guard-action", "ask").returncode == 0
    assert in_file(project) == {"files": ["db/"], "commands": ["git push -f", FORCE], "action": "ask"}
    assert states(project) == {IDENTITY: "in force"}
    assert project.cli("edit", IDENTITY, "--guard-command", "none", "--guard-file", "none").returncode == 0
    assert in_file(project) is None
    assert states(project) == {}


@pytest.mark.parametrize(
    "prompt", ["remember that we never force-push main", "/memory:save never force-push main"]
)
def test_inside_the_client_a_guard_is_pending_whatever_the_prompt_asked_for(
    project: Project, prompt: str
) -> None:
    typed(project, prompt)
    assert states(project) == {}
    identity = saved(project, inside=True)
    assert states(project) == {identity: "pending"}
    plain = project.save("Plain", "A rule without a guard.", inside=True)
    trust = {row["id"]: row["trust"] for row in project.memories()}
    assert trust == {identity: "pending", plain: "trusted"}


def test_a_request_to_remember_does_not_confirm_a_guard_and_the_users_command_does(project: Project) -> None:
    typed(project, "remember that we never force-push main")
    identity = saved(project, inside=True)
    refused = project.cli("accept", identity, inside=True)
    assert (refused.returncode, states(project)) == (1, {identity: "pending"})
    assert project.cli_allowed("accept", identity).returncode == 0
    assert states(project) == {identity: "in force"}


@pytest.mark.parametrize(
    "command",
    every(
        3,
        [
            ["forget", IDENTITY],
            ["forget", "--keep", IDENTITY],
            ["edit", IDENTITY, "--guard-command", "none"],
            ["edit", IDENTITY, "--guard-action", "ask"],
            ["edit", IDENTITY, "--superseded-by", "plain"],
            ["save", "--category", "decision", "--title", "New", "--body", "b", "--supersedes", IDENTITY],
        ],
    ),
    ids=" ".join,
)
def test_claude_cannot_remove_a_guard_even_on_a_save_request(project: Project, command: list[str]) -> None:
    saved(project)
    project.save("plain", "A rule without a guard.")
    typed(project, "remember that we never force-push main")
    project.cli(*command, inside=True)
    assert states(project)[IDENTITY] in ("in force", "last trusted version in force")
    matches = project.cli("guards", "test", FORCE, "--json").json["matches"]
    assert [(row["matched"], row["action"]) for row in matches] == [(FORCE, "remind")]


def test_json_may_come_before_the_tested_command(project: Project) -> None:
    assert project.cli("guards", "test", "--json", FORCE).json == {"enabled": True, "matches": []}


def test_a_save_names_other_spellings_of_bundled_options(project: Project) -> None:
    options = ("save", "--category", "constraint", "--title", TITLE, "--body", RULE, "--guard-command")
    text = " ".join(project.cli(*options, "rm -rf data").stdout.split())
    assert "the same: `rm --recursive --force data`, `rm -Rf data`." in text


def test_a_save_names_the_other_form_of_an_option(project: Project) -> None:
    options = ("save", "--category", "constraint", "--title", TITLE, "--body", RULE, "--guard-command")
    text = " ".join(project.cli(*options, FORCE).stdout.split())
    assert "not guarded, but the same: `git push -f`" in text
    both = project.cli(*shlex.split(text.partition("To guard both: memory ")[2]))
    assert "not guarded" not in both.stdout
    assert project.cli("guards", "test", "git push -f", "--json").json["matches"]


def test_accepting_everything_leaves_guards_out(project: Project) -> None:
    put(project, "guarded", memory("Guarded", "x", guard={"commands": ["ls"]}))
    put(project, "plain", memory("Plain", "y"))
    assert project.cli("accept", "--all").returncode == 0
    trust = {row["id"]: row["trust"] for row in project.memories()}
    assert trust == {"guarded": "pending", "plain": "trusted"}


def test_a_guard_that_cannot_be_read_is_listed_with_the_reason(project: Project) -> None:
    put(project, "damaged", memory("Damaged", "x", guard={"commands": "ls"}))
    (row,) = project.cli("guards", "--json").json["guards"]
    assert (row["state"], row["guard"]) == ("invalid", None)
    assert row["problem"].startswith("guard.commands: expected a list of at most 32 texts, got str")
    assert "guard: invalid: guard.commands" in project.cli("show", "damaged").stdout


@pytest.mark.parametrize(
    ("command", "matched"),
    [
        ("cd app && sudo git push origin --force", [FORCE]),
        ("echo 'git push --force'", []),
        ("git push --force-with-lease", []),
    ],
)
def test_testing_a_command(project: Project, command: str, matched: list[str]) -> None:
    saved(project)
    found = project.cli("guards", "test", command, "--json").json["matches"]
    assert [row["matched"] for row in found] == matched
    message = project.cli("guards", "test", command).stdout
    assert ("` matches: " in message, "No guard in force" in message) == (bool(matched), not matched)
    assert not os.path.exists(os.path.join(project.state, "recalls.jsonl"))


def test_testing_a_file(project: Project) -> None:
    saved(project, "--guard-file", "db/*.sql")
    for path, matched in (("db/1.sql", ["db/*.sql"]), ("db/1.txt", [])):
        found = project.cli("guards", "test", "--file", path, "--json").json["matches"]
        assert [row["matched"] for row in found] == matched


@pytest.mark.parametrize("words", [["test"], ["test", "a", "--file", "b"], ["list", "a"], ["--file", "b"]])
def test_wrong_usage(project: Project, words: list[str]) -> None:
    assert project.cli("guards", *words).returncode == 2


def test_switched_off_it_says_so(project: Project) -> None:
    saved(project)
    project.write_settings(guards={"enabled": False})
    assert states(project) == {IDENTITY: "off"}
    for words in ([], ["test", FORCE]):
        assert "memory config set guards.enabled true" in project.cli("guards", *words).stdout


def test_why_explains_a_guarded_call(project: Project) -> None:
    saved(project)
    event = project.event("PreToolUse", tool_name="Bash", tool_input={"command": FORCE}, prompt_id="p9")
    project.hook("PreToolUse", event)
    assert "a guard blocked a call once and showed claude its memory (never-force-push-main)" in " ".join(
        project.cli("why").stdout.lower().split()
    )
    project.hook("PreToolUse", event)
    assert "Claude was already reminded in this session" in " ".join(project.cli("status").stdout.split())
