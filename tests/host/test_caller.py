"""Who runs a command, according to its parent processes and the records of hooks."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memory_plugin.host import ancestry, caller
from memory_plugin.host.ancestry import (
    Ancestor,
    ClientRecord,
    hand_over,
    outer_client,
    read_record,
    record_client,
)
from memory_plugin.host.caller import Caller, identify, is_route
from memory_plugin.kernel.paths import Paths
from tests.project import SESSION, Project

MARKED = {"CLAUDECODE": "1"}


def process(pid: int, name: str, env: dict[str, str] | None = None, *, terminal: bool = True) -> Ancestor:
    """Return a process with its environment."""
    ancestor = Ancestor(pid, pid - 1, str(pid * 10), name, terminal=terminal, words=(name,))
    ancestor._environment = env or {}
    return ancestor


def chain_of(*names: str) -> list[Ancestor]:
    """Return a chain of processes, nearest first; `*` marks one that a client started."""
    return [
        process(90 - at, name.rstrip("*"), MARKED if name.endswith("*") else {})
        for at, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        pytest.param(chain_of("python3", "bash", "sshd"), None, id="a terminal"),
        pytest.param(chain_of("python3*", "bash*", "claude", "bash"), 2, id="a command of Claude's"),
        pytest.param(chain_of("python3", "claude", "bash"), 1, id="Claude starts it without a shell"),
        pytest.param(
            chain_of("python3*", "claude*", "bash*", "claude", "bash"), 3, id="a client in a client"
        ),
        pytest.param(
            chain_of("python3", "claude", "bash*", "claude", "bash"), 3, id="a client that removes its mark"
        ),
        pytest.param(
            chain_of("python3*", "bash*", "claude", "claude", "bash"), 2, id="a wrapper of the same name"
        ),
        pytest.param(chain_of("python3*", "claude*", "tmux*"), None, id="an outer client that has ended"),
        pytest.param([], None, id="nothing known"),
    ],
)
def test_the_user_s_own_client(chain: list[Ancestor], client: int | None) -> None:
    found = outer_client(chain)
    assert found is (None if client is None else chain[client])


def account_home(project: Project) -> str:
    """Return the home folder of the account, as the system would name it."""
    return os.path.join(os.path.dirname(project.home), "account")


@pytest.fixture(autouse=True)
def _environment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        os, "environ", {"HOME": project.home, "CLAUDE_CONFIG_DIR": project.config, "PATH": "/bin"}
    )
    home = account_home(project)
    monkeypatch.setattr(ancestry, "account_home", lambda: home)
    monkeypatch.setattr(caller, "account_home", lambda: home)
    monkeypatch.chdir(project.root)


def test_a_command_in_a_terminal_keeps_its_environment(project: Project) -> None:
    os.environ["OPENAI_BASE_URL"] = "https://example.org"
    runner = Caller(chain_of("python3", "bash", "sshd"))
    assert (runner.inside, runner.session) == (False, "")
    assert runner.settle(project.root).why_off == ""
    assert os.environ["OPENAI_BASE_URL"] == "https://example.org"


@pytest.mark.parametrize("env", [{"CLAUDECODE": "1"}, {"CLAUDE_CODE_SESSION_ID": "s"}], ids=" ".join)
def test_the_mark_alone_means_inside_and_no_key_of_an_unknown_folder_is_used(
    project: Project, env: dict[str, str]
) -> None:
    os.environ.update(env)
    runner = Caller([process(90, "python3", env), *chain_of("bash", "cron")])
    taint = runner.settle(project.root)
    assert runner.inside
    assert taint.judges_off
    assert project.config in taint.why_off


def test_the_account_s_own_folder_is_known(project: Project) -> None:
    os.environ.update(MARKED, HOME=account_home(project))
    del os.environ["CLAUDE_CONFIG_DIR"]
    assert Caller([process(90, "python3", MARKED)]).settle(project.root).why_off == ""


def test_inside_the_client_its_environment_is_restored(project: Project) -> None:
    launch = {"HOME": project.home, "OPENAI_API_KEY": "own", "OPENAI_BASE_URL": "https://own.example"}
    os.environ.update(
        MARKED, HOME="/evil", OPENAI_API_KEY="theirs", LANGFUSE_HOST="https://evil.example", EDITOR="vi"
    )
    os.environ["CLAUDE_PROJECT_DIR"] = "/usr"
    chain = [process(90, "python3", MARKED), process(89, "bash", MARKED), process(88, "claude", launch)]
    runner = Caller(chain)
    runner.settle(project.root)
    left = {name: value for name, value in os.environ.items() if name not in MARKED and name[:6] != "PYTEST"}
    assert left == {"HOME": project.home, "OPENAI_API_KEY": "own", "PATH": "/bin", "EDITOR": "vi"}
    assert runner.ignored == {"LANGFUSE_HOST"}


def test_addresses_of_the_user_s_own_file_stay(project: Project) -> None:
    project.write_settings({"OPENAI_BASE_URL": "https://own.example", "HOME": "/x", "PLAIN": "y"})
    os.environ.update(MARKED, OPENAI_BASE_URL="https://evil.example")
    Caller([process(90, "python3", MARKED), process(88, "claude", {"HOME": project.home})]).settle(
        project.root
    )
    assert os.environ["OPENAI_BASE_URL"] == "https://own.example"
    assert (os.environ["HOME"], "PLAIN" in os.environ) == (project.home, False)


def test_without_a_readable_environment_the_record_of_a_hook_names_the_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a system without /proc, the record is in the account's own config folder."""
    client = process(88, "claude")
    account = str(ancestry.account_config())
    monkeypatch.setitem(os.environ, "HOME", os.path.dirname(account))
    record_client(Paths(project.root), SESSION, client)
    assert read_record(account, client) is not None
    os.environ.update(MARKED, HOME="/evil", CLAUDE_CONFIG_DIR="/evil/.claude", CLAUDE_CODE_SESSION_ID="other")
    runner = Caller([process(90, "python3"), process(89, "bash"), client])
    taint = runner.settle("/usr")
    assert (os.environ["CLAUDE_CONFIG_DIR"], runner.session, taint.why_off) == (project.config, SESSION, "")


