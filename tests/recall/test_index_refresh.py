"""The refresh reads only what is needed, completes in the end, and never uses the wrong trust."""

from __future__ import annotations

import errno
import os
import time
from contextlib import closing

import pytest

from memory_plugin.kernel.files import Busy, FileLock
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.memories.lifecycle import save
from memory_plugin.memories.memory_files import StoredMemory, all_memories, project_store, store_key
from memory_plugin.memories.record import categories, new_memory
from memory_plugin.memories.trust import Trust
from memory_plugin.memories.trust_file import LOCK
from memory_plugin.recall import index_refresh
from memory_plugin.recall.index_file import index_path, meta_get, meta_set, open_index
from memory_plugin.recall.index_refresh import index_state, refresh, refresh_index
from memory_plugin.recall.store_refresh import ReadBudget, RefreshReport
from tests.project import Project
from tests.recall.store_files import accept_all, all_documents, at_home, memory, put, store


def inline(paths: Paths, most: int = 60, characters: int = 65_536) -> RefreshReport:
    """Return the report of what a prompt refreshes."""
    with closing(open_index(index_path(paths))) as connection:
        budget = ReadBudget(most, characters, 20_000)
        report = RefreshReport()
        refresh(connection, paths, load(paths.config_dir, paths.project_root), budget, report)
        return report


def fully(paths: Paths) -> RefreshReport:
    """Return the report of what the background process refreshes."""
    return refresh_index(paths, load(paths.config_dir, paths.project_root))


def titles(paths: Paths) -> set[str]:
    """Return the titles in the index."""
    with closing(open_index(index_path(paths))) as connection:
        return {document.title for document in all_documents(connection)}


def injectable(paths: Paths) -> set[str]:
    """Return the titles in the index that may be injected."""
    with closing(open_index(index_path(paths))) as connection:
        return {document.title for document in all_documents(connection) if document.injectable}


def test_a_setting_that_changes_just_before_a_refresh_counts(project: Project) -> None:
    """A caller may have loaded its settings earlier; the refresh notes the file's state only as it reads it itself."""
    put(project, "port", memory("Port"))
    project.write_settings(trust={"accept_from": [os.path.realpath(project.root)]})
    with at_home(project) as paths:
        stale = load(paths.config_dir, paths.project_root)
        assert stale.texts("trust.accept_from")
        os.unlink(project.settings_path)
        refresh_index(paths, stale)
        assert injectable(paths) == set()


def later() -> None:
    """Let the clock pass by its grain."""
    time.sleep(0.06)


def test_only_changed_files_are_read(project: Project) -> None:
    with at_home(project) as paths:
        for number in range(5):
            put(project, "m%d" % number, memory("Memory %d" % number))
        assert fully(paths) == RefreshReport(5, 0, 0)
        later()
        assert fully(paths) == RefreshReport(0, 0, 0)
        put(project, "m1", memory("Changed"))
        put(project, "m5", memory("New"))
        os.unlink(store(project, "decisions", "m0.json"))
        assert inline(paths) == RefreshReport(2, 1, 0)
        assert titles(paths) == {"Changed", "New", "Memory 2", "Memory 3", "Memory 4"}


def test_more_than_a_prompt_waits_for_is_left(project: Project) -> None:
    with at_home(project) as paths:
        fully(paths)
        for number in range(11):
            put(project, "m%d" % number, memory("Memory %d" % number))
        assert inline(paths, most=10) == RefreshReport(10, 0, 0, remaining=1)
        assert len(titles(paths)) == 10
        assert fully(paths).read == 1


def test_a_file_without_an_active_memory_is_read_once(project: Project) -> None:
    with at_home(project) as paths:
        for number in range(20):
            put(project, "broken%d" % number, "{")
            put(project, "retired%d" % number, memory(record_status="retired"))
        assert fully(paths).unreadable == 20
        later()
        put(project, "new", memory("New"))
        assert inline(paths, most=1) == RefreshReport(1, 0, 0)
        later()
        put(project, "broken0", memory("Fixed"))
        put(project, "retired0", memory("Restored by hand"))
        assert inline(paths, most=2).read == 2
        os.unlink(store(project, "decisions", "broken1.json"))
        inline(paths)
        assert titles(paths) == {"New", "Fixed", "Restored by hand"}


@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_an_accept_reaches_the_index_however_long_ago_it_was(project: Project, pause: float) -> None:
    with at_home(project) as paths:
        put(project, "m", memory("Memory"))
        fully(paths)
        assert injectable(paths) == set()
        accept_all(paths)
        time.sleep(pause)
        assert fully(paths).read == 1
        assert injectable(paths) == {"Memory"}
        later()
        assert inline(paths) == RefreshReport(0, 0, 0)


def test_a_store_that_is_gone_leaves_the_index(project: Project) -> None:
    with at_home(project) as paths:
        put(project, "m", memory("Memory"))
        put(project, "n", memory("Note"), "constraints")
        fully(paths)
        later()
        os.rename(store(project, "constraints"), store(project, "other"))
        inline(paths)
        assert titles(paths) == {"Memory"}
        os.rename(store(project), store(project) + "-gone")
        inline(paths)
        assert titles(paths) == set()


