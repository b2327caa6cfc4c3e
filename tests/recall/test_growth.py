"""Whatever changes in whatever order, with refreshes in between that may be killed at any point: the index equals a new one."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.kernel.sqlite import Connection
from memory_plugin.memories.guard_file import guard_file_path
from memory_plugin.memories.lifecycle import edit, forget, save
from memory_plugin.memories.memory_files import all_memories, stores
from memory_plugin.memories.record import categories, new_memory
from memory_plugin.memories.trust import Trust
from memory_plugin.recall import index_file, index_refresh, store_refresh
from memory_plugin.recall.index_file import index_path, open_index
from memory_plugin.recall.index_refresh import refresh_index
from memory_plugin.recall.project_files import named_files_path
from memory_plugin.recall.store_refresh import ReadBudget
from tests.project import Project
from tests.recall.store_files import at_home, memory, put, store

NAMES = ["m%d" % number for number in range(5)]
FOLDERS = ("decisions", "constraints")
TABLES = {
    "documents": "key, scope, id, category, title, tags, files, asked_as, path, stamp, digest, injectable, trust, status, inject, rule, "
    "superseded_by, supersedes",
    "vectors": "title, tags, body, files, asked_as",
    "vocabulary": "term, strong, weak, held_strong, held_weak",
    "totals": "*",
    "superseded": "*",
    "inherited": "*",
    "paths": "*",
    "guards": "*",
}


class Killed(BaseException):
    """Raised where a refresh is killed."""


def rows(connection: Connection, table: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table without those that say nothing."""
    where = " WHERE strong OR weak OR held_strong OR held_weak" if table == "vocabulary" else ""
    found = connection.execute("SELECT %s FROM %s%s" % (TABLES[table], table, where))  # noqa: S608 - names of ours
    return sorted(found.fetchall())


def state(paths: Paths) -> dict[str, object]:
    """Return everything that recall uses: the tables of the index, and the prepared files."""
    found: dict[str, object] = {}
    with closing(open_index(index_path(paths))) as connection:
        for table in TABLES:
            found[table] = rows(connection, table)
    for path in (named_files_path(paths), guard_file_path(paths)):
        if os.path.lexists(path):
            with open(path, "rb") as file:
                found[path] = file.read()
    return found


def refreshed(paths: Paths, files: int = 10_000) -> None:
    """Refresh the index as a command does."""
    budget = ReadBudget(files, 1 << 20)
    refresh_index(paths, load(paths.config_dir, paths.project_root), budget=budget)


def data(random: random.Random, folder: str) -> object:
    """Return the content of a file: a memory with or without links, files and a guard, an inactive one, or no memory."""
    if random.random() < 0.1:
        return "{"
    fields: dict[str, Any] = {"category": folder[:-1], "asked_as": [random.choice(("which way", "what now"))]}
    if random.random() < 0.4:
        fields[random.choice(("supersedes", "superseded_by"))] = random.choice(NAMES)
        fields["supersedes"] = [fields["supersedes"]] if "supersedes" in fields else []
    if random.random() < 0.4:
        fields["related_files"] = ["src/%s.py" % random.choice("abc"), "*.sql"]
    if random.random() < 0.3:
        fields["guard"] = {"commands": ["git push"], "files": [], "action": "remind"}
    fields["record_status"] = random.choice(("active", "active", "active", "retired"))
    title, body = random.choice(("Postgres", "MySQL", "Redis")), "Look into docs/%d.md." % random.randrange(5)
    content = {"decision": body} if folder == "decisions" else {"rule": body}
    return {**memory("Use %s" % title), **fields, "content": content}


def write(paths: Paths, random: random.Random) -> None:
    """Change one memory as a command does."""
    store = stores(paths)[0]
    found = list(all_memories(store))
    what = random.random()
    if what < 0.4 or not found:
        title = "Use %s" % random.choice(("Kafka", "NATS"))
        content = {"decision": "For the queue, since %d." % random.randrange(9)}
        data = new_memory(categories()["decision"], "", title, content, {})
        save(paths, store, data, approved=what < 0.3)
    elif what < 0.8:
        tags = ["t%d" % random.randrange(9)]
        edit(paths, random.choice(found), lambda _: {"tags": tags}, "tagged", approved=what < 0.6)
    else:
        forget(paths, random.choice(found), "", at_once=what < 0.9, grace_days=30)


def change(project: Project, paths: Paths, random: random.Random) -> None:
    """Change one thing: a file, or the trust in a memory."""
    if random.random() < 0.4:
        write(paths, random)
        return
    folder, name = random.choice(FOLDERS), random.choice(NAMES)
    path = store(project, folder, name + ".json")
    what = random.random()
    if what < 0.6:
        time.sleep(0.005)  # the clock of a file system may tick every four milliseconds
        put(project, name, data(random, folder), folder)
        if random.random() < 0.8:
            accepted = [one for one in all_memories(stores(paths)[0]) if one.path == path]
            Trust(paths).accept(accepted, "accept")
    elif what < 0.8:
        if os.path.lexists(path):
            os.unlink(path)
    else:
        found = [one for each in stores(paths) for one in all_memories(each)]
        chosen = random.sample(found, min(len(found), 2))
        trust = Trust(paths)
        trust.reject(*chosen) if what > 0.9 else trust.accept(chosen, "accept")


@pytest.fixture
def paths(project: Project) -> Iterator[Paths]:
    with at_home(project) as found:
        yield found


def assert_like_a_new_one(paths: Paths) -> None:
    refreshed(paths)
    grown = state(paths)
    os.unlink(index_path(paths))
    refreshed(paths)
    new = state(paths)
    assert grown == new


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)
def test_any_order_of_changes_equals_a_rebuild(project: Project, paths: Paths, seed: int) -> None:
    chance = random.Random(seed)
    for at in range(24):
        for _ in range(chance.randint(1, 3)):
            change(project, paths, chance)
        if chance.random() < 0.7:
            refreshed(paths, files=chance.choice((1, 3, 10_000)))
        if at % 4 == 3:
            assert_like_a_new_one(paths)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)
def test_a_refresh_killed_at_any_point_is_completed_by_the_next(
    project: Project, paths: Paths, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    left = [0]

    @contextmanager
    def killing_transaction(connection: Connection) -> Iterator[None]:
        """Begin a transaction before which, or in which, the process may be killed."""
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        with index_file.transaction(connection):
            yield
            left[0] -= 1
            if left[0] == 0:
                raise Killed

    refreshed(paths)
    for _ in range(8):
        for _ in range(3):
            change(project, paths, chance)
        with monkeypatch.context() as patch:
            for module in (index_refresh, store_refresh):
                patch.setattr(module, "transaction", killing_transaction)
            left[0] = chance.randint(1, 14)
            with pytest.MonkeyPatch.context(), suppress(Killed):
                refreshed(paths)
    assert_like_a_new_one(paths)
