"""What every hook does first and last: the environment cleaned, the right project, one line where something was wrong."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from memory_plugin.hooks import entry
from memory_plugin.hooks.entry import HANDLERS
from memory_plugin.hooks.environment import Taint
from memory_plugin.kernel.settings.schema import keys
from tests.project import PLUGIN_ROOT, SESSION, Project
from tests.recall.store_files import ASK, BODY, TITLE, TOLD, no_threshold, problems

LOCAL, SHARED = ".claude/settings.local.json", ".claude/settings.json"


@pytest.fixture
def recalling(project: Project) -> Project:
    """Return a project whose one memory answers ASK."""
    no_threshold(project)
    project.save(TITLE, BODY)
    return project


def ask(project: Project, **env: str | None) -> str:
    """Return what a new session is told, with this in the environment."""
    event = project.event("UserPromptSubmit", prompt=ASK, session_id=os.urandom(4).hex())
    run = project.hook("UserPromptSubmit", event, **env)
    assert (run.returncode, run.stderr) == (0, "")
    return run.context


def test_the_user_can_switch_it_off(recalling: Project) -> None:
    assert ask(recalling, MEMORY_DISABLE="1") == ""
    assert recalling.ledger("recalls") == []
    assert TOLD in ask(recalling, MEMORY_DISABLE="0")


@pytest.mark.parametrize("name", [SHARED, LOCAL])
def test_a_project_cannot_switch_it_off_through_the_environment(recalling: Project, name: str) -> None:
    recalling.write(name, {"env": {"MEMORY_DISABLE": "1"}})
    assert TOLD in ask(recalling, MEMORY_DISABLE="1")


@pytest.mark.parametrize("name", [SHARED, LOCAL])
@pytest.mark.parametrize("moved", ["HOME", "CLAUDE_CONFIG_DIR"])
def test_a_project_cannot_move_our_state(recalling: Project, name: str, moved: str) -> None:
    evil = os.path.join(os.path.dirname(recalling.root), "evil")
    os.makedirs(evil)
    recalling.write(name, {"env": {moved: evil}})
    told = ask(recalling, **{moved: evil, **({"CLAUDE_CONFIG_DIR": None} if moved == "HOME" else {})})
    assert os.listdir(evil) == []
    assert (TOLD in told) == (moved == "CLAUDE_CONFIG_DIR"), "without a home there is silence"


@pytest.mark.parametrize(
    "hidden",
    [
        pytest.param(
            '{"n": %s, "env": {"CLAUDE_CONFIG_DIR": "%%s"}}' % ("9" * 20_000), id="behind a long number"
        ),
        pytest.param(
            '{"n": %s, "env": {"CLAUDE_CONFIG_DIR": "%%s"}}' % ("[" * 50_000 + "]" * 50_000),
            id="behind deep nesting",
        ),
        pytest.param(
            '{"n": %s, "env": {"CLAUDE_\\u0043ONFIG_DIR": "%%s"}}' % ("9" * 20_000), id="in another spelling"
        ),
        pytest.param('\ufeff{"env": {"CLAUDE_CONFIG_DIR": "%s"}}', id="behind a byte order mark"),
        pytest.param(
            '{"env": {"CLAUDE_CONFIG_DIR": "%s"}, "x": "' + "y" * 2_000_000 + '"}', id="in a file of 2 MB"
        ),
        pytest.param('{"env": {}, "env": {"CLAUDE_CONFIG_DIR": "%s"}}', id="in a second block"),
    ],
)
def test_a_project_cannot_hide_what_it_sets(recalling: Project, hidden: str) -> None:
    """The client reads JSON that we cannot."""
    evil = os.path.join(os.path.dirname(recalling.root), "evil")
    os.makedirs(evil)
    recalling.write(SHARED, hidden % evil)
    ask(recalling, CLAUDE_CONFIG_DIR=evil)
    assert os.listdir(evil) == []


def test_bytes_that_are_no_utf8_hide_nothing(recalling: Project) -> None:
    evil = os.path.join(os.path.dirname(recalling.root), "evil")
    os.makedirs(evil)
    path = recalling.write(SHARED, "")
    with open(path, "wb") as file:
        file.write(json.dumps({"env": {"CLAUDE_CONFIG_DIR": evil}}).encode()[:-1] + b', "x": "\xff"}')
    ask(recalling, CLAUDE_CONFIG_DIR=evil)
    assert os.listdir(evil) == []


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", "", '{"env": 5}', '{"env": ["HOME"]}', '{"env": {"\\ud800": "x", "a\\u0000b": "y"}}'],
)
@pytest.mark.parametrize("name", [SHARED, LOCAL])
def test_settings_of_a_wrong_form_do_no_harm(recalling: Project, name: str, text: str) -> None:
    recalling.write(name, text)
    assert TOLD in ask(recalling)


def test_what_the_main_worktree_sets_is_dropped_in_a_linked_one(recalling: Project) -> None:
    recalling.git("add", "-A")
    recalling.git("commit", "-q", "-m", "first")
    linked = os.path.join(os.path.dirname(recalling.root), "linked")
    recalling.git("worktree", "add", "-q", linked)
    evil = os.path.join(os.path.dirname(recalling.root), "evil")
    os.makedirs(evil)
    recalling.write(LOCAL, {"env": {"CLAUDE_CONFIG_DIR": evil}})
    recalling.root = linked
    ask(recalling, CLAUDE_CONFIG_DIR=evil)
    assert os.listdir(evil) == []


def test_a_home_that_is_the_project_keeps_what_its_settings_say(project: Project) -> None:
    """There the settings are the user's own."""
    project.root, project.state = project.home, os.path.join(project.config, "lcars", "memory")
    project.git("init", "-q")
    project.write(".claude/settings.json", {"env": {"MEMORY_DISABLE": "1"}})
    project.hook("UserPromptSubmit", project.event("UserPromptSubmit", prompt=ASK), MEMORY_DISABLE="1")
    assert project.ledger("recalls") == []
    project.hook("UserPromptSubmit", project.event("UserPromptSubmit", prompt=ASK))
    assert len(project.ledger("recalls")) == 1


