"""Writers lose nothing: many at once, killed in the middle, on disks that fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_plugin.kernel.files import Busy
from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import InvalidMemory
from memory_plugin.memories.memory_files import MAX_BYTES, Store, all_memories, store_key, user_store
from memory_plugin.memories.record import categories, new_memory
from memory_plugin.memories.writing import add, change, remove, sweep
from tests.memories.conftest import Put, find
from tests.project import PLUGIN_ROOT, Project

WRITERS, EACH = 8, 6
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import memory_files, writing
from memory_plugin.memories.record import categories, new_memory
places = Paths(sys.argv[2])
store = memory_files.project_store(places)
Paths.lock.__defaults__ = (40.0,)  # all of them at once may take longer than a command waits
for number in range(int(sys.argv[5])):
    if sys.argv[3] == "add":
        data = new_memory(categories()["decision"], "", "Same title", {"decision": "%s %d" % (sys.argv[4], number)}, {})
        writing.add(places, store, data)
    else:
        (stored,) = memory_files.all_memories(store)
        tag = "w%s-%d" % (sys.argv[4], number)
        writing.change(places, stored, lambda data: dict(data, tags=[*data["tags"], tag]))
"""


def writer(project: Project, deed: str, name: int, times: int = EACH) -> subprocess.Popen[bytes]:
    scripts = os.path.join(PLUGIN_ROOT, "scripts")
    command = [sys.executable, "-c", PROGRAM, scripts, project.root, deed, str(name), str(times)]
    return subprocess.Popen(command, env=project.environment(), stderr=subprocess.PIPE)


def data(title: str = "Use Postgres", body: str = "b", **fields: object) -> dict[str, Any]:
    return {**new_memory(categories()["decision"], "", title, {"decision": body}, {}), **fields}


@pytest.mark.slow
def test_many_writers_of_one_title_lose_nothing(project: Project, paths: Paths, store: Store) -> None:
    running = [writer(project, "add", number) for number in range(WRITERS)]
    assert [process.communicate(timeout=50)[1] for process in running] == [b""] * WRITERS
    bodies = {stored.memory.data["content"]["decision"] for stored in all_memories(store)}
    assert bodies == {"%d %d" % (number, time) for number in range(WRITERS) for time in range(EACH)}


@pytest.mark.slow
def test_many_changes_to_one_memory_lose_nothing(project: Project, paths: Paths, store: Store) -> None:
    add(paths, store, data("Shared"))
    running = [writer(project, "change", number) for number in range(WRITERS)]
    assert [process.communicate(timeout=50)[1] for process in running] == [b""] * WRITERS
    assert len(find(store, "shared").memory.data["tags"]) == WRITERS * EACH


@pytest.mark.parametrize("delay", [0.05, 0.12, 0.16, 0.2, 0.25, 0.3])
def test_a_killed_writer_leaves_whole_files_and_a_free_lock(
    project: Project, paths: Paths, store: Store, delay: float
) -> None:
    shared = add(paths, store, data("Shared")).stored
    running = [writer(project, deed, number, 10_000) for number, deed in enumerate(["add", "change"])]
    time.sleep(delay)
    for process in running:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    problems: list[Any] = []
    assert shared.memory.id in [stored.memory.id for stored in all_memories(store, problems)]
    assert problems == []
    add(paths, store, data("Another"))
    sweep(paths, store)
    folder = os.path.dirname(shared.path)
    assert [name for name in os.listdir(folder) if not name.endswith(".json")] == []


def test_the_same_again_gives_back_what_is_there(paths: Paths, store: Store) -> None:
    first, second, other = (add(paths, store, data(body=body)) for body in ("b", "b", "c"))
    assert (first.created, second.created, other.created) == (True, False, True)
    assert second.stored.path == first.stored.path
    assert other.stored.memory.id == "use-postgres-2"


def test_a_damaged_file_of_that_name_is_not_overwritten(paths: Paths, store: Store, put: Put) -> None:
    damaged = put("use-postgres", raw=b"{")
    assert add(paths, store, data()).stored.memory.id == "use-postgres-2"
    with open(damaged, "rb") as file:
        assert file.read() == b"{"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(identity=st.text(max_size=90), title=st.text(max_size=200), data_=st.data())
def test_neither_id_nor_title_leads_out_of_the_store(
    paths: Paths, store: Store, identity: str, title: str, data_: st.DataObject
) -> None:
    prefix = data_.draw(st.sampled_from(["", "../", "/", "..\\", "a/../../"]))
    try:
        written = add(paths, store, data(title, id=prefix + identity))
    except InvalidMemory:
        return
    assert os.path.dirname(os.path.realpath(written.stored.path)) == os.path.realpath(
        store.folder("decision")
    )


