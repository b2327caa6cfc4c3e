"""The refresh of the index: as little as is needed, all of it in the end, and never the wrong trust."""

from __future__ import annotations

import os
import time
from contextlib import closing

import pytest

from memory_plugin.kernel.locks import Busy, FileLock
from memory_plugin.kernel.paths import Places
from memory_plugin.kernel.settings.load import load
from memory_plugin.memories.files import all_memories
from memory_plugin.memories.lifecycle import accept
from memory_plugin.memories.stores import project_store
from memory_plugin.memories.writing import store_lock
from memory_plugin.recall import index_documents, index_refresh
from memory_plugin.recall.due_files import Share
from memory_plugin.recall.index_file import index_path, open_index
from memory_plugin.recall.index_refresh import RefreshReport, index_state, refresh, refresh_index
from tests.project import Project
from tests.recall.store_files import at_home, memory, put, store


def inline(places: Places, most: int = 60, characters: int = 65_536) -> RefreshReport:
    """Return the report of what a prompt refreshes."""
    with closing(open_index(index_path(places))) as connection:
        share = Share(most, characters, 20_000)
        return refresh(connection, places, load(places.config_dir, places.project_root), share=share)


def fully(places: Places) -> RefreshReport:
    """Return the report of what the background process refreshes."""
    return refresh_index(places, load(places.config_dir, places.project_root))


def titles(places: Places) -> set[str]:
    """Return the titles in the index."""
    with closing(open_index(index_path(places))) as connection:
        return {document.title for document in index_documents.all_documents(connection)}


def injectable(places: Places) -> set[str]:
    """Return the titles in the index that may be injected."""
    with closing(open_index(index_path(places))) as connection:
        return {
            document.title for document in index_documents.all_documents(connection) if document.injectable
        }


def later() -> None:
    """Let the clock pass by its grain."""
    time.sleep(0.06)


def test_only_what_changed_is_read(project: Project) -> None:
    with at_home(project) as places:
        for number in range(5):
            put(project, "m%d" % number, memory("Memory %d" % number))
        assert fully(places) == RefreshReport(5, 0, 0, 0)
        later()
        assert fully(places) == RefreshReport(0, 0, 0, 0)
        put(project, "m1", memory("Changed"))
        put(project, "m5", memory("New"))
        os.unlink(store(project, "decisions", "m0.json"))
        assert inline(places) == RefreshReport(2, 1, 0, 0)
        assert titles(places) == {"Changed", "New", "Memory 2", "Memory 3", "Memory 4"}


def test_more_than_a_prompt_waits_for_is_left(project: Project) -> None:
    with at_home(project) as places:
        fully(places)
        for number in range(11):
            put(project, "m%d" % number, memory("Memory %d" % number))
        assert inline(places, most=10) == RefreshReport(10, 0, 0, 0, left=1)
        assert len(titles(places)) == 10
        assert fully(places).read == 1


def test_what_holds_no_living_memory_is_read_once(project: Project) -> None:
    with at_home(project) as places:
        for number in range(20):
            put(project, "broken%d" % number, "{")
            put(project, "retired%d" % number, memory(record_status="retired"))
        assert fully(places).unreadable == 20
        later()
        put(project, "new", memory("New"))
        assert inline(places, most=1) == RefreshReport(1, 0, 0, 0)
        later()
        put(project, "broken0", memory("Mended"))
        put(project, "retired0", memory("Restored by hand"))
        assert inline(places, most=2).read == 2
        os.unlink(store(project, "decisions", "broken1.json"))
        inline(places)
        assert titles(places) == {"New", "Mended", "Restored by hand"}


@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_an_accept_reaches_the_index_however_long_ago_it_was(project: Project, pause: float) -> None:
    with at_home(project) as places:
        put(project, "m", memory("Memory"))
        fully(places)
        assert injectable(places) == set()
        accept(places, project_store(places), list(all_memories(project_store(places))), whole_store=True)
        time.sleep(pause)
        assert fully(places).regraded == 1
        assert injectable(places) == {"Memory"}
        later()
        assert inline(places) == RefreshReport(0, 0, 0, 0)


def test_a_store_that_is_gone_leaves_the_index(project: Project) -> None:
    with at_home(project) as places:
        put(project, "m", memory("Memory"))
        put(project, "n", memory("Note"), "constraints")
        fully(places)
        later()
        os.rename(store(project, "constraints"), store(project, "other"))
        inline(places)
        assert titles(places) == {"Memory"}
        os.rename(store(project), store(project) + "-gone")
        inline(places)
        assert titles(places) == set()


def test_a_store_that_somebody_writes_is_waited_for_a_moment_only(project: Project) -> None:
    with at_home(project) as places:
        fully(places)
        put(project, "m", memory("Memory"))
        with store_lock(places, project_store(places)):
            begun = time.monotonic()
            with pytest.raises(Busy):
                inline(places)
            assert time.monotonic() - begun < 5
        assert inline(places).read == 1


def test_two_refreshes_never_run_at_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_refresh, "_LOCK_WAIT", 0.05)
    with at_home(project) as places:
        fully(places)
        with FileLock(index_path(places) + ".heal", 0.0), pytest.raises(Busy):
            fully(places)


def test_the_state_of_the_index_is_told(project: Project) -> None:
    with at_home(project) as places:
        assert index_state(places)["state"] == "missing"
        put(project, "m", memory("Memory"))
        fully(places)
        later()
        fully(places)
        assert (index_state(places)["state"], index_state(places)["memories"]) == ("whole", 1)
        put(project, "n", memory("Note"))
        assert index_state(places)["state"] == "behind"
        with open(index_path(places), "wb") as file:
            file.write(b"no database")
        assert index_state(places)["state"] == "unusable"
