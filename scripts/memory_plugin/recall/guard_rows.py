"""Determine which guards are in force, during an index refresh, and write them to the prepared file that tool calls read.

A guard is in force only in a trusted text: that of the memory, or, while a change to it awaits approval, its last trusted version. The rows
are stored in the index, because a refresh reads only the files that changed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..kernel.fastjson import digest, dumps, loads
from ..memories import InvalidMemory
from ..memories.guard_file import saved_rows, write_guard_file
from ..memories.guarded_commands import guard_words
from ..memories.record import ACTIVE, categories, parse_memory
from ..memories.supersession import named_keys
from ..memories.trust import TRUSTED
from .documents import memory_document
from .index_documents import find_document, storable
from .index_file import CHANGED, GUARDS, meta_get, meta_set
from .superseding import find_link, naming, superseded_documents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection
    from ..memories.memory_files import StoredMemory
    from ..memories.record import Memory
    from ..memories.trust import Trust

_MAX_BODY = 400  # characters of a memory in the question to the user


def seed_guards(paths: Paths, connection: Connection) -> None:
    """Take the guards of a new index from the prepared file, because its memories arrive round by round."""
    if meta_get(connection, GUARDS) is None:
        for key, row in saved_rows(paths).items():
            _save(connection, key, row)
        meta_set(connection, GUARDS, CHANGED)


def update_guards(connection: Connection, memories: Iterable[StoredMemory], trust: Trust) -> None:
    """Update the rows for memories that were just read, inside the caller's transaction."""
    for stored in memories:
        version = guarded_version(stored, trust)
        _save(connection, stored.key, None if version is None else _row(stored, version))


def drop_guards(connection: Connection, files: Iterable[str]) -> None:
    """Drop the rows of files that are gone, inside the caller's transaction; a guard outlives the right to read its file."""
    for path in files:
        if (
            not os.path.lexists(path)
            and connection.execute("DELETE FROM guards WHERE path = ?", (storable(path),)).rowcount
        ):
            meta_set(connection, GUARDS, CHANGED)


def _save(connection: Connection, key: str, row: dict[str, Any] | None) -> None:
    before = connection.execute("SELECT row FROM guards WHERE key = ?", (key,)).fetchone()
    after = None if row is None else dumps(row)
    if (before and before[0]) != after:
        connection.execute("DELETE FROM guards WHERE key = ?", (key,))
        if row is not None:
            connection.execute(
                "INSERT INTO guards VALUES (?, ?, ?)", (key, storable(row["texts"]["path"]), after)
            )
        meta_set(connection, GUARDS, CHANGED)


def write_guards(paths: Paths, connection: Connection) -> None:
    """Write the guards in force to the prepared file. Raises OSError."""
    saved = connection.execute("SELECT key, row FROM guards ORDER BY key").fetchall()
    rows: dict[str, Any] = {key: loads(row) for key, row in saved}
    replaced = _replaced(connection, rows)
    write_guard_file(paths, [row for key, row in rows.items() if key not in replaced])


def _replaced(connection: Connection, rows: dict[str, dict[str, Any]]) -> set[str]:
    """Return the keys of the rows whose memory is superseded.

    Either a trusted other memory supersedes it, or its own text names a successor; that does not count while the text awaits approval.
    """
    by_others: set[str] = set()
    for owner in {owner for key in rows for owner in naming(connection, key)}:
        document = find_document(connection, owner)
        if document is not None and document.trust == TRUSTED:
            for name in find_link(connection, owner)[1]:
                # The first key that the name may mean.
                by_others.update(
                    [candidate for candidate in named_keys(name, owner) if candidate in rows][:1]
                )
    superseded = superseded_documents(connection, rows)
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