def test_for_an_unknown_client_the_home_of_the_account_is_used(project: Project) -> None:
    os.environ.update(MARKED, HOME="/evil", CLAUDE_CONFIG_DIR="/evil/.claude")
    Caller([process(90, "python3"), process(88, "claude")]).settle(project.root)
    assert os.environ["HOME"] == account_home(project)
    assert "CLAUDE_CONFIG_DIR" not in os.environ


def test_the_settings_of_the_recorded_project_are_read_for_any_folder(project: Project) -> None:
    project.write(".claude/settings.json", {"env": {"OPENAI_API_KEY": "theirs"}})
    client = process(88, "claude", {"HOME": project.home, "CLAUDE_CONFIG_DIR": project.config})
    record_client(Paths(project.root), SESSION, client)
    os.environ.update(MARKED, OPENAI_API_KEY="theirs")
    os.chdir("/")
    taint = Caller([process(90, "python3", MARKED), client]).settle("/usr")
    assert "OPENAI_API_KEY" in taint.why_off
    assert "OPENAI_API_KEY" not in os.environ


CHANGED: list[dict[str, Any]] = [
    {"start": "other"},
    {"boot": "other"},
    {"pid": 89},
    {"pid": "x"},
    {"sessions": 3},
]


@pytest.mark.parametrize("change", CHANGED, ids=str)
def test_a_record_counts_for_one_process_since_the_last_boot(
    project: Project, change: dict[str, Any]
) -> None:
    client = process(88, "claude")
    record_client(Paths(project.root), SESSION, client)
    path = os.path.join(project.state, "clients", "88.json")
    with open(path, encoding="ascii") as file:
        row = json.load(file)
    assert isinstance(read_record(project.config, client), ClientRecord)
    with open(path, "w", encoding="ascii") as file:
        json.dump({**row, **change}, file)
    assert read_record(project.config, client) is None


def test_a_record_is_written_once_and_keeps_the_last_sessions(project: Project) -> None:
    client, paths = process(88, "claude"), Paths(project.root)
    path = os.path.join(project.state, "clients", "88.json")
    record_client(paths, "s0", client)
    before = os.stat(path)
    record_client(paths, "s0", client)
    assert os.stat(path).st_ino == before.st_ino
    for at in range(12):
        record_client(paths, "s%d" % at, client)
    record = read_record(project.config, client)
    assert record is not None
    assert record.sessions == ["s%d" % at for at in range(4, 12)]
    assert (record.session("s5"), record.session("made up")) == ("s5", "s11")
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_client_inside_another_client_is_not_recorded(project: Project) -> None:
    record_client(Paths(project.root), SESSION, process(88, "claude", MARKED))
    assert not os.path.exists(os.path.join(project.state, "clients"))


@pytest.mark.parametrize(
    "words", [["accept", "--all"], ["config", "set"], ["session", "score"], []], ids=" ".join
)
def test_a_mark_of_a_hook_proves_only_background_commands(project: Project, words: list[str]) -> None:
    os.environ["MEMORY_HANDED_OVER"] = hand_over()
    os.environ.update(MARKED)
    assert identify(words).inside
    assert "MEMORY_HANDED_OVER" not in os.environ