def test_a_refresh_does_not_wait_for_a_writer(project: Project) -> None:
    with at_home(project) as paths:
        fully(paths)
        put(project, "m", memory("Memory"))
        with paths.lock(store_key(project_store(paths))), paths.lock(LOCK):
            assert inline(paths).read == 1


@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE, errno.EWOULDBLOCK], ids=errno.errorcode.get)
@pytest.mark.parametrize("failing", ["open", pytest.param("scandir", marks=pytest.mark.slow)])
def test_a_file_that_cannot_be_read_now_stays_indexed_and_is_read_later(
    project: Project, monkeypatch: pytest.MonkeyPatch, error: int, failing: str
) -> None:
    with at_home(project) as paths:
        put(project, "m", memory("Memory"))
        put(project, "n", memory("Other"))
        accept_all(paths)
        fully(paths)
        later()
        path = put(project, "m", memory("Memory", tags=["changed"]))
        put(project, "o", memory("New"))
        accept_all(paths)
        later()
        true = getattr(os, failing)

        def fails(name: str, *rest: int) -> object:
            if name in (path, os.path.dirname(path)):
                raise OSError(error, os.strerror(error), name)
            return true(name, *rest)

        with monkeypatch.context() as patch:
            patch.setattr(os, failing, fails)
            report = inline(paths)
        assert os.strerror(error) in report.problem
        assert {"Memory", "Other"} <= injectable(paths)
        assert inline(paths).read == (2 if failing == "scandir" else 1)
        assert injectable(paths) == {"Memory", "Other", "New"}
        later()
        assert inline(paths) == RefreshReport()


def test_decisions_of_elsewhere_are_followed_without_reading_the_store(project: Project) -> None:
    with at_home(project) as paths:
        for number in range(5):
            put(project, "m%d" % number, memory("Memory %d" % number))
        fully(paths)
        later()
        stored = [one for one in all_memories(project_store(paths)) if one.memory.id == "m3"]
        Trust(paths).accept(stored, "accept")
        later()
        assert inline(paths) == RefreshReport(read=1)
        Trust(paths).reject(stored[0])
        later()
        assert inline(paths) == RefreshReport(read=1)
        assert injectable(paths) == set()
        os.unlink(paths.state("trust", "rejected.jsonl"))
        later()
        assert inline(paths).read == 5
        assert injectable(paths) == {"Memory 3"}


def test_a_refresh_that_finds_no_change_resolves_no_links(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved: list[object] = []
    put(project, "old", memory("Old"))
    with at_home(project) as paths:
        fully(paths)
        monkeypatch.setattr(index_refresh, "apply_supersession", resolved.append)
        fully(paths)
        assert resolved == []
        put(project, "new", memory("New", supersedes=["old"]))
        fully(paths)
        assert len(resolved) == 1


def test_two_refreshes_never_run_at_once(project: Project) -> None:
    with at_home(project) as paths:
        fully(paths)
        settings = load(paths.config_dir, paths.project_root)
        with FileLock(index_path(paths) + ".lock", 0.0), pytest.raises(Busy):
            refresh_index(paths, settings, wait=0.05)


def test_the_state_of_the_index_is_reported(project: Project) -> None:
    with at_home(project) as paths:
        assert index_state(paths)[0] == "missing"
        put(project, "m", memory("Memory"))
        fully(paths)
        later()
        fully(paths)
        assert index_state(paths)[0] == "whole"
        assert index_state(paths)[1].startswith("1 entry, ")
        put(project, "n", memory("Note"))
        assert index_state(paths)[0] == "behind"
        with open(index_path(paths), "wb") as file:
            file.write(b"no database")
        assert index_state(paths)[0] == "unusable"


def test_an_index_of_an_older_release_gets_the_weights_of_this_one(project: Project) -> None:
    with at_home(project) as paths:
        fully(paths)
        with closing(open_index(index_path(paths))) as connection:
            present = meta_get(connection, "model")
            meta_set(connection, "model", "{}")
            fully(paths)
            assert meta_get(connection, "model") == present


def written(paths: Paths, title: str) -> StoredMemory:
    """Save a memory as the command does."""
    data = new_memory(categories()["decision"], "", title, {"decision": "For the queue."}, {})
    return save(paths, project_store(paths), data, approved=True).stored


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_change_by_somebody_else_beside_a_write_is_found(project: Project, first: str) -> None:
    with at_home(project) as paths:
        fully(paths)
        written(paths, "Kafka")
        fully(paths)
        later()
        acts = [lambda: written(paths, "NATS"), lambda: put(project, "m", memory("Postgres"))]
        for act in acts if first == "ours" else reversed(acts):
            act()
            later()
        fully(paths)
        assert titles(paths) == {"Kafka", "NATS", "Postgres"}
