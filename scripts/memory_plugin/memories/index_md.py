"""`index.md`: a store's generated table of contents, for people only; recall never reads it.

One line for each active memory: `- [CATEGORY] title -> path #tags:a,b`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ..kernel.files import read_regular, replace_file
from .hygiene import shown_items, shown_line
from .memory_files import all_memories
from .record import ACTIVE, MAX_TITLE, categories
from .stores import USER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .memory_files import StoredMemory
    from .stores import Store

_HEADER = "# Memory Index\n"
_MAX_BYTES = 32 << 20
# `memory refresh` alone adds lines to a longer list, because one more line rewrites all of it.
_MAX_UPDATED = 256 << 10
_ARROW = " -> "


def update_line(store: Store, path: str, stored: StoredMemory | None) -> None:
    """Update the line of the memory in a file; None if the file was deleted."""
    lines = _lines(store)
    lines.pop(_shown_path(store, path), None)
    if stored is not None and _is_listed(stored):
        lines[_shown_path(store, path)] = _line(store, stored)
    _save(store, lines)


def rebuild(store: Store, memories: Iterable[StoredMemory]) -> int:
    """Rebuild the index from all memories of a store; return how many it lists."""
    lines = {
        _shown_path(store, stored.path): _line(store, stored) for stored in memories if _is_listed(stored)
    }
    _save(store, lines)
    return len(lines)


def is_long(store: Store) -> bool:
    """Return whether the index is too long to add single lines to it; the next `rebuild` adds them."""
    with suppress(OSError):
        return os.path.getsize(_path(store)) > _MAX_UPDATED
    return False


def _is_listed(stored: StoredMemory) -> bool:
    return stored.memory.status == ACTIVE and not stored.memory.superseded_by


def _lines(store: Store) -> dict[str, str]:
    """Return the lines by the path that they name, built from the files if there is no index yet."""
    current = _current(store)
    if current is None:
        rebuild(store, all_memories(store))
        current = _current(store) or b""
    text = current.decode("utf-8", "replace")
    rows = (line for line in text.splitlines() if line.startswith("- [") and _ARROW in line)
    return {row.rpartition(_ARROW)[2].partition(" #tags:")[0]: row for row in rows}


def _save(store: Store, lines: dict[str, str]) -> None:
    if not os.path.isdir(store.root):
        return
    text = _HEADER + "\n" + "".join(line + "\n" for line in sorted(lines.values()))
    data = text.encode("utf-8", "replace")
    if data != _current(store):
        # A project's file gets the permissions that the umask gives to the other files of the working tree.
        replace_file(_path(store), data, 0o600 if store.scope == USER else 0o666, durable=False)


def _current(store: Store) -> bytes | None:
    try:
        return read_regular(_path(store), _MAX_BYTES)[0]
    except OSError:
        return None


def _path(store: Store) -> str:
    return os.path.join(store.root, "index.md")


def _shown_path(store: Store, path: str) -> str:
    return os.path.relpath(path, store.worktree or store.root).replace(os.sep, "/")


def _line(store: Store, stored: StoredMemory) -> str:
    memory = stored.memory
    title = shown_line(memory.title, MAX_TITLE).replace(_ARROW, " - ").replace("#tags:", "")
    tags = ",".join(tag.replace(",", " ") for tag in shown_items(memory.tags, 40))
    line = "- [%s] %s -> %s" % (categories()[memory.category].label, title, _shown_path(store, stored.path))
    return line + " #tags:" + tags if tags else line
