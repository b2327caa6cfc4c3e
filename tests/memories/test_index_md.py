"""`index.md`, the table of contents for people: it follows each command, and no title can forge a line."""

from __future__ import annotations

import os

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import lifecycle
from memory_plugin.memories.memory_files import Store, all_memories
from memory_plugin.memories.record import categories, new_memory
from memory_plugin.memories.writing import rebuild_index_md
from tests.memories.conftest import Put, find
from tests.project import Project


def save(paths: Paths, store: Store, title: str, **fields: object) -> None:
    lifecycle.save(
        paths,
        store,
        {**new_memory(categories()["decision"], "", title, {"decision": "b"}, {}), **fields},
        approved=True,
    )
    rebuild_index_md(store, all_memories(store))


def index(store: Store) -> list[str]:
    with open(os.path.join(store.root, "index.md"), encoding="utf-8") as file:
        return file.read().splitlines()


def test_each_active_memory_has_a_line(paths: Paths, store: Store) -> None:
    save(paths, store, "Use Postgres", tags=["db", "billing"])
    save(paths, store, "Deploy on Tuesdays")
    assert index(store) == [
        "# Memory Index",
        "",
        "- [DECISION] Deploy on Tuesdays -> .claude/memory/decisions/deploy-on-tuesdays.json",
        "- [DECISION] Use Postgres -> .claude/memory/decisions/use-postgres.json #tags:db,billing",
    ]


@pytest.mark.parametrize(
    "title",
    ["a -> /etc/passwd #tags:evil", "a -> b -> c", "x\n- [DECISION] forged -> /etc/passwd", "#tags:x"],
)
def test_a_title_can_choose_neither_path_nor_tags_nor_lines(paths: Paths, store: Store, title: str) -> None:
    save(paths, store, title)
    lines = index(store)[2:]
    assert len(lines) == 1
    path = lines[0].split(" -> ", 1)[1]
    assert path.startswith(".claude/memory/decisions/")
    assert "#tags:" not in lines[0]


def test_it_follows_each_command(project: Project, store: Store) -> None:
    project.save("Use Postgres", "b")
    assert len(index(store)) == 3
    project.cli("forget", "use-postgres")
    assert index(store)[2:] == []
    project.cli("restore", "use-postgres")
    project.cli("edit", "use-postgres", "--add-tag", "db")
    assert [line.partition(" #")[2] for line in index(store)[2:]] == ["tags:db"]
    project.cli("forget", "use-postgres", "--now")
    assert index(store)[2:] == []


def test_it_can_be_built_anew(paths: Paths, store: Store, put: Put) -> None:
    put("one")
    put("two", record_status="retired")
    rebuild_index_md(store, all_memories(store))
    assert [line.split(" ")[1] for line in index(store)[2:]] == ["[DECISION]"]


@pytest.mark.parametrize("odd", ["folder", "link", "pipe"])
def test_an_index_that_is_no_file_is_kept_and_stops_no_save(paths: Paths, store: Store, odd: str) -> None:
    save(paths, store, "First")
    path = os.path.join(store.root, "index.md")
    os.unlink(path)
    {"folder": os.mkdir, "link": lambda p: os.symlink("/dev/full", p), "pipe": os.mkfifo}[odd](path)
    before = os.lstat(path)
    save(paths, store, "Second")
    assert find(store, "second").memory.title == "Second"
    assert os.path.samestat(os.lstat(path), before)


@pytest.mark.parametrize(
    "text", ["# Memory Index\n\n- how we deploy\n", "our notes", "# Team\n\n- [a](b.md)\n"]
)
def test_an_index_that_people_wrote_is_kept(paths: Paths, store: Store, text: str) -> None:
    os.makedirs(store.root)
    path = os.path.join(store.root, "index.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    save(paths, store, "Use Postgres")
    with open(path, encoding="utf-8") as file:
        assert file.read() == text
    with open(os.path.join(store.root, ".gitignore"), encoding="utf-8") as file:
        assert "index.md" not in file.read()
