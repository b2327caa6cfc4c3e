"""Which documents of the index name others, are superseded, or inherit phrases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .index_documents import storable, texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.sqlite import Connection


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
