"""Variables that a project sets are removed from the environment before anything uses them."""

from __future__ import annotations

import os
import time

import pytest

from memory_plugin.host import environment
from memory_plugin.host.environment import clean, is_sensitive, launch_folder, switched_off
from tests.project import Project, posix


@pytest.fixture(autouse=True)
def _own_environment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        os, "environ", dict(os.environ, HOME=project.home, CLAUDE_CONFIG_DIR=project.config, PLAIN="1")
    )


def test_names_that_control_where_keys_and_texts_are_sent_are_sensitive() -> None:
    cases = [
        "ANTHROPIC_API_KEY",
        "anthropic_base_url",
        "HTTPS_PROXY",
        "no_proxy",
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_FILE",
        "PYTHONPATH",
        "LD_PRELOAD",
        "HOME",
        "PATH",
        "TMPDIR",
        "CLAUDE_CONFIG_DIR",
        "CLAUDECODE",
        "MEMORY_DISABLE",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
    ]
    assert [name for name in cases if not is_sensitive(name)] == []


def test_ordinary_names_are_not_sensitive() -> None:
    assert [name for name in ["NODE_ENV", "DEBUG", "EDITOR", "LANG", "PORT"] if is_sensitive(name)] == []


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
def test_every_variable_set_by_the_project_is_dropped_and_recorded(project: Project, file: str) -> None:
    path = project.write(
        ".claude/" + file, {"env": {"PLAIN": "evil", "CLAUDE_CONFIG_DIR": "/evil", "ABSENT": "x"}}
    )
    below = os.path.join(project.root, "src")
    os.makedirs(below)
    taint = clean(below)
    real = os.path.realpath(path)
    assert taint.names == {"PLAIN": real, "CLAUDE_CONFIG_DIR": real, "ABSENT": real}
    assert "PLAIN" not in os.environ
    assert "CLAUDE_CONFIG_DIR" not in os.environ
    assert os.environ["HOME"] == project.home
    assert taint.judges_off


@pytest.mark.parametrize("content", ['{"env": %s}', '{"env": %s, "x": NaN1}'], ids=["read", "not read"])
@pytest.mark.parametrize("any_case", [True, False], ids=["windows", "elsewhere"])
def test_names_are_case_insensitive_only_on_windows(
    project: Project, monkeypatch: pytest.MonkeyPatch, content: str, *, any_case: bool
) -> None:
    monkeypatch.setattr(environment, "_ANY_CASE", any_case)
    names = '{"plain": "evil", "Claude_config_Dir": "/evil"}'
    project.write(".claude/settings.json", content % names)
    taint = clean(project.root)
    assert ("PLAIN" in os.environ, "CLAUDE_CONFIG_DIR" in os.environ) == (not any_case, not any_case)
    assert {"PLAIN", "CLAUDE_CONFIG_DIR"}.issubset(taint.names) == any_case


def test_settings_in_the_launch_folder_also_count(project: Project) -> None:
    below = os.path.join(project.root, "packages", "a")
    os.makedirs(below)
    project.write("packages/a/.claude/settings.json", {"env": {"PLAIN": "evil"}})
    assert list(clean(below).names) == ["PLAIN"]


def test_settings_in_the_main_worktree_also_count(project: Project) -> None:
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    linked = os.path.join(os.path.dirname(project.root), "linked")
    project.git("worktree", "add", "-q", linked)
    project.write(".claude/settings.local.json", {"env": {"PLAIN": "evil"}})
    assert list(clean(linked).names) == ["PLAIN"]


def test_harmless_names_do_not_disable_judges(project: Project) -> None:
    project.write(".claude/settings.json", {"env": {"NODE_ENV": "test"}})
    assert not clean(project.root).judges_off


@pytest.mark.parametrize(
    "content",
    ["", "{}", '{"env": null}', '{"env": ["PLAIN"]}', '{"env": {}}', "[]", '"env"'],
)
def test_nothing_is_dropped_if_the_project_sets_nothing(project: Project, content: str) -> None:
    project.write(".claude/settings.json", content)
    taint = clean(project.root)
    assert taint.names == {}
    assert os.environ["PLAIN"] == "1"


@pytest.mark.parametrize(
    "content",
    ["{", '{"env": {"PLAIN": 1}', "[" * 100_000, "\ufeff{,}"],
    ids=["cut", "open", "deep", "no JSON"],
)
def test_unreadable_settings_disable_judges(project: Project, content: str) -> None:
    path = project.write(".claude/settings.json", content)
    taint = clean(project.root)
    assert taint.judges_off
    assert taint.unread == [os.path.realpath(path)]


