"""`memory doctor`: each problem is reported with its location and its fix."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from memory_plugin.work.doctor import CHECKS, STATE_CHECKS
from tests.project import Project

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LATER = {"time": "2999-01-01T00:00:00Z"}
GOOD = {"title": "Good", "content": {"decision": "b"}}
AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)


def checks(project: Project, **env: str) -> dict[str, Any]:
    run = project.cli("doctor", "--json", stdin="", inside=False, **env)
    assert run.returncode == (0 if run.json["ok"] else 1)
    return {check["name"]: check for check in run.json["checks"]}


def put(project: Project, name: str, content: object = GOOD) -> None:
    project.write(".claude/memory/decisions/" + name, content)


def ledger(project: Project, name: str, *lines: object) -> None:
    os.makedirs(project.state, mode=0o700, exist_ok=True)
    with open(os.path.join(project.state, name + ".jsonl"), "a", encoding="utf-8") as file:
        file.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)


def test_a_new_project_passes_every_check(project: Project) -> None:
    found = checks(project)
    assert {check["status"] for check in found.values()} <= {"ok", "note"}
    assert len(found) == len(CHECKS) + len(STATE_CHECKS) + 6


def test_a_project_in_use_passes_every_check(project: Project) -> None:
    project.save("Use Postgres", "b")
    project.prompt("which database do we use?")
    found = checks(project)
    assert {check["status"] for check in found.values()} <= {"ok", "note"}
    assert found["stores"]["text"] == "1 memory in this project"


def test_a_store_that_git_ignores_is_not_shared(project: Project) -> None:
    project.git("init", "-q")
    project.write(".gitignore", ".claude/\n")
    project.save("Use Postgres", "b")
    text = "1 memory in this project, git ignores those of the project, so only you have them"
    assert checks(project)["stores"]["text"] == text


def test_another_program_of_our_name_is_reported(project: Project) -> None:
    other = os.path.join(project.home, "bin", "memory")
    os.makedirs(os.path.dirname(other))
    with open(other, "w", encoding="utf-8"):
        pass
    found = checks(project, PATH=os.pathsep.join([os.path.dirname(other), os.environ["PATH"]]))["program"]
    assert (found["status"], found["text"].split()[0]) == ("warn", other)
    link = os.path.join(project.home, "memory")
    os.symlink(os.path.join(project.plugin_root, "bin", "memory"), link)
    found = checks(project, PATH=os.pathsep.join([project.home, os.environ["PATH"]]))["program"]
    assert (found["status"], found["text"]) == ("ok", link)


def broken_link(project: Project) -> None:
    os.makedirs(os.path.join(project.root, ".claude"))
    os.symlink("/", os.path.join(project.root, ".claude", "memory"))


def open_state(project: Project) -> None:
    os.makedirs(project.state)
    os.chmod(project.state, 0o755)


def read_only_state(project: Project) -> None:
    os.makedirs(os.path.dirname(project.state))
    with open(project.state, "w", encoding="utf-8"):
        pass


def damaged_index(project: Project) -> None:
    project.save("Use Postgres", "b")
    (name,) = [name for name in os.listdir(os.path.join(project.state, "index")) if name.endswith(".sqlite3")]
    with open(os.path.join(project.state, "index", name), "wb") as file:
        file.write(b"no database at all" * 1000)


def settings(content: object) -> Callable[[Project], object]:
    return lambda project: project.write(".claude/settings.json", content)


def stored(name: str, content: object) -> Callable[[Project], object]:
    return lambda project: put(project, name, content)


@pytest.mark.parametrize(
    ("make", "name", "status", "says"),
    [
        pytest.param(open_state, "state folder", "warn", "chmod 700", id="state open to others"),
        pytest.param(read_only_state, "state folder", "fail", "is not writable", id="state not writable"),
        pytest.param(settings("{"), "settings", "warn", "memory config check", id="broken settings"),
        pytest.param(settings("{"), "project environment", "warn", "cannot be read", id="settings nobody can read"),
        pytest.param(settings({"memory": {"judge": {"base_url": "http://x"}}}), "settings", "warn", "base_url", id="refused key"),
        pytest.param(settings('{\n"env": {\n"NODE_ENV": "x",\n"HTTPS_PROXY": "y"}}'), "project environment", "warn",
                     "settings.json:4 sets HTTPS_PROXY", id="a proxy"),
        pytest.param(settings({"env": {"ANTHROPIC_%05d" % n: "x" for n in range(5000)}}), "project environment", "warn",
                     "4980 more names", id="many names"),
        pytest.param(settings({"env": {"NODE_ENV": "x"}}), "project environment", "ok", "no variable that", id="a harmless name"),
        pytest.param(settings({"env": {"PATH": "x"}}), "project environment", "warn", "no plugin can prevent", id="the path"),
        pytest.param(broken_link, "stores", "warn", "symbolic link", id="a linked store"),
        pytest.param(stored("a.json", {**GOOD, "title": "Cafe\u0301"}), "memories", "ok", "no problems", id="only another form"),
        pytest.param(stored("a.json", GOOD), "pending", "note", "1 pending memory", id="a pending one"),
        pytest.param(stored("a.json", {**GOOD, "superseded_by": "b"}), "memories", "note", "no memory is called b", id="a lost one"),
        pytest.param(damaged_index, "index", "warn", "memory refresh", id="a damaged index"),
        pytest.param(lambda project: ledger(project, "events", {**LATER, "kind": "error", "event": "E", "what": "W\u202e"}), "events",
                     "warn", "E: W", id="an error in a hook"),
        pytest.param(lambda project: ledger(project, "events", {"time": "2020-01-01T00:00:00Z", "kind": "error"}), "events", "ok",
                     "no problems in hooks", id="an old problem"),
        pytest.param(lambda project: ledger(project, "events", {"time": "2999-01-01T00:00:00Z", "kind": "trouble"}), "events", "note",
                     "1 problem in hooks", id="a lesser problem"),
    ],
)  # fmt: skip
def test_each_problem_is_found(
    project: Project, make: Callable[[Project], object], name: str, status: str, says: str
) -> None:
    make(project)
    check = checks(project)[name]
    assert check["status"] == status
    assert says in " ".join([check["text"], check["fix"], *check["details"]])
    assert SECRET not in str(check)


def test_each_problem_of_a_memory_is_named_by_its_file(project: Project) -> None:
    cases = {
        "bad.json": ("{", "bad.json: file: invalid JSON"),
        "Bad_Name.json": (GOOD, "file: id: expected"),
        "secret.json": ({**GOOD, "x": SECRET}, "memory check secrets --fix"),
        "mark.json": ({**GOOD, "title": "a\u202eb"}, "mark.json: hidden: "),
        "half.json": ({**GOOD, "title": "a\ud800"}, "half.json: hidden: "),
        "date.json": ({**GOOD, "expires_at": "31.12.2020"}, "got 31.12.2020"),
    }
    for name, (content, _) in cases.items():
        put(project, name, content)
    check = checks(project)["memories"]
    assert check["status"] == "warn"
    shown = " ".join([check["text"], check["fix"], *check["details"]])
    assert [says for _, says in cases.values() if says not in shown] == []
    assert SECRET not in shown


def trust_file(project: Project, content: str, name: str = "trusted.jsonl") -> str:
    path = os.path.join(project.state, "trust", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return path


def test_a_damaged_trust_record_is_reported(project: Project) -> None:
    project.save("Use Postgres", "b")
    assert checks(project)["trust"]["status"] == "ok"
    with open(os.path.join(project.state, "trust", "trusted.jsonl"), "a", encoding="utf-8") as file:
        file.write('{"schema":1,"time":"20')
    assert checks(project)["trust"]["status"] == "note"
    trust_file(project, "nothing\nat all\n")
    assert checks(project)["trust"]["status"] == "warn"


def test_an_unreadable_trust_record_is_reported_and_kept(project: Project) -> None:
    path = trust_file(project, "", "real")
    os.symlink(path, os.path.join(project.state, "trust", "trusted.jsonl"))
    check = checks(project)["trust"]
    assert (check["status"], "cannot be read" in check["text"]) == ("fail", True)
    assert project.cli("status").stderr.count("cannot be read") == 1


@pytest.mark.parametrize(
    ("roots", "status"),
    [([], "ok"), (["ROOT"], "note"), (["shop"], "warn"), (["ROOT/../project"], "warn")],
    ids=str,
)
def test_projects_accepted_without_review_are_named(project: Project, roots: list[str], status: str) -> None:
    root = os.path.realpath(project.root)
    project.write_settings(trust={"accept_from": [one.replace("ROOT", root) for one in roots]})
    assert checks(project)["auto-accept"]["status"] == status


def test_duplicates_are_named(project: Project) -> None:
    put(project, "a.json", {**GOOD, "created_at": "2026-02-01T00:00:00Z"})
    put(project, "b.json", {**GOOD, "title": "  GOOD ", "created_at": "2026-01-01T00:00:00Z"})
    project.write(".claude/memory/preferences/a.json", {**GOOD, "title": "Other"})
    project.cli("accept", "--all")
    (found,) = checks(project)["memories"]["details"]
    assert "a.json: duplicate: it has the same title as decision/b" in found
    assert project.cli(*found.rpartition(": memory ")[2].split()).returncode == 0
    assert checks(project)["memories"]["status"] == "ok"


def test_an_entry_that_is_not_a_file_is_reported_with_the_reason(project: Project) -> None:
    put(project, "good.json")
    folder = os.path.join(project.root, ".claude", "memory", "decisions")
    os.mkfifo(os.path.join(folder, "pipe.json"))
    os.symlink("good.json", os.path.join(folder, "link.json"))
    found = checks(project)["memories"]
    assert found["status"] == "warn"
    assert sorted(line.rsplit("/", 1)[1] for line in found["details"]) == [
        "link.json: file: a symbolic link",
        "pipe.json: file: not a regular file",
    ]


def test_a_home_that_the_project_sets_is_named_with_its_file(project: Project) -> None:
    path = project.write(".claude/settings.json", {"env": {"HOME": "/evil"}})
    found = checks(project, HOME="/evil", CLAUDE_CONFIG_DIR="")["state folder"]
    assert found["text"].startswith(
        "no home folder is known: HOME is not used because the project's %s sets it" % os.path.realpath(path)
    )
    assert found["fix"] == "remove HOME from the env block of that file"


def test_an_unreadable_settings_file_is_named_and_no_variable_blamed(project: Project) -> None:
    path = os.path.join(project.root, ".claude", "settings.json")
    os.makedirs(path)
    found = checks(project)["state folder"]
    assert found["text"].startswith(
        "no home folder is known: the project's %s cannot be read" % os.path.realpath(path)
    )
    assert found["fix"] == "make that file readable, with valid JSON"


def test_control_characters_in_a_folder_s_name_are_not_printed(
    make_project: Callable[..., Project],
) -> None:
    project = make_project()
    odd = os.path.join(os.path.dirname(project.root), "a\x1b]0;x\x07\u202eb")
    os.rename(project.root, odd)
    project.root = odd
    words = ["save", "--category", "decision", "--title", "Use Postgres", "--body", "Postgres 15."]
    for one in (
        words,
        ["show", "use-postgres"],
        ["search", "postgres"],
        ["accept", "--all"],
        ["forget", "use-postgres"],
    ):
        run = project.cli(*one)
        assert not re.search("[\x1b\x07\u202e]", run.stdout + run.stderr), one


@pytest.mark.parametrize("words", [["list"], ["doctor"], ["search", "x"]])
def test_above_the_home_folder_the_fix_is_given(project: Project, words: list[str]) -> None:
    run = project.memory(*words, "--root", os.path.dirname(project.home))
    said = run.stdout + run.stderr
    assert "go into a project's own folder, or name one with --root" in said
    if words == ["doctor"]:
        assert "      > go into" in said


@pytest.mark.parametrize("reason", ["no home", "home set by the project"])
def test_a_list_without_a_home_says_why(project: Project, reason: str) -> None:
    put(project, "a.json")
    if reason == "no home":
        run = project.cli("list", HOME="", CLAUDE_CONFIG_DIR=None)
        assert "neither CLAUDE_CONFIG_DIR nor HOME is set" in run.stderr
    else:
        project.write(".claude/settings.json", {"env": {"HOME": "/evil"}})
        run = project.cli("list", HOME="/evil", CLAUDE_CONFIG_DIR=None)
        assert "HOME is not used" in run.stderr
    assert (run.returncode, run.stderr.count("\n")) == (0, 1)


def test_the_switch_is_named(project: Project) -> None:
    assert checks(project, MEMORY_DISABLE="1")["plugin"]["status"] == "warn"


@pytest.mark.parametrize(
    ("user", "local", "status", "words"),
    [
        pytest.param({}, {}, "note", "Claude Code's settings do not enable it", id="never installed"),
        pytest.param({"enabledPlugins": {"memory@m": True}}, {}, "ok", "on (", id="enabled"),
        pytest.param({"enabledPlugins": {"memory@m": False}}, {}, "warn", "it is disabled in {user}", id="disabled"),
        pytest.param(
            {"enabledPlugins": {"memory@m": True}},
            {"enabledPlugins": {"memory@m": False}},
            "warn",
            "it is disabled in {local}",
            id="disabled here",
        ),
        pytest.param(
            {"enabledPlugins": {"memory@m": True}}, {"disableAllHooks": True}, "warn", "disableAllHooks in {local}", id="no hooks"
        ),
    ],
)  # fmt: skip
def test_the_doctor_knows_whether_claude_code_runs_the_hooks(
    project: Project, user: dict[str, Any], local: dict[str, Any], status: str, words: str
) -> None:
    with open(project.settings_path, "w", encoding="utf-8") as file:
        json.dump(user, file)
    path = project.write(".claude/settings.local.json", local)
    found = checks(project)["plugin"]
    assert found["status"] == status
    assert words.format(user=project.settings_path, local=path) in found["text"]
    assert ("problems with plugin" in project.cli("status").stdout) == (status == "warn")


def test_without_a_home_it_still_answers(project: Project) -> None:
    put(project, "a.json")
    run = project.cli("doctor", "--json", HOME=None, CLAUDE_CONFIG_DIR=None)
    assert run.returncode == 1
    found = {check["name"]: check["status"] for check in run.json["checks"]}
    assert found["state folder"] == "fail"
    assert [name for name, status in found.items() if status == "fail"] == ["state folder"]


@AS_ROOT
def test_a_config_folder_of_another_user_is_reported_with_what_to_do(project: Project) -> None:
    os.chown(project.config, 12345, 12345)
    check = checks(project)["state folder"]
    assert "belongs to another user; Claude is shown nothing" in check["text"]
    assert check["fix"].startswith("set HOME or CLAUDE_CONFIG_DIR")


@AS_ROOT
def test_a_store_of_another_user_is_reported(project: Project) -> None:
    os.makedirs(os.path.join(project.config, "memory"))
    os.chown(os.path.join(project.config, "memory"), 12345, 12345)
    assert "belongs to another user" in checks(project)["stores"]["text"]


def test_an_index_of_another_version_is_rebuilt(project: Project) -> None:
    project.save("Use Postgres", "b")
    (name,) = [name for name in os.listdir(os.path.join(project.state, "index")) if name.endswith(".sqlite3")]
    with sqlite3.connect(os.path.join(project.state, "index", name)) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert checks(project)["index"]["status"] == "warn"
    assert project.cli("refresh").returncode == 0
    assert checks(project)["index"]["status"] in ("ok", "note")


def test_for_people_each_check_is_a_line_with_what_to_do(project: Project) -> None:
    for number in range(25):
        put(project, "Bad_%d.json" % number)
    lines = project.cli("doctor").stdout.splitlines()
    assert lines[0].startswith("ok    python: ")
    assert "warn  memories: 25 problems in 25 files" in lines
    assert "        and 5 more" in lines
    assert "      > correct these files, or move those that are no memories" in lines


def test_a_judge_without_a_key_is_said_to_be_on_but_not_asked(project: Project) -> None:
    project.write_settings(retrieval={"judge": {"enabled": True}})
    found = checks(project)["judge"]
    assert found["status"] == "warn"
    assert found["text"].startswith("on for recall, but not asked: ")
    assert "(no_key). Recall works without a judge" in found["text"]
