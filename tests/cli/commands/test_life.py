"""`memory forget`, `restore`, `archive` and `accept`: seen by the very next prompt."""

from __future__ import annotations

import os
import re

import pytest

from tests.project import Project
from tests.recall.store_files import memory, put

ASK = "Should billing use the Postgres database?"


@pytest.fixture
def saved(project: Project) -> str:
    """Return the id of a memory that is recalled."""
    identity = project.save(
        "Use Postgres for the billing database", "Billing runs on Postgres 16.", "--tags", "billing,database"
    )
    assert recalled(project, "before")
    return identity


def recalled(project: Project, session: str) -> bool:
    """Whether a prompt in that session gets the memory."""
    return "Postgres 16" in project.prompt(ASK, session_id=session).context


def test_a_forgotten_memory_is_gone_at_once_and_can_be_restored(project: Project, saved: str) -> None:
    run = project.cli("forget", saved, "--reason", "wrong", "--json")
    assert run.returncode == 0
    assert run.json["status"] == "retired"
    assert run.json["deleted"] == []
    assert run.json["goes_at"] > "2026"
    assert not recalled(project, "forgotten")
    assert project.cli("search", "postgres", "--json").json["results"] == []
    assert project.cli("restore", saved).stdout == "restored: %s (active)\n" % saved
    assert recalled(project, "restored")


def test_forget_now_deletes_permanently(project: Project, saved: str) -> None:
    path = project.cli("show", saved, "--json").json["path"]
    run = project.cli("forget", saved, "--now", "--json")
    assert (run.json["status"], run.json["deleted"], run.json["goes_at"]) == ("deleted", [path], "")
    assert not os.path.exists(path)
    assert not recalled(project, "deleted")
    for above, _, names in os.walk(os.path.dirname(project.root)):
        for name in names:
            with open(os.path.join(above, name), "rb") as file:
                assert b"Billing runs on Postgres" not in file.read(), name


def test_forget_now_needs_the_whole_id(project: Project, saved: str) -> None:
    run = project.cli("forget", saved[:5], "--now")
    assert (run.returncode, run.stdout) == (2, "")
    assert saved in run.stderr
    assert project.cli("show", saved).returncode == 0


@pytest.mark.parametrize("name", ["decision/%s", "project:decision/%s"])
def test_forget_now_takes_the_id_after_its_category(project: Project, saved: str, name: str) -> None:
    assert project.cli("forget", name % saved, "--now").returncode == 0
    assert project.cli("show", saved).returncode == 1


def test_forget_now_leaves_no_text_in_the_index(project: Project) -> None:
    kept = project.save("Deploy on Mondays", "The release train leaves at noon.")
    gone = project.save("Zwiebelfisch", "Quuxotic passphrases belong in the vault.", "--tags", "frobnitz")
    project.cli("forget", gone, "--now")
    for word in (b"wiebelfisch", b"uuxotic", b"robnitz"):
        for above, _, names in os.walk(os.path.dirname(project.root)):
            for name in names:
                with open(os.path.join(above, name), "rb") as file:
                    assert word not in file.read(), name
    assert [row["id"] for row in project.cli("search", "release train", "--json").json["results"]] == [kept]


def test_forget_prints_the_memory_and_the_deletion_date(project: Project, saved: str) -> None:
    lines = project.cli("forget", saved).stdout.splitlines()
    assert lines[0] == "forgotten: " + saved
    assert "memory restore " + saved in lines[1]


def test_the_advised_restore_works_if_two_memories_share_an_id(project: Project, saved: str) -> None:
    record = {
        **memory("Use Postgres for the billing database", category="runbook"),
        "content": {"steps": ["One."]},
    }
    # Written as by a git pull, since `memory save` refuses a duplicate title.
    put(project, saved, record, "runbooks")
    assert project.cli("accept", "runbook/" + saved).returncode == 0
    output = project.cli("forget", "decision/" + saved).stdout
    (advised,) = re.findall(r"memory (restore [\w/-]+)", output)
    assert project.cli(*advised.split()).returncode == 0
    assert recalled(project, "back")


def test_a_second_forget_changes_nothing(project: Project, saved: str) -> None:
    path = str(project.cli("show", saved, "--json").json["path"])
    project.cli("forget", saved)
    with open(path, "rb") as file:
        before = file.read()
    run = project.cli("forget", saved)
    assert run.returncode == 1
    assert "is already forgotten, since 20" in run.stderr
    with open(path, "rb") as file:
        assert file.read() == before
    assert project.cli("forget", saved, "--now").returncode == 0