EVIL = '{"env": {"PLAIN": "evil", "CLAUDE_CONFIG_DIR": "/evil"}}'


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"\xff\xfe" + EVIL.encode("utf-16-le"), {"PLAIN", "CLAUDE_CONFIG_DIR"}),
        (b"\xef\xbb\xbf" + EVIL.encode(), {"PLAIN", "CLAUDE_CONFIG_DIR"}),
        (b"\xfe\xff" + EVIL.encode("utf-16-be"), {"CLAUDE_CONFIG_DIR", "HOME"}),
        (EVIL.encode("utf-16-le"), {"CLAUDE_CONFIG_DIR", "HOME"}),
        (EVIL.encode("utf-32"), {"CLAUDE_CONFIG_DIR", "HOME"}),
    ],
    ids=["UTF-16", "UTF-8 with a mark", "UTF-16, big-endian", "UTF-16 without a mark", "UTF-32"],
)
def test_encodings_the_client_reads_are_decoded_and_others_treated_as_unsafe(
    project: Project, data: bytes, names: set[str]
) -> None:
    path = project.write(".claude/settings.json", "")
    with open(path, "wb") as file:
        file.write(data)
    taint = clean(project.root)
    assert names <= set(taint.names)
    assert "CLAUDE_CONFIG_DIR" not in os.environ
    assert taint.judges_off


@posix("makes a pipe")
def test_a_settings_file_that_is_a_pipe_does_not_block(project: Project) -> None:
    os.makedirs(os.path.join(project.root, ".claude"))
    os.mkfifo(os.path.join(project.root, ".claude", "settings.json"))
    assert clean(project.root).judges_off


def test_settings_in_the_home_folder_belong_to_the_user(project: Project) -> None:
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        file.write('{"env": {"PLAIN": "mine"}}')
    taint = clean(project.home)
    assert taint.names == {}
    assert os.environ["PLAIN"] == "1"


@pytest.mark.parametrize("mover", ["HOME", "CLAUDE_CONFIG_DIR", "USERPROFILE"])
def test_a_project_cannot_declare_itself_the_home_folder(project: Project, mover: str) -> None:
    os.environ["CLAUDE_CONFIG_DIR"] = os.path.join(project.root, ".claude")
    project.write(".claude/settings.json", {"env": {mover: project.root, "PLAIN": "evil"}})
    taint = clean(project.root)
    assert set(taint.names) == {mover, "PLAIN"}
    assert mover not in os.environ


def test_the_launch_folder_is_the_project_variable_or_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, project: Project
) -> None:
    monkeypatch.chdir(project.root)
    os.environ.pop("CLAUDE_PROJECT_DIR", None)
    assert os.path.realpath(launch_folder()) == os.path.realpath(project.root)
    os.environ["CLAUDE_PROJECT_DIR"] = "/chosen"
    assert launch_folder() == "/chosen"


@pytest.mark.parametrize(
    ("value", "off"), [("1", True), ("yes", True), ("0", False), ("", False), (None, False)]
)
def test_only_a_nonempty_value_other_than_0_disables_the_hooks(value: str | None, off: bool) -> None:
    os.environ.pop("MEMORY_DISABLE", None)
    if value is not None:
        os.environ["MEMORY_DISABLE"] = value
    assert switched_off() == off


@pytest.mark.parametrize(
    "sensitive", [*sorted(environment._SENSITIVE_NAMES), "openai_api_base", "X_KEYS", "XDG_HOME", ""]
)
def test_a_sensitive_name_is_found_among_many(sensitive: str) -> None:
    taint = environment.Taint()
    taint.names = dict.fromkeys(
        ["PLAIN_%d" % number for number in range(1000)] + [sensitive], "settings.json"
    )
    assert taint.judges_off == any(map(is_sensitive, taint.names)) == bool(sensitive)


@pytest.mark.parametrize("names", ["PLAIN_HOME HOMES", "A_XDG_B", "PAT\nH", "MY_PYTHON", "TMPDIRS"])
def test_partial_matches_are_classified_the_same_alone_and_among_many(names: str) -> None:
    taint = environment.Taint()
    taint.names = dict.fromkeys(names.split(" "), "settings.json")
    assert taint.judges_off == any(map(is_sensitive, taint.names))


def test_many_names_are_processed_quickly(project: Project) -> None:
    project.write(".claude/settings.json", {"env": {"N%d" % number: "x" for number in range(50_000)}})
    started = time.process_time()
    taint = clean(project.root)
    assert not taint.judges_off
    assert len(taint.names) == 50_000
    assert time.process_time() - started < 0.25, "0.05 s where this was written"


def test_a_settings_file_larger_than_any_environment_is_not_read(project: Project) -> None:
    path = project.write(".claude/settings.json", {"env": {"N%d" % number: "x" for number in range(500_000)}})
    taint = clean(project.root)
    assert taint.unread == [os.path.realpath(path)]
    assert taint.judges_off
