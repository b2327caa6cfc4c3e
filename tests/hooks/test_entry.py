"""What every hook does first and last: clean the environment, find the project, and report a problem in one line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from memory_plugin.hooks import entry, session_events
from memory_plugin.hooks.entry import HANDLERS, Event
from memory_plugin.kernel.settings.schema import keys
from tests.project import IS_WINDOWS, PLUGIN_ROOT, SESSION, Project
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


def test_the_user_can_disable_the_hooks_through_the_environment(recalling: Project) -> None:
    assert ask(recalling, MEMORY_DISABLE="1") == ""
    assert recalling.ledger("recalls") == []
    assert TOLD in ask(recalling, MEMORY_DISABLE="0")


@pytest.mark.parametrize("name", [SHARED, LOCAL])
def test_a_project_cannot_disable_the_hooks_through_the_environment(recalling: Project, name: str) -> None:
    recalling.write(name, {"env": {"MEMORY_DISABLE": "1"}})
    assert TOLD in ask(recalling, MEMORY_DISABLE="1")


@pytest.mark.parametrize("name", [SHARED, LOCAL])
@pytest.mark.parametrize("moved", ["HOME", "CLAUDE_CONFIG_DIR"])
def test_a_project_cannot_move_the_state_folder(recalling: Project, name: str, moved: str) -> None:
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
def test_a_project_cannot_hide_the_variables_it_sets(recalling: Project, hidden: str) -> None:
    """The client can read JSON that we cannot parse."""
    evil = os.path.join(os.path.dirname(recalling.root), "evil")
    os.makedirs(evil)
    recalling.write(SHARED, hidden % evil)
    ask(recalling, CLAUDE_CONFIG_DIR=evil)
    assert os.listdir(evil) == []


def test_invalid_utf8_does_not_hide_the_variables_a_project_sets(recalling: Project) -> None:
    evil = os.path.join(os.path.dirname(recalling.root), "evil")
    os.makedirs(evil)
    path = recalling.write(SHARED, "")
    with open(path, "wb") as file:
        file.write(json.dumps({"env": {"CLAUDE_CONFIG_DIR": evil}}).encode()[:-1] + b', "x": "\xff"}')
    ask(recalling, CLAUDE_CONFIG_DIR=evil)
    assert os.listdir(evil) == []


@pytest.mark.parametrize("name", [SHARED, LOCAL])
def test_malformed_settings_do_not_prevent_recall(recalling: Project, name: str) -> None:
    texts = [
        "{",
        "[]",
        "null",
        "",
        '{"env": 5}',
        '{"env": ["HOME"]}',
        '{"env": {"\\ud800": "x", "a\\u0000b": "y"}}',
    ]
    for text in texts:
        recalling.write(name, text)
        assert TOLD in ask(recalling), text


def test_variables_set_in_the_main_worktree_are_dropped_in_a_linked_one(recalling: Project) -> None:
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


def test_settings_are_obeyed_if_the_home_folder_is_the_project(project: Project) -> None:
    """In the home folder, the settings belong to the user."""
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
def test_state_is_never_written_inside_the_project(recalling: Project, kind: str) -> None:
    inside = os.path.join(recalling.root, "cache")
    os.makedirs(inside)
    config = inside
    if kind == "a link into the project":
        config = os.path.join(os.path.dirname(recalling.root), "link")
        os.symlink(inside, config)
    elif kind == "state that leads into the project":
        config = recalling.config
        recalling.remove(os.path.join(config, "lcars"))
        os.symlink(inside, os.path.join(config, "lcars"))
    assert ask(recalling, CLAUDE_CONFIG_DIR=config) == ""
    assert os.listdir(inside) == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("name", [".claude", ".claude/lcars/memory"])
def test_state_owned_by_another_user_is_not_touched(recalling: Project, name: str) -> None:
    os.chown(os.path.join(recalling.home, name), 12345, 12345)
    before = {at: names for at, _, names in os.walk(recalling.home)}
    assert ask(recalling) == ""
    assert {at: names for at, _, names in os.walk(recalling.home)} == before


def test_the_project_is_where_the_client_started_and_not_its_current_folder(recalling: Project) -> None:
    below = os.path.join(recalling.root, "src", "deep")
    os.makedirs(below)
    event = recalling.event("UserPromptSubmit", prompt=ASK, cwd="/")
    assert TOLD in recalling.hook("UserPromptSubmit", event, CLAUDE_PROJECT_DIR=below).context


def test_a_project_with_a_long_path_is_recalled(tmp_path: Path) -> None:
    """Wine resolves no path of more than 260 characters; there the project's own path is shorter, and those of its index are not."""
    project = Project(str(tmp_path.joinpath(*["a folder with a long näme"] * (5 if IS_WINDOWS else 10))))
    no_threshold(project)
    project.save(TITLE, BODY)
    assert TOLD in project.prompt(ASK).context


def test_an_older_client_names_the_project_only_in_the_event(recalling: Project) -> None:
    event = recalling.event("UserPromptSubmit", prompt=ASK)
    recalling.root, root = os.path.dirname(recalling.root), recalling.root
    try:
        run = recalling.hook("UserPromptSubmit", event, CLAUDE_PROJECT_DIR=None)
    finally:
        recalling.root = root
    assert TOLD in run.context


def test_settings_in_the_launch_folder_disable_judges_in_another_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older client names the project only in the event, and may start the hook in another folder."""
    launch, other = tmp_path / "launch", tmp_path / "other"
    for folder in (launch, other):
        (folder / ".claude").mkdir(parents=True)
    settings = {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}
    (launch / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    taints = []

    def handle(event: Event) -> None:
        taints.append(event.taint.judges_off)

    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.setattr(session_events, "handle_stop", handle)
    monkeypatch.setattr(entry, "launch_folder", lambda: str(launch))
    monkeypatch.setattr(entry, "_read", lambda: json.dumps({"cwd": str(other)}).encode())
    assert entry.run("Stop") == 0
    assert taints == [True]


def test_an_internal_error_is_reported_with_its_location_and_no_text_from_the_user(
    recalling: Project,
) -> None:
    """A damaged installation represents an unexpected error."""
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


def test_every_hook_deadline_is_shorter_than_the_client_timeout() -> None:
    """Two seconds remain for starting the interpreter on a slow machine and for writing the ledgers."""
    with open(os.path.join(PLUGIN_ROOT, "hooks", "hooks.json"), encoding="utf-8") as file:
        hooks = json.load(file)["hooks"]
    limits = {event: hooks[event][0]["hooks"][0]["timeout"] for event in hooks}
    assert limits.keys() == HANDLERS.keys()
    assert all(seconds + 2 <= limits[event] for event, (_, _, seconds) in HANDLERS.items())
    bounds = keys()["retrieval.judge.timeout_per_call"].bounds
    assert bounds
    assert HANDLERS["UserPromptSubmit"][2] > bounds[1]


def test_no_problem_is_logged_if_nothing_went_wrong(recalling: Project) -> None:
    for prompt in (ASK, "ok", "a poem about the sea, please"):
        recalling.prompt(prompt)
    recalling.start()
    assert problems(recalling) == []
