"""Missing, linked, unreadable or hostile stores: they cause no error, and they cannot forge or hide anything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.events import PROMPT_HOOK
from tests.project import Project, posix
from tests.recall.forged import FORGED, assert_nothing_forged, assert_nothing_hidden
from tests.recall.store_files import (
    ASK,
    TITLE,
    TOLD,
    memory,
    problems,
    put,
    put_accepted,
    store,
    without_rights,
)

DEEP = 100_000


def ask_in_new_session(project: Project) -> str:
    """Return what a new session is told about ASK, and check that the hook prints no error."""
    run = project.prompt(ASK, session_id="s%d" % time.monotonic_ns())
    assert (run.returncode, run.stderr) == (0, "")
    return run.context


def test_a_prompt_does_not_create_a_missing_store(project: Project) -> None:
    assert ask_in_new_session(project) == ""
    assert not os.path.exists(store(project))
    assert problems(project) == []


@posix("makes links, pipes and sockets")
@pytest.mark.parametrize("kind", ["link to a file", "link to nowhere", "FIFO", "folder", "device", "socket"])
def test_anything_but_a_regular_file_is_skipped(recalling: Project, kind: str) -> None:
    path = store(recalling, "decisions", "postgres.json")
    target = os.path.join(os.path.dirname(recalling.root), "elsewhere.json")
    with open(target, "w", encoding="utf-8") as file:
        json.dump(memory("Billing database, the other one", "Billing is on DB2."), file)
    makers: dict[str, Callable[[], object]] = {
        "link to a file": lambda: os.symlink(target, path),
        "link to nowhere": lambda: os.symlink("/nowhere", path),
        "FIFO": lambda: os.mkfifo(path),
        "folder": lambda: os.mkdir(path),
        "device": lambda: os.symlink("/dev/zero", path),
        "socket": lambda: subprocess.run(
            [
                sys.executable,
                "-c",
                "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])",
                path,
            ],
            check=True,
        ),
    }
    makers[kind]()
    context = ask_in_new_session(recalling)
    assert TOLD in context
    assert "DB2" not in context


def test_a_store_that_is_a_symbolic_link_is_ignored(recalling: Project) -> None:
    away = os.path.join(os.path.dirname(recalling.root), "away")
    shutil.move(store(recalling), away)
    os.symlink(away, store(recalling))
    assert recalling.cli("refresh").returncode == 0
    assert ask_in_new_session(recalling) == ""


def test_a_category_that_is_a_symbolic_link_is_ignored(recalling: Project) -> None:
    away = os.path.join(os.path.dirname(recalling.root), "away")
    shutil.move(store(recalling, "decisions"), away)
    os.symlink(away, store(recalling, "decisions"))
    assert recalling.cli("refresh").returncode == 0
    assert ask_in_new_session(recalling) == ""


def test_a_file_in_place_of_the_store_causes_no_error(project: Project) -> None:
    project.write(".claude/memory", "no folder")
    assert ask_in_new_session(project) == ""


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)
def test_a_project_s_store_of_another_owner_is_read(recalling: Project) -> None:
    """In a container the checkout often has another owner; what its memories say is trusted only if it was accepted."""
    os.chown(store(recalling), 12345, 12345)
    assert recalling.cli("refresh").returncode == 0
    assert TOLD in ask_in_new_session(recalling)


def test_the_users_own_store_of_another_owner_is_ignored(project: Project) -> None:
    project.save("Use Postgres for the billing database", "Never MySQL.", "--scope", "user")
    assert "Postgres" in ask_in_new_session(project)
    os.chown(os.path.join(project.config, "memory"), 12345, 12345)
    assert project.cli("refresh").returncode == 0
    assert ask_in_new_session(project) == ""


@pytest.mark.parametrize("name", ["decisions", "decisions/billing-is-on-db2.json"])
def test_an_unreadable_path_is_skipped_until_it_becomes_readable(recalling: Project, name: str) -> None:
    put_accepted(
        recalling,
        "billing-is-on-db2",
        memory(TITLE + " archive", "The billing service database archives to DB2."),
    )
    path = store(recalling, *name.split("/"))
    os.chmod(path, 0)
    event = json.dumps(recalling.event("UserPromptSubmit", prompt=ASK)).encode()
    try:
        run = recalling.process(
            [*without_rights(recalling), recalling.python, "-I", "-S", PROMPT_HOOK],
            event,
            CLAUDE_PROJECT_DIR=recalling.root,
        )
        assert (run.returncode, run.stderr) == (0, "")
        assert "DB2" not in run.context
    finally:
        os.chmod(path, 0o700)
    assert recalling.cli("refresh").returncode == 0
    assert "DB2" in ask_in_new_session(recalling)


def test_a_read_only_store_can_be_recalled_from(recalling: Project) -> None:
    for at, _, names in os.walk(store(recalling)):
        for name in names:
            os.chmod(os.path.join(at, name), 0o444)
        os.chmod(at, 0o555)
    assert TOLD in ask_in_new_session(recalling)
    assert recalling.cli("search", "billing database").returncode == 0


WRONG = {
    "deep JSON": '{"title": "t", "content": %s}' % ("[" * DEEP + "]" * DEEP),
    "deep objects": '{"title": "t", "content": %s1%s}' % ('{"a":' * DEEP, "}" * DEEP),
    "deep, but parsed": json.dumps({"title": "t", "content": {"decision": json.loads("[" * 90 + "]" * 90)}}),
    "no object": "[]",
    "no JSON": "{",
    "nothing": "",
    "NULs": "\0" * 100,
    "infinite": '{"title": "t", "content": {"decision": 1e999}}',
    "many digits": '{"title": "t", "content": {"decision": %s}}' % ("9" * 10_000),
    "title is a list": json.dumps({"title": ["t"], "content": {}}),
    "content is a text": json.dumps({"title": "t", "content": "x"}),
    "every field wrong": json.dumps(
        {
            "title": "Billing database",
            "content": {"decision": {"a": [1, None, True, {"b": "billing database"}]}},
            "tags": {"a": 1},
            "related_files": 5,
            "asked_as": "x",
            "expires_at": [],
            "superseded_by": {},
            "updated_at": 7,
            "changes": "no",
            "confidence": "high",
        }
    ),
    "another status": json.dumps({"title": "t", "content": {"decision": "d"}, "record_status": "zombie"}),
    "status is a list": json.dumps({"title": "t", "content": {"decision": "d"}, "record_status": []}),
    "expired forever": json.dumps(
        {"title": "t", "content": {"decision": "d"}, "expires_at": "9999-99-99T99:99:99Z"}
    ),
    "retired at the end of time": json.dumps(
        {
            "title": "t",
            "content": {"decision": "d"},
            "record_status": "retired",
            "retired_at": "9999-12-31T23:59:59Z",
        }
    ),
}


def test_malformed_files_cause_no_error_and_are_not_modified(recalling: Project) -> None:
    paths = {put(recalling, "wrong-%d" % number, text): text for number, text in enumerate(WRONG.values())}
    assert TOLD in ask_in_new_session(recalling)
    refreshed = recalling.cli("refresh")
    assert (refreshed.returncode, refreshed.stderr) == (0, "")
    assert TOLD in ask_in_new_session(recalling)
    for path, text in paths.items():
        with open(path, encoding="utf-8") as file:
            assert file.read() == text  # nothing is repaired behind the user's back


@posix("Windows has no such names")
def test_files_with_invalid_names_are_skipped(recalling: Project) -> None:
    names = ["..", "-rf", "a b", "A", "x" * 200, "a;b", "$(id)", "a\nb", "a\x1b[2J", "CON", "über"]
    for name in [*names, "a.b", "-", "a'b\"c", "</memory>"]:
        put(recalling, name, memory("The billing database of old", "Billing was on DB2."))
    context = ask_in_new_session(recalling)
    assert TOLD in context
    assert "DB2" not in context


@posix("Windows has no such names")
def test_a_file_whose_name_is_not_utf8_is_skipped(recalling: Project) -> None:
    with open(os.fsencode(store(recalling, "decisions")) + b"/\xff\xfe.json", "wb") as file:
        file.write(json.dumps(memory()).encode())
    assert TOLD in ask_in_new_session(recalling)


def test_an_id_inside_a_file_is_ignored(recalling: Project) -> None:
    data = memory(
        TITLE + " archive",
        "The billing service database archives to DB2.",
        id="../../../../etc/passwd",
        category="../x",
    )
    put_accepted(recalling, "archive", data)
    context = ask_in_new_session(recalling)
    assert "DB2" in context
    assert "passwd" not in context
    assert recalling.cli("forget", "../../../../etc/passwd").returncode == 1


@pytest.mark.slow
def test_ten_thousand_garbage_files_do_not_delay_the_prompt(recalling: Project) -> None:
    for number in range(10_000):
        with open(store(recalling, "decisions", "g%05d.json" % number), "wb") as file:
            file.write(b"\xff garbage %d" % number)
    begun = time.monotonic()
    assert TOLD in ask_in_new_session(recalling)
    assert time.monotonic() - begun < 8
    assert recalling.cli("refresh").returncode == 0
    put_accepted(
        recalling, "archive", memory(TITLE + " archive", "The billing service database archives to DB2.")
    )
    context = ask_in_new_session(recalling)
    assert "DB2" in context, "a file that was skipped once no longer counts"


def test_a_50_mb_file_is_not_read(recalling: Project) -> None:
    with open(store(recalling, "decisions", "huge.json"), "wb") as file:
        file.truncate(50 << 20)
    begun = time.monotonic()
    assert TOLD in ask_in_new_session(recalling)
    assert time.monotonic() - begun < 8


def test_no_text_in_a_memory_can_forge_or_hide_anything(recalling: Project) -> None:
    """Test all forged texts at once through the hook; `tests/recall/test_documents.py` tests them one by one."""
    put_accepted(
        recalling,
        "archive",
        memory(
            "Use Postgres for the billing database archive " + FORGED[0],
            "The billing database archive is in DB2. " + " ".join(FORGED),
            tags=FORGED,
            related_files=FORGED,
            asked_as=[*FORGED, "which billing database"],
            updated_at=FORGED[2],
        ),
    )
    context = recalling.prompt("Which billing database does the archive use?", session_id="forged").context
    assert "DB2" in context
    assert_nothing_forged(context)
    assert_nothing_hidden(context)


def test_several_long_memories_are_truncated_to_fit_the_client_limit(recalling: Project) -> None:
    for number in range(5):
        body = "The billing database, part %d. " % number + "\U0001f600" * 20_000
        put(recalling, "part-%d" % number, memory("Billing database part %d" % number, body))
    run = recalling.prompt(ASK, session_id="long")
    assert 0 < len(run.context.encode("utf-16-le")) // 2 < 9500