@pytest.mark.parametrize("words", [["refresh"], ["background"], ["session", "ended"]], ids=" ".join)
def test_a_mark_of_a_hook_works_once(project: Project, words: list[str]) -> None:
    name = os.environ["MEMORY_HANDED_OVER"] = hand_over()
    assert not identify(words).inside
    os.environ.update(MARKED, MEMORY_HANDED_OVER=name)
    assert identify(words).inside


@pytest.mark.parametrize("name", ["", "1", "true", "..", "../clients", "0" * 36])
def test_a_mark_that_no_hook_wrote_proves_nothing(project: Project, name: str) -> None:
    hand_over()
    os.environ.update(MARKED, MEMORY_HANDED_OVER=name)
    assert identify(["refresh"]).inside


def detached(*chain: tuple[str, int], terminal: bool) -> list[Ancestor]:
    """Return a chain of (name, start time), nearest first, that ends below init."""
    rows = [*chain, ("init", 0)]
    return [
        Ancestor(
            90 - at, 89 - at if name != "init" else 0, str(start), name, terminal=terminal, words=(name,)
        )
        for at, (name, start) in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("chain", "inside"),
    [
        pytest.param(detached(("python3", 900), terminal=False), True, id="setsid"),
        pytest.param(
            detached(("python3", 900), ("sh", 800), terminal=False), True, id="nohup in a detached shell"
        ),
        pytest.param(
            detached(("python3", 900), ("sh", 800), ("script", 700), terminal=True),
            True,
            id="script in a session of its own",
        ),
        pytest.param(
            detached(("python3", 900), ("bash", 800), ("tmux: server", 700), terminal=True),
            True,
            id="a new tmux server",
        ),
        pytest.param(
            detached(("python3", 900), ("bash", 800), ("tmux: server", 100), terminal=True),
            False,
            id="the user's tmux server",
        ),
        pytest.param(
            detached(("python3", 900), ("bash", 800), ("sshd", 100), terminal=True),
            False,
            id="the user's ssh session",
        ),
        pytest.param(
            detached(("python3", 900), ("cron", 100), terminal=False),
            True,
            id="a job without a terminal while a client runs",
        ),
    ],
)
def test_a_detached_command_counts_as_claudes_while_a_client_runs(
    project: Project, chain: list[Ancestor], inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Ancestor(500, 1, "500", "claude", terminal=True, words=("claude",))
    record_client(Paths(project.root), SESSION, client)
    monkeypatch.setattr(ancestry, "finder", lambda: {500: client}.get)
    assert Caller(chain).inside is inside


def test_a_detached_command_is_the_users_when_no_client_runs(project: Project) -> None:
    assert not Caller(detached(("python3", 900), terminal=False)).inside


def test_a_terminal_that_another_user_s_server_opened_is_the_users(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an SSH server, or the relay of a Linux subsystem, which root owns."""
    client = Ancestor(500, 1, "500", "claude", terminal=True, words=("claude",))
    record_client(Paths(project.root), SESSION, client)
    monkeypatch.setattr(ancestry, "finder", lambda: {500: client}.get)
    monkeypatch.setattr(Ancestor, "is_another_users", lambda self: self.name == "SessionLeader")
    assert not Caller(detached(("python3", 900), ("bash", 800), ("SessionLeader", 700), terminal=True)).inside


def test_a_terminal_with_a_control_group_of_its_own_is_the_users(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Ancestor(500, 1, "500", "claude", terminal=True, words=("claude",))
    record_client(Paths(project.root), SESSION, client)
    monkeypatch.setattr(ancestry, "finder", lambda: {500: client}.get)
    monkeypatch.setattr(Ancestor, "control_group", lambda self: self.name)
    assert not Caller(detached(("python3", 900), ("bash", 800), ("kitty", 700), terminal=True)).inside


def test_variables_that_affect_where_keys_are_sent() -> None:
    cases = [
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
        "LANGFUSE_HOST",
        "https_proxy",
        "ALL_PROXY",
        "NO_PROXY",
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "OPENSSL_CONF",
        "ANTHROPIC_CUSTOM_HEADERS",
        "CLAUDE_CODE_CLIENT_CERT",
        "REQUESTS_CA_BUNDLE",
    ]
    assert [name for name in cases if not is_route(name)] == []


def test_variables_that_do_not_affect_routes() -> None:
    cases = ["OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "LANGFUSE_SECRET_KEY", "HOME", "PATH", "EDITOR"]
    assert [name for name in cases if is_route(name)] == []
