"""Git that hides what it brought: a log of its own for a submodule, a log that was told what to say."""

from __future__ import annotations

import fcntl
import json
import os
import time

import pytest

from tests.project import Project
from tests.recall.store_files import ASK, BODY, TITLE, TOLD, memory, put, store

WHICH = "Which port does the ledger proxy listen on?"


def told(project: Project, question: str = ASK) -> str:
    """Return what a new session is told on a question."""
    return project.prompt(question, session_id="s%d" % time.monotonic_ns()).context


def settled(folder: str) -> None:
    """Let git's last change lie as far back as a user's next prompt does."""
    os.utime(os.path.join(folder, "index"), (time.time() - 60, time.time() - 60))


@pytest.mark.parametrize("place", [".claude", ".claude/memory"])
def test_what_comes_with_a_submodule_waits(project: Project, place: str) -> None:
    """A submodule has a log of its own: the project's says nothing of what an update brings."""
    theirs = os.path.join(os.path.dirname(project.root), "theirs")
    inner = os.path.join(theirs, "memory" if place == ".claude" else "", "decisions")
    os.makedirs(inner)

    def push(name: str, data: object) -> None:
        with open(os.path.join(inner, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(data, file)
        project.git("-C", theirs, "add", "-A")
        project.git("-C", theirs, "commit", "-q", "-m", name)

    project.git("init", "-q", theirs)
    push("billing", memory())
    allowed = ("-c", "protocol.file.allow=always", "submodule")
    project.git(*allowed, "--quiet", "add", theirs, place)
    project.git("commit", "-q", "-m", "a submodule")
    settled(os.path.join(project.root, ".git"))
    module = os.path.join(project.root, ".git", "modules", place)
    settled(module)
    assert project.cli("accept", "--all").returncode == 0
    assert TOLD in told(project)
    push("port", memory("The port of the ledger proxy", "The ledger proxy listens on port 7777."))
    project.git(*allowed, "--quiet", "update", "--remote")
    settled(module)
    assert told(project, WHICH) == ""
    assert [row["trust"] for row in project.cli("list", "--json").json["memories"]].count("pending") == 1
    put(project, "mine", memory("The port of the mail proxy", "The mail proxy listens on port 2525."))
    assert "2525" in told(project, "Which port does the mail proxy listen on?")


def test_a_category_that_is_a_repository_of_its_own_is_not_read(project: Project) -> None:
    project.save(TITLE, BODY)
    assert TOLD in told(project)
    project.git("init", "-q", store(project, "decisions"))
    assert told(project) == ""


def test_a_doubt_that_cannot_be_kept_is_noted(project: Project) -> None:
    project.save(TITLE, BODY)
    project.write(".claude/settings.json", {"env": {"GIT_REFLOG_ACTION": "commit"}})
    locks = os.path.join(project.state, "locks")
    (name,) = [name for name in os.listdir(locks) if name.startswith("project-")]
    with open(os.path.join(locks, name), "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert TOLD in told(project)
    assert "git's log could not be doubted: Busy" in {row["what"] for row in project.ledger("events")}


@pytest.mark.parametrize(
    "action", ["commit", "commit: tidy up", "commit (amend): tidy up"], ids=["plain", "a message", "an amend"]
)
@pytest.mark.parametrize("gone", [False, True], ids=["settings stay", "the pull takes them away"])
def test_a_log_that_a_project_s_settings_dictate_is_no_witness(
    project: Project, action: str, *, gone: bool
) -> None:
    """The client hands a project's `env` to Claude's own commands, and git calls a checkout what it is told to."""
    project.save(TITLE, BODY)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "first")
    project.git("checkout", "-q", "-b", "theirs")
    put(project, "port", memory("The port of the ledger proxy", "The ledger proxy listens on port 7777."))
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "theirs")
    project.git("checkout", "-q", "main")
    assert project.cli("accept", "--all").returncode == 0
    settled(os.path.join(project.root, ".git"))
    path = project.write(".claude/settings.local.json", {"env": {"GIT_REFLOG_ACTION": action}})
    assert TOLD in told(project)
    assert project.process(["git", "checkout", "-q", "theirs"], GIT_REFLOG_ACTION=action).returncode == 0
    settled(os.path.join(project.root, ".git"))
    if gone:
        os.unlink(path)
    assert told(project, WHICH) == ""
    assert TOLD in told(project)
    assert project.cli("accept", "--all").returncode == 0
    assert "7777" in told(project, WHICH)
