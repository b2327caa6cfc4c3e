"""The paths of a project in this process, and files that are put into its stores."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.import_facts import Reading
from memory_plugin.memories.importing import archive_replaced, read
from memory_plugin.memories.memory_files import Store, StoredMemory, all_memories, project_store
from memory_plugin.memories.record import categories, new_memory
from tests.project import Project

Put = Callable[..., str]


def find(store: Store, identity: str) -> StoredMemory:
    """Return the memory with this id in a store."""
    (found,) = [stored for stored in all_memories(store) if stored.memory.id == identity]
    return found


@pytest.fixture
def paths(project: Project, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """Return the paths of a new project, with its own config folder in the environment."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", project.config)
    monkeypatch.setenv("HOME", project.home)
    return Paths(project.root)


@pytest.fixture
def store(paths: Paths) -> Store:
    """Return the project's store, which does not exist yet."""
    return project_store(paths)


@pytest.fixture
def put(store: Store) -> Put:
    """Write a file into a store without the plugin: `put("use-x", title="…")`, or `put("use-x", raw=b"…")`."""

    def written(
        identity: str,
        raw: bytes | None = None,
        category: str = "decision",
        to: Store = store,
        **fields: object,
    ) -> str:
        path = os.path.join(to.folder(category), identity + ".json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        content = {categories()[category].primary: "the body of " + identity}
        data = {**new_memory(categories()[category], identity, "Title of " + identity, content, {}), **fields}
        with open(path, "wb") as file:
            file.write(json.dumps(data, indent=2).encode("ascii") if raw is None else raw)
        return path

    return written


def imported(project: Project, files: dict[str, str]) -> tuple[dict[str, str], Reading]:
    """Return title -> status of what the files become, and the reading."""
    for name, text in files.items():
        project.write("docs/" + name, text)
    reading = read(project.root + "/docs", root=project.root)
    archive_replaced(reading.drafts)
    return {draft.data["title"]: draft.data["record_status"] for draft in reading.drafts}, reading
