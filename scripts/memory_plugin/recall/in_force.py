"""Guards in force and superseded memories in the index, which one memory's file changes for others.

Only search finds a superseded memory, and the newer ones inherit its `asked_as` phrases. A guard is in force only in a trusted text: that
of the memory, or, while a change to it awaits approval, its last trusted version. Both are updated by each refresh, for the few documents
that changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..kernel.context import now_iso
from ..kernel.fastjson import digest, dumps, loads
from ..kernel.paths import Paths
from ..kernel.sqlite import Connection
from ..memories import InvalidMemory
from ..memories.guard_file import saved_rows, write_guard_file, written_out
from ..memories.guarded_commands import guard_words
from ..memories.memory_files import PROJECT, USER, StoredMemory
from ..memories.record import ACTIVE, Memory, categories, parse_memory
from ..memories.relations import Link, Resolution, named_keys, resolve
from ..memories.trust import TRUSTED, Trust
from .documents import memory_document
from .index_documents import find_document, set_flags, set_inherited, storable
from .index_file import CHANGED, GUARDS, meta_get, meta_set, value_of

_MAX_BODY = 400  # characters of a memory in the question to the user


def apply_supersession(connection: Connection) -> bool:
    """Update the flags and inherited phrases of documents that changes affect, inside the caller's transaction; return whether any are."""
    keys = linked_to_changes(connection)
    before = superseded_documents(connection, keys)
    resolution = _resolve(connection, keys)
    connection.executemany("DELETE FROM superseded WHERE key = ?", ((key,) for key in keys))
    connection.executemany(
        "INSERT INTO superseded VALUES (?, ?)",
        ((storable(key), storable(by)) for key, by in resolution.superseded.items()),
    )
    _update_flags(connection, before, resolution.superseded)
    for key in sorted(keys):
        set_inherited(connection, key, resolution.inherited.get(key, ()))
    connection.execute("DELETE FROM touched")
    return bool(keys)


def _resolve(connection: Connection, keys: set[str]) -> Resolution:
    cache: dict[str, Link | None] = {}

    def find(key: str) -> Link | None:
        if key not in cache:
            cache[key] = None
            document = find_document(connection, key)
            if document is not None and document.scope in (PROJECT, USER):
                cache[key] = Link(
                    key,
                    document.trust == TRUSTED,
                    document.superseded_by,
                    tuple(document.supersedes),
                    tuple(document.asked_as),
                )
        return cache[key]

    links = {key: link for key in sorted(keys) if (link := find(key)) is not None}
    return resolve({key: link for key, link in links.items() if link.superseded_by or link.supersedes}, find)


def _update_flags(connection: Connection, before: dict[str, str], after: dict[str, str]) -> None:
    """Exclude superseded documents from recall and include those that are no longer superseded."""
    for key in sorted(before.keys() | after.keys()):
        document = find_document(connection, key)
        if document is not None:
            has_expired = bool(document.expires_at) and document.expires_at <= now_iso()
            injectable = key not in after and document.trust == TRUSTED and not has_expired
            if injectable != document.injectable:
                set_flags(connection, key, injectable, document.trust)


def superseded_documents(connection: Connection, keys: Iterable[str]) -> dict[str, str]:
    """Return those of the keys that are superseded -> the key of the memory that replaces it, or its name."""
    rows = (
        connection.execute("SELECT key, by FROM superseded WHERE key = ?", (storable(key),)).fetchone()
        for key in keys
    )
    return {row[0]: row[1] for row in rows if row is not None}


def linked_to_changes(connection: Connection) -> set[str]:
    """Return every key that is connected by names to a document changed since the last refresh; most documents name no others."""
    queue = [
        key
        for (key,) in connection.execute(
            "SELECT key FROM touched WHERE key IN (SELECT key FROM named) OR key IN (SELECT named FROM named) "
            "OR key IN (SELECT key FROM superseded) OR key IN (SELECT key FROM inherited)"
        )
    ]
    found: set[str] = set()
    while queue:
        key = queue.pop()
        if key not in found:
            found.add(key)
            rows = connection.execute(
                "SELECT named FROM named WHERE key = ?1 UNION ALL SELECT key FROM named WHERE named = ?1 "
                "UNION ALL SELECT by FROM superseded WHERE key = ?1",
                (key,),
            )
            queue += [key for (key,) in rows]
    return found


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
    rows: dict[str, Any] = value_of(lambda: {key: loads(row) for key, row in saved}, "guards")
    replaced = _replaced(connection, rows)
    write_guard_file(paths, [row for key, row in rows.items() if key not in replaced])


def _replaced(connection: Connection, rows: dict[str, dict[str, Any]]) -> set[str]:
    """Return the keys of the rows whose memory is superseded.

    Either a trusted other memory supersedes it, or its own text names a successor; that does not count while the text awaits approval.
    """
    by_others: set[str] = set()
    namers = connection.execute("SELECT DISTINCT key FROM named WHERE named IN (SELECT key FROM guards)")
    for (owner,) in namers.fetchall():
        document = find_document(connection, owner)
        for name in document.supersedes if document and document.trust == TRUSTED else ():
            # The first key that the name may mean.
            by_others.update([meant for meant in named_keys(name, owner) if meant in rows][:1])
    superseded = superseded_documents(connection, rows)
    return {
        key
        for key, row in rows.items()
        if key in by_others or (key in superseded and row["texts"]["current"])
    }


def guarded_version(stored: StoredMemory, trust: Trust) -> Memory | None:
    """Return the trusted version of a memory whose guard is in force; None if there is none, or if it has no guard."""
    version = stored.memory
    if not trust.is_trusted(stored):
        try:
            version = parse_memory(trust.last_trusted(stored), version.id, categories()[version.category])
        except InvalidMemory:
            return None
    return version if version.guard and version.status == ACTIVE and not version.superseded_by else None


def _row(stored: StoredMemory, version: Memory) -> dict[str, Any]:
    guard = version.guard
    assert guard is not None
    document = memory_document(stored._replace(memory=version), TRUSTED)
    row = {
        "key": stored.key,
        "action": guard.action,
        "until": version.expires_at,
        "commands": [words for words in map(guard_words, guard.commands) if words],
        "files": [form for pattern in guard.files for form in written_out(pattern)],
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
