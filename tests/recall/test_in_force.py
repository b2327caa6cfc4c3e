"""The index follows supersession: one memory's file changes which others are recalled, although their files stay as they are."""

from __future__ import annotations

import json
import os
from contextlib import closing

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall.index_file import index_path, open_index
from memory_plugin.recall.index_refresh import refresh, refresh_index
from memory_plugin.recall.memory_search import search
from memory_plugin.recall.store_refresh import ReadBudget, RefreshReport
from tests.project import Project
from tests.recall.store_files import accept_all, all_documents, at_home, memory, put, store

OLD = memory("Invoices are stored in MySQL", "MySQL 5.", asked_as=["where do bills live"])
NEW = memory("Invoices are stored in Postgres", "Postgres 16.", supersedes=["old"])


def settle(paths: Paths, *, trusted: bool = True) -> None:
    """Bring the index up to date as a command does after a change, once the user accepted what is there."""
    if trusted:
        accept_all(paths)
    settings = load(paths.config_dir, paths.project_root)
    if not os.path.exists(index_path(paths)):
        refresh_index(paths, settings)
        return
    with closing(open_index(index_path(paths))) as connection:
        refresh(connection, paths, settings, ReadBudget(), RefreshReport())


def injectable(paths: Paths) -> set[str]:
    """Return the ids that may be injected."""
    with closing(open_index(index_path(paths))) as connection:
        return {document.id for document in all_documents(connection) if document.injectable}


def searched(paths: Paths, words: str) -> list[str]:
    """Return the ids that a search finds, superseded ones with a star."""
    found = search(paths, load(paths.config_dir, paths.project_root), words, 10)
    return [hit.id + "*" * (hit.key in found.superseded) for hit in found.hits]


def inherited(paths: Paths) -> dict[str, list[str]]:
    with closing(open_index(index_path(paths))) as connection:
        rows = connection.execute("SELECT key, asked_as FROM inherited")
        return {key.rpartition("/")[2]: json.loads(phrases) for key, phrases in rows}


def test_a_newer_memory_arrives_and_goes(project: Project) -> None:
    with at_home(project) as paths:
        put(project, "old", OLD)
        settle(paths)
        assert injectable(paths) == {"old"}
        put(project, "new", NEW)
        settle(paths)
        assert injectable(paths) == {"new"}
        assert searched(paths, "where do bills live") == ["old*", "new"] or searched(
            paths, "where do bills live"
        ) == ["new", "old*"]
        assert inherited(paths) == {"new": ["where do bills live"]}
        os.unlink(store(project, "decisions", "new.json"))
        settle(paths)
        assert injectable(paths) == {"old"}
        assert searched(paths, "where do bills live") == ["old"]
        assert inherited(paths) == {}


def test_a_memory_that_names_its_successor_stays_silent_when_that_goes(project: Project) -> None:
    with at_home(project) as paths:
        put(project, "old", {**OLD, "superseded_by": "new"})
        put(project, "new", {**NEW, "supersedes": []})
        settle(paths)
        assert injectable(paths) == {"new"}
        os.unlink(store(project, "decisions", "new.json"))
        settle(paths)
        assert injectable(paths) == set()
        assert searched(paths, "invoices MySQL") == ["old*"]


@pytest.mark.parametrize("status", ["retired", "archived"])
def test_a_newer_memory_that_is_not_active_supersedes_nothing(project: Project, status: str) -> None:
    with at_home(project) as paths:
        put(project, "old", OLD)
        put(project, "new", {**NEW, "record_status": status})
        settle(paths)
        assert injectable(paths) == {"old"}


def test_a_newer_memory_that_expired_still_supersedes(project: Project) -> None:
    with at_home(project) as paths:
        put(project, "old", OLD)
        put(project, "new", {**NEW, "expires_at": "2020-01-01"})
        settle(paths)
        assert injectable(paths) == set()


def test_a_pending_memory_supersedes_nothing_until_it_is_accepted(project: Project) -> None:
    with at_home(project) as paths:
        put(project, "old", OLD)
        settle(paths)
        project.git("add", "-A")
        project.git("commit", "-qm", "x")
        project.git("checkout", "-qb", "theirs")
        put(project, "new", NEW)
        project.git("add", "-A")
        project.git("commit", "-qm", "y")
        project.git("checkout", "-q", "main")
        settle(paths, trusted=False)
        project.git("merge", "-q", "theirs")
        settle(paths, trusted=False)
        assert injectable(paths) == {"old"}
        assert inherited(paths) == {}
        settle(paths)
        assert injectable(paths) == {"new"}
        assert inherited(paths) == {"new": ["where do bills live"]}


def test_a_chain_as_it_grows_and_shrinks(project: Project) -> None:
    with at_home(project) as paths:
        put(project, "old", OLD)
        put(project, "new", {**NEW, "asked_as": ["which port has postgres"]})
        settle(paths)
        put(project, "newest", memory("Invoices are stored in S3", "A bucket.", supersedes=["new"]))
        settle(paths)
        assert injectable(paths) == {"newest"}
        assert inherited(paths) == {"newest": ["which port has postgres", "where do bills live"]}
        put(project, "old", {**OLD, "asked_as": ["bills, where"]})
        settle(paths)
        assert inherited(paths) == {"newest": ["which port has postgres", "bills, where"]}
        put(project, "newest", memory("Pictures are stored in S3", "A bucket."))
        settle(paths)
        assert injectable(paths) == {"new", "newest"}
        assert inherited(paths) == {"new": ["bills, where"]}


def test_two_that_supersede_each_other_are_both_recalled(project: Project) -> None:
    with at_home(project) as paths:
        put(project, "old", {**OLD, "supersedes": ["new"]})
        put(project, "new", NEW)
        settle(paths)
        assert injectable(paths) == {"old", "new"}


def test_a_full_rebuild_gives_the_same(project: Project) -> None:
    with at_home(project) as paths:
        put(project, "old", OLD)
        put(project, "new", NEW)
        put(project, "gone", {**OLD, "superseded_by": "nobody"})
        settle(paths)
        before = injectable(paths), inherited(paths)
        os.unlink(index_path(paths))
        settle(paths)
        assert (injectable(paths), inherited(paths)) == before == ({"new"}, {"new": ["where do bills live"]})
