"""Save a memory in the process of a test, in a fifth of the time of `memory save`. What it leaves is the same (test_forks.py)."""

from __future__ import annotations

import json
import os

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.memories import lifecycle
from memory_plugin.memories.memory_files import all_memories, project_store
from memory_plugin.memories.record import body_content, category_named, new_memory
from memory_plugin.memories.writing import rebuild_index_md
from memory_plugin.recall import index_file
from memory_plugin.recall.index_refresh import refresh_index
from tests import forks
from tests.fork_server import RESOLUTION_SECONDS

_FIELDS = {"--file": "related_files", "--asked-as": "asked_as"}


def has_plain_settings(root: str, settings_path: str) -> bool:
    """Return whether a save does the same in this process: only recall has settings, and only the user's."""
    names = [os.path.join(root, ".claude", name) for name in ("settings.json", "settings.local.json")]
    if not forks.IS_SUPPORTED or any(map(os.path.lexists, names)):
        return False
    if not os.path.exists(settings_path):
        return True
    with open(settings_path, encoding="utf-8") as file:
        text = file.read()
    try:
        return list(json.loads(text)) == ["memory"] and list(json.loads(text)["memory"]) == ["retrieval"]
    except ValueError:
        return False


def fields_of(options: tuple[str, ...]) -> dict[str, list[str]] | None:
    """Return the fields that options of `save` set; None if they set others than lists of texts."""
    fields: dict[str, list[str]] = {}
    for name, value in zip(options[::2], options[1::2]):
        if name not in _FIELDS:
            return None
        fields.setdefault(_FIELDS[name], []).append(value)
    return fields


def save_here(
    root: str, config: str, category: str, text: tuple[str, str], more: dict[str, list[str]]
) -> str:
    """Save a memory of the user's in a project, accepted, and return its id; `text` is its title and body, `more` has further fields."""
    kind = category_named(category)
    data = new_memory(kind, "", text[0], body_content(kind, text[1]), more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", os.path.dirname(config))
        patch.setenv("CLAUDE_CONFIG_DIR", config)
        patch.setattr(index_file, "_RESOLUTION_SECONDS", RESOLUTION_SECONDS)
        paths = Paths(root)
        store = project_store(paths)
        written = lifecycle.save(paths, store, data, approved=True)
        rebuild_index_md(store, all_memories(store))
        refresh_index(paths, load(paths.config_dir, paths.project_root))
    return written.stored.memory.id