@pytest.mark.parametrize(
    "kind", ["inside the project", "a link into the project", "state that leads into the project"]
)
def test_state_never_lies_in_the_project(recalling: Project, kind: str) -> None:
    inside = os.path.join(recalling.root, "cache")
    os.makedirs(inside)
    config = inside
    if kind == "a link into the project":
        config = os.path.join(os.path.dirname(recalling.root), "link")
        os.symlink(inside, config)
    elif kind == "state that leads into the project":
        config = recalling.config
        shutil.rmtree(os.path.join(config, "lcars"))
        os.symlink(inside, os.path.join(config, "lcars"))
    assert ask(recalling, CLAUDE_CONFIG_DIR=config) == ""
    assert os.listdir(inside) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("name", [".claude", ".claude/lcars/memory"])
def test_state_of_another_user_is_left_alone(recalling: Project, name: str) -> None:
    os.chown(os.path.join(recalling.home, name), 12345, 12345)
    before = {at: names for at, _, names in os.walk(recalling.home)}
    assert ask(recalling) == ""
    assert {at: names for at, _, names in os.walk(recalling.home)} == before


def test_the_project_is_where_the_client_started_not_where_it_is_now(recalling: Project) -> None:
    below = os.path.join(recalling.root, "src", "deep")
    os.makedirs(below)
    event = recalling.event("UserPromptSubmit", prompt=ASK, cwd="/")
    assert TOLD in recalling.hook("UserPromptSubmit", event, CLAUDE_PROJECT_DIR=below).context


def test_an_older_host_only_tells_where_it_is(recalling: Project) -> None:
    event = recalling.event("UserPromptSubmit", prompt=ASK)
    recalling.root, root = os.path.dirname(recalling.root), recalling.root
    try:
        run = recalling.hook("UserPromptSubmit", event, CLAUDE_PROJECT_DIR=None)
    finally:
        recalling.root = root
    assert TOLD in run.context


def test_settings_of_the_launch_folder_and_of_the_project_both_keep_judges_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older host names the project only in the event, and may start the hook in another folder."""
    launch, other = tmp_path / "launch", tmp_path / "other"
    for folder in (launch, other):
        (folder / ".claude").mkdir(parents=True)
    settings = {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}
    (launch / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    taints = []

    def handle(payload: object, paths: object, taint: Taint, deadline: object) -> None:
        taints.append(taint.judges_off)

    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.setattr(entry, "HANDLERS", {"Stop": (lambda: handle, 5.0)})
    monkeypatch.setattr(entry, "launch_folder", lambda: str(launch))
    monkeypatch.setattr(entry, "_read", lambda: json.dumps({"cwd": str(other)}).encode())
    assert entry.run("Stop") == 0
    assert taints == [True]


def test_a_fault_of_ours_is_named_by_its_place_without_a_word_of_the_users(recalling: Project) -> None:
    """A damaged installation stands for a fault that nobody thought of."""
    copy = os.path.join(os.path.dirname(recalling.root), "plugin")
    for part in ("hooks", "scripts", "config"):
        shutil.copytree(
            os.path.join(recalling.plugin_root, part),
            os.path.join(copy, part),
            ignore=shutil.ignore_patterns("*.pyc"),
        )
    with open(
        os.path.join(copy, "scripts", "memory_plugin", "recall", "query.py"), "a", encoding="utf-8"
    ) as file:
        file.write("\ndef analyze(text, extra=''):\n    raise ArithmeticError(text)\n")
    recalling.plugin_root = copy
    run = recalling.prompt("my secret plan for the billing database")
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.startswith("memory: UserPromptSubmit: ArithmeticError at query.py:")
    assert [row["kind"] for row in recalling.ledger("events")] == ["error"]
    assert "secret" not in run.stderr + json.dumps(recalling.ledger("events"))
    assert [(row["outcome"], row["session"]) for row in recalling.ledger("recalls")] == [("failed", SESSION)]


def test_every_event_ends_before_the_host_ends_it() -> None:
    """With two seconds for the interpreter's start on a slow machine, and for the records at the end."""
    with open(os.path.join(PLUGIN_ROOT, "hooks", "hooks.json"), encoding="utf-8") as file:
        hooks = json.load(file)["hooks"]
    limits = {event: hooks[event][0]["hooks"][0]["timeout"] for event in hooks}
    assert limits.keys() == HANDLERS.keys()
    assert all(seconds + 2 <= limits[event] for event, (_, seconds) in HANDLERS.items())
    assert HANDLERS["UserPromptSubmit"][1] > keys()["retrieval.judge.timeout_per_call"].rule["maximum"]


def test_nothing_is_noted_where_nothing_was_wrong(recalling: Project) -> None:
    for prompt in (ASK, "ok", "a poem about the sea, please"):
        recalling.prompt(prompt)
    recalling.start()
    assert problems(recalling) == []