def test_an_archived_memory_is_kept_and_not_recalled(project: Project, saved: str) -> None:
    assert project.cli("forget", "--keep", saved, "--reason", "old", "--json").json["status"] == "archived"
    assert not recalled(project, "archived")
    assert project.cli("restore", saved).returncode == 0
    assert project.cli("restore", saved).stderr == "memory: %s is active already\n" % saved


@pytest.mark.parametrize("options", [(), ("--keep",)], ids=["forgotten", "archived"])
def test_claude_restores_a_memory_only_after_the_dialog(
    project: Project, saved: str, options: tuple[str, ...]
) -> None:
    project.cli("forget", saved, *options)
    project.user_types("Remember that we use Postgres.")
    assert "must approve this" in project.cli("restore", saved, inside=True).stderr
    assert not recalled(project, "waiting")
    assert project.cli_allowed("restore", saved).returncode == 0
    assert recalled(project, "restored")


def write_untrusted(project: Project, *identities: str) -> None:
    for identity in identities:
        content = {
            "title": "Use Postgres for the billing database " + identity,
            "content": {"decision": "Billing runs on Postgres 16."},
        }
        project.write(".claude/memory/decisions/%s.json" % identity, content)


def test_memories_of_a_repository_are_pending_until_accepted(project: Project) -> None:
    write_untrusted(project, "one", "two")
    assert not recalled(project, "before")
    run = project.cli("accept", "one", "--json")
    assert run.json == {"accepted": ["one"], "left_out": []}
    assert recalled(project, "one")
    run = project.cli("accept", "--all", "--json")
    assert run.json["accepted"] == ["two"]
    assert project.cli("accept", "--all").stdout == "nothing was accepted; for suggestions: memory review\n"


def test_accepting_all_includes_the_user_s_own_store(project: Project) -> None:
    project.save("Mine", "b", "--scope", "user", inside=True)
    write_untrusted(project, "one")
    assert project.cli("accept", "--all", "--json").json["accepted"] == ["one", "mine"]


def test_an_unknown_id_accepts_nothing(project: Project) -> None:
    write_untrusted(project, "one")
    assert project.cli("accept", "one", "missing").returncode == 1
    assert project.cli("list", "--json").json["memories"][0]["trust"] == "pending"


def test_accepted_memories_are_printed(project: Project) -> None:
    write_untrusted(project, "one")
    assert project.cli("accept", "one").stdout == "accepted: one  Use Postgres for the billing database one\n"


def test_a_linked_store_cannot_be_accepted(project: Project) -> None:
    outside = os.path.join(os.path.dirname(project.root), "outside")
    os.makedirs(outside)
    os.makedirs(os.path.join(project.root, ".claude"))
    os.symlink(outside, os.path.join(project.root, ".claude", "memory"))
    run = project.cli("accept", "--all", "--json")
    assert run.json["accepted"] == []


@pytest.mark.parametrize("word", ["forget", "restore", "show", "accept"])
def test_an_id_in_two_categories_is_ambiguous(project: Project, word: str) -> None:
    for folder in ("decisions", "runbooks"):
        project.write(
            ".claude/memory/%s/same.json" % folder,
            {"title": "t", "content": {"a": "b"}, "record_status": "retired"},
        )
    run = project.cli(word, "same")
    assert run.returncode == 1
    assert "decision/same" in run.stderr
    assert project.cli(word, "runbook/same").returncode in (0, 1)


def test_rejecting_a_successor_names_the_memory_that_stays_replaced(project: Project) -> None:
    old = project.save("Use MySQL", "Billing runs on MySQL.")
    new = project.save("Use Postgres", "Billing runs on Postgres.", "--supersedes", old)
    put(project, new, {**memory("Use Postgres", "Billing runs on Postgres 17."), "supersedes": [old]})
    run = project.cli("reject", new)
    assert (
        "use-mysql, which it replaces, is not shown either; to bring it back: memory restore use-mysql"
        in run.stdout
    )
    assert project.cli("restore", old).stdout == "restored: use-mysql (active)\n"


def test_restoring_a_rejected_memory_names_the_command_that_does_it(project: Project) -> None:
    put(project, "port", memory("The port", "It is 7777."))
    project.cli("reject", "port")
    run = project.cli("restore", "port")
    assert [len(project.memories(*options)) for options in ((), ("--status", "rejected"))] == [0, 1]
    expected = "memory: port was rejected, not forgotten; to undo that: memory accept port\n"
    assert (run.returncode, run.stderr) == (1, expected)
    project.cli("forget", "port")
    assert "restored: port (rejected)" in project.cli("restore", "port").stdout
