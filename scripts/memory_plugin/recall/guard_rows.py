"""Determine which guards are in force, during an index refresh, and write them to the prepared file that tool calls read.

A guard is in force only in a trusted text: that of the memory, or, while a change to it awaits approval, its last trusted version. The rows
are stored in the index, because a refresh reads only the files that changed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..kernel.fastjson import digest, dumps, loads
from ..memories.guard_file import saved_rows, write_guard_file
from ..memories.guarded_commands import guard_words
from ..memories.record import ACTIVE, InvalidMemory, categories, parse_memory
from ..memories.supersession import named_keys
from ..memories.trust import TRUSTED
from .documents import memory_document
from .index_documents import find_document, links, superseded_documents
from .index_file import meta_get, meta_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection
    from ..memories.memory_files import StoredMemory
    from ..memories.record import Memory
    from ..memories.trust import Trust

__all__ = ["GuardRows", "guarded_version"]

_META = "guards"
_MAX_BODY = 400  # characters of a memory in the question to the user


class GuardRows:
    """The rows of the prepared file by the memories' keys, during one refresh."""

    __slots__ = ("_rows",)

    def __init__(self, paths: Paths, connection: Connection) -> None:
        """Read the rows from the index, or from the prepared file if the index is new, since its memories arrive round by round."""
        saved = meta_get(connection, _META)
        rows = loads(saved) if saved else saved_rows(paths)
        self._rows: dict[str, dict[str, Any]] = rows if isinstance(rows, dict) else {}

    def update(self, memories: Iterable[StoredMemory], trust: Trust) -> None:
        """Update the rows for memories that were just read."""
        for stored in memories:
            self._rows.pop(stored.key, None)
            version = guarded_version(stored, trust)
            if version is not None:
                self._rows[stored.key] = _row(stored, version)

    def save(self, paths: Paths, connection: Connection) -> None:
        """Save the rows in the index, inside the caller's transaction, and write those in force to the prepared file.

        Rows of deleted files are dropped. If the file cannot be written now, a later refresh writes it.
        """
        self._rows = {key: row for key, row in self._rows.items() if os.path.lexists(row["texts"]["path"])}
        saved = dumps(self._rows)
        if saved != (meta_get(connection, _META) or dumps({})):
            meta_set(connection, _META, saved)
        replaced = _replaced(connection, self._rows) if self._rows else set()
        with suppress(OSError):
            write_guard_file(paths, [row for key, row in sorted(self._rows.items()) if key not in replaced])


def _replaced(connection: Connection, rows: dict[str, dict[str, Any]]) -> set[str]:
    """Return the keys of the rows whose memory is superseded.

    Either a trusted other memory supersedes it, or its own text names a successor; that does not count while the text awaits approval.
    """
    by_others: set[str] = set()
    for key, _, names in links(connection):
        document = find_document(connection, key) if names else None
        if document is not None and document.trust == TRUSTED:
            for name in names:
                # The first key that the name may mean.
                by_others.update([candidate for candidate in named_keys(name, key) if candidate in rows][:1])
    superseded = superseded_documents(connection)
    return {
        key
        for key, row in rows.items()
        if key in by_others or (key in superseded and row["texts"]["current"])
    }


def guarded_version(stored: StoredMemory, trust: Trust) -> Memory | None:
    """Return the trusted version of a memory whose guard is in force; None if there is none, or if it has no guard."""
    version: Memory | None = stored.memory
    if not trust.is_trusted(stored):
        version = _parsed(stored, trust.last_trusted(stored))
    if version is None or version.guard is None or version.status != ACTIVE or version.superseded_by:
        return None
    return version


def _parsed(stored: StoredMemory, data: dict[str, Any] | None) -> Memory | None:
    if data is None:
        return None
    try:
        return parse_memory(data, stored.memory.id, categories()[stored.memory.category])
    except InvalidMemory:
        return None


def _row(stored: StoredMemory, version: Memory) -> dict[str, Any]:
    guard = version.guard
    assert guard is not None
    document = memory_document(stored._replace(memory=version), TRUSTED)
    row = {
        "key": stored.key,
        "action": guard.action,
        "until": version.expires_at,
        "commands": [words for words in map(guard_words, guard.commands) if words],
        "files": list(guard.files),
    }
    guard_digest = digest(dumps([row, document.inject]).encode("ascii"), 8)
    body = " ".join(document.body.split())
    texts = {
        "title": document.title,
        "block": document.inject,
        "body": body if len(body) <= _MAX_BODY else body[: _MAX_BODY - 1] + "\u2026",
        "mark": guard_digest,
        "path": stored.path,
        "current": "yes" if version is stored.memory else "",
    }
    return {**row, "texts": texts}