def test_unknown_fields_and_lone_surrogates_survive_a_change(paths: Paths, store: Store, put: Put) -> None:
    put(
        "old",
        raw=b'{"title": "t", "content": {"decision": "x", "mine": [1]}, "theirs": {"a": 1.5}, "odd": "\\ud800"}',
    )
    stored = find(store, "old")
    change(paths, stored, lambda found: dict(found, record_status="retired"), cleaned=False)
    after = find(store, "old").memory.data
    assert (after["theirs"], after["content"]["mine"], after["odd"]) == ({"a": 1.5}, [1], "\ud800")
    assert after["record_status"] == "retired"


@pytest.mark.slow
def test_a_memory_that_could_not_be_read_again_is_not_written(paths: Paths, store: Store) -> None:
    with pytest.raises(InvalidMemory, match="a memory holds at most"):
        add(paths, store, data(body="\U0001f600" * (MAX_BYTES // 4 + 1)))
    assert list(all_memories(store)) == []
    with pytest.raises(InvalidMemory, match="at most 10000 values"):
        add(paths, store, data(extra=[0] * 10_001))
    assert list(all_memories(store)) == []
    stored = add(paths, store, data()).stored
    with pytest.raises(InvalidMemory, match="a memory holds at most"):
        change(
            paths,
            stored,
            lambda found: dict(found, content={"decision": "\U0001f600" * (MAX_BYTES // 4 + 1)}),
        )
    assert find(store, "use-postgres").digest == stored.digest


def test_a_linked_folder_is_not_written_into(paths: Paths, store: Store, project: Project) -> None:
    outside = os.path.join(os.path.dirname(project.root), "outside")
    os.makedirs(outside)
    os.makedirs(store.root)
    os.symlink(outside, store.folder("decision"))
    with pytest.raises(InvalidMemory, match="symbolic link"):
        add(paths, store, data())
    assert os.listdir(outside) == []


@pytest.mark.parametrize("name", [".claude", ".claude/memory"])
def test_a_store_that_leads_elsewhere_is_not_begun(
    paths: Paths, store: Store, project: Project, name: str
) -> None:
    outside = os.path.join(os.path.dirname(project.root), "outside")
    os.makedirs(outside)
    link = os.path.join(project.root, name)
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.symlink(outside, link)
    with pytest.raises(InvalidMemory, match="symbolic link"):
        add(paths, store, data())
    assert os.listdir(outside) == []


def test_a_full_disk_loses_nothing_that_was_there(
    paths: Paths, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = add(paths, store, data()).stored

    def full(_handle: int, _data: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            change(paths, stored, lambda found: dict(found, title="Other"))
        with pytest.raises(OSError, match="No space left"):
            add(paths, store, data("New"))
    assert find(store, "use-postgres").digest == stored.digest
    assert os.listdir(store.folder("decision")) == ["use-postgres.json"]


@pytest.mark.slow
def test_a_busy_store_is_reported_after_the_wait(
    paths: Paths, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Paths.lock, "__defaults__", (0.05,))
    with paths.lock(store_key(store)), pytest.raises(Busy):
        add(paths, store, data())


def test_files_of_the_user_s_own_store_are_private(paths: Paths, store: Store) -> None:
    own = user_store(paths)
    assert own is not None
    modes = [os.stat(add(paths, one, data()).stored.path).st_mode & 0o777 for one in (own, store)]
    umask = os.umask(0)
    os.umask(umask)
    assert modes == [0o600, 0o666 & ~umask]
    assert os.stat(own.root).st_mode & 0o777 == 0o700


def test_a_project_s_store_ignores_what_is_generated(paths: Paths, store: Store, project: Project) -> None:
    add(paths, store, data())
    assert project.git("status", "--porcelain", "-uall").split() == [
        "??",
        ".claude/memory/.gitignore",
        "??",
        ".claude/memory/decisions/use-postgres.json",
    ]


def test_removing_deletes_the_file(paths: Paths, store: Store) -> None:
    stored = add(paths, store, data()).stored
    assert remove(paths, stored) == [stored.path]
    assert not os.path.exists(stored.path)
    with pytest.raises(FileNotFoundError):
        remove(paths, stored)


def test_files_are_readable_for_people(paths: Paths, store: Store) -> None:
    path = add(paths, store, data("Käse")).stored.path
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert '"title": "Käse"' in text
    assert json.loads(text)["schema_version"] == "1.0"
    assert text.endswith("}\n")


LONG = "Deployments start from the branch release, never from main, since the outage in May"


def test_an_id_has_the_first_words(paths: Paths, store: Store) -> None:
    for body in ("one", "one", "other"):
        written = add(paths, store, data(LONG, body))
    assert (written.created, written.stored.memory.id) == (True, "deployments-start-from-the-branch-2")
