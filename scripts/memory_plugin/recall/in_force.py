"""Guards in force and superseded memories in the index, which one memory's file changes for others.

Only search finds a superseded memory, and the newer ones inherit its `asked_as` phrases. A guard is in force only in a trusted text: that
of the memory, or, while a change to it awaits approval, its last trusted version. Both are updated by each refresh that changes a document.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

from ..kernel.context import now_iso
from ..kernel.fastjson import digest, dumps, loads
from ..kernel.paths import Paths
from ..kernel.sqlite import Connection
from ..memories import InvalidMemory
from ..memories.guard_file import saved_rows, write_guard_file, written_out
from ..memories.guarded_commands import guard_words
from ..memories.memory_files import StoredMemory
from ..memories.record import ACTIVE, Memory, categories, parse_memory
from ..memories.relations import named_keys, resolve
from ..memories.trust import TRUSTED, Trust
from .documents import memory_document
from .index_documents import find_link, links, set_inherited, set_injectable, storable
from .index_file import value_of
from .query import load_model

GuardRow = dict[str, Any]  # a row of the table `guards`, as `write_guard_file` takes it

_MAX_BODY = 400  # characters of a memory in the question to the user


def apply_supersession(connection: Connection) -> None:
    """Update the flags and inherited phrases of all documents that others supersede or replace, inside the caller's transaction."""
    named = links(connection)
    resolution = resolve(named, cache(lambda key: named.get(key) or find_link(connection, key)))
    before = dict(connection.execute("SELECT key, by FROM superseded").fetchall())
    after = resolution.superseded
    connection.execute("DELETE FROM superseded")
    connection.executemany("INSERT INTO superseded VALUES (?, ?)", after.items())
    for key in sorted(before.keys() ^ after.keys()):
        set_injectable(connection, key, injectable=key not in after and _is_recalled(connection, key))
    saved = dict(connection.execute("SELECT key, asked_as FROM inherited").fetchall())
    inherited = {key: dumps(list(phrases)) for key, phrases in resolution.inherited.items()}
    changed = sorted(key for key in saved.keys() | inherited if saved.get(key) != inherited.get(key))
    stopwords = load_model(connection).stopwords if changed else {}
    for key in changed:
        set_inherited(connection, key, resolution.inherited.get(key, ()), stopwords)


def _is_recalled(connection: Connection, key: str) -> bool:
    """Return whether a document may be injected unless it is superseded."""
    query = "SELECT 1 FROM documents WHERE key = ? AND trust = ? AND (expires_at = '' OR expires_at > ?)"
    return connection.execute(query, (key, TRUSTED, now_iso())).fetchone() is not None


def superseded_documents(connection: Connection, keys: Iterable[str]) -> dict[str, str]:
    """Return those of the keys that are superseded -> the key of the memory that replaces it, or its name."""
    query = "SELECT key, by FROM superseded WHERE key = ?"
    return dict(row for key in keys for row in connection.execute(query, (storable(key),)))


def seed_guards(paths: Paths, connection: Connection) -> None:
    """Take the guards of a new index from the prepared file, because its memories arrive round by round."""
    for key, row in saved_rows(paths).items():
        _save(connection, key, row)


def update_guards(connection: Connection, memories: Iterable[StoredMemory], trust: Trust) -> None:
    """Update the rows for memories that were just read, inside the caller's transaction."""
    for stored in memories:
        version = guarded_version(stored, trust)
        _save(connection, stored.key, None if version is None else _row(stored, version))


def _save(connection: Connection, key: str, row: GuardRow | None) -> None:
    connection.execute("DELETE FROM guards WHERE key = ?", (key,))
    if row is not None:
        connection.execute("INSERT INTO guards VALUES (?, ?)", (key, dumps(row)))


def write_guards(paths: Paths, connection: Connection) -> None:
    """Write the guards in force to the prepared file, and drop those whose file is gone. Raises OSError.

    A guard outlives the right to read its file.
    """
    saved = connection.execute("SELECT key, row FROM guards ORDER BY key").fetchall()
    rows: dict[str, Any] = value_of(lambda: {key: loads(row) for key, row in saved}, "guards")
    gone = {key for key, row in rows.items() if not os.path.lexists(row["texts"]["path"])}
    connection.executemany("DELETE FROM guards WHERE key = ?", ((key,) for key in gone))
    left_out = gone | _replaced(connection, rows)
    write_guard_file(paths, [row for key, row in rows.items() if key not in left_out])


def _replaced(connection: Connection, rows: dict[str, GuardRow]) -> set[str]:
    """Return the keys of the rows whose memory is superseded.

    Either a trusted other memory supersedes it, or its own text names a successor; that does not count while the text awaits approval.
    """
    by_others: set[str] = set()
    for link in links(connection).values() if rows else ():
        for name in link.supersedes if link.is_trusted else ():
            # The first key that the name may mean.
            by_others.update([meant for meant in named_keys(name, link.key) if meant in rows][:1])
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


def _row(stored: StoredMemory, version: Memory) -> GuardRow:
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
