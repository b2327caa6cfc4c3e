"""Superseded memories in the index: only search finds them, and the newer ones inherit their `asked_as` phrases.

One memory's file can change the index entries of others. So this runs after each refresh, over the few documents that name others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.clock import now_iso
from ..memories.stores import PROJECT, USER
from ..memories.supersession import Link, resolve
from ..memories.trust import TRUSTED
from .index_documents import find_document, put, set_flags, storable, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..kernel.sqlite import Connection
    from ..memories.supersession import Resolution
    from .documents import Document


def apply_supersession(
    connection: Connection, rebuild: Callable[[Document, tuple[str, ...]], Document | None]
) -> set[str]:
    """Update the flags and inherited phrases of documents that changes affect, inside the caller's transaction; return their keys.

    `rebuild` reads a document's file again and returns the document with the given inherited phrases; None if the file has changed since it
    was indexed, which a later refresh handles.
    """
    keys = linked_to_changes(connection)
    before = superseded_documents(connection, keys)
    resolution = _resolve(connection, keys)
    unsettled = []
    set_superseded(connection, keys, resolution.superseded)
    _update_flags(connection, before, resolution.superseded)
    for key in sorted(keys):
        phrases = resolution.inherited.get(key, ())
        is_same = list(phrases) == inherited_phrases(connection, key)
        document = None if is_same else find_document(connection, key)
        if document is None:
            continue
        rebuilt = rebuild(document, phrases)
        if rebuilt is None:
            unsettled.append(key)
        else:
            put(
                connection,
                [rebuilt._replace(injectable=rebuilt.injectable and key not in resolution.superseded)],
            )
    settle_changes(connection, unsettled)
    return keys


def _resolve(connection: Connection, keys: set[str]) -> Resolution:
    cache: dict[str, Link | None] = {}

    def find(key: str) -> Link | None:
        if key not in cache:
            cache[key] = None
            document = find_document(connection, key)
            if document is not None and document.scope in (PROJECT, USER):
                by, names = find_link(connection, key)
                cache[key] = Link(key, document.trust == TRUSTED, by, tuple(names), tuple(document.asked_as))
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


def inherited_phrases(connection: Connection, key: str) -> list[str]:
    """Return the phrases of older memories that were indexed with a document."""
    row = connection.execute("SELECT asked_as FROM inherited WHERE key = ?", (storable(key),)).fetchone()
    return [] if row is None else texts(row[0])


def find_link(connection: Connection, key: str) -> tuple[str, list[str]]:
    """Return `superseded_by` and `supersedes` of a document; both are empty if it names no others."""
    row = connection.execute(
        "SELECT superseded_by, supersedes FROM links WHERE key = ?", (storable(key),)
    ).fetchone()
    return ("", []) if row is None else (row[0], texts(row[1]))


def naming(connection: Connection, key: str) -> list[str]:
    """Return the keys of the documents with a name that may mean this key."""
    return [row[0] for row in connection.execute("SELECT key FROM named WHERE named = ?", (key,))]


def linked_to_changes(connection: Connection) -> set[str]:
    """Return every key that is connected by names to a document changed since `settle_changes`; most documents name no others."""
    queue = [
        key
        for (key,) in connection.execute(
            "SELECT key FROM touched WHERE key IN (SELECT key FROM links) OR key IN (SELECT named FROM named) "
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


def settle_changes(connection: Connection, unsettled: Iterable[str]) -> None:
    """Forget which documents changed, except the `unsettled` ones, inside the caller's transaction."""
    connection.execute("DELETE FROM touched")
    connection.executemany("INSERT INTO touched VALUES (?)", ((key,) for key in unsettled))


def set_superseded(connection: Connection, keys: Iterable[str], superseded: dict[str, str]) -> None:
    """Replace what is known about these keys by `superseded`: key -> key of the successor, or its name."""
    connection.executemany("DELETE FROM superseded WHERE key = ?", ((key,) for key in keys))
    connection.executemany(
        "INSERT INTO superseded VALUES (?, ?)",
        ((storable(key), storable(by)) for key, by in superseded.items()),
    )
