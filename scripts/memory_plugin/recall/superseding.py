"""Superseded memories in the index: found by search alone, while the newer ones answer to their phrases.

What one memory says changes what the index holds of others, whose files stay as they are. So this is settled after each refresh, from the
few documents that name others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ..kernel.clock import now_iso
from ..memories.stores import PROJECT, USER
from ..memories.supersession import Link, resolve
from ..memories.trust import TRUSTED
from .index import read, write

if TYPE_CHECKING:
    from ..kernel.sqlite import Connection
    from ..memories.supersession import Resolution
    from .index.document import Document

__all__ = ["settle"]


def settle(connection: Connection, rebuild: Callable[[Document, tuple[str, ...]], Document | None]) -> int:
    """Bring flags and inherited phrases in line with what the documents say of each other, inside the caller's transaction.

    Args:
        connection: the index.
        rebuild: returns a document read again with the phrases that it inherits; None when its file is not as indexed any more, which a
            later refresh sees to.

    Returns:
        The number of documents that changed.
    """
    linked = read.links(connection)
    before, lent = read.superseded(connection), read.inherited(connection)
    if not (linked or before or lent):
        return 0
    resolution = _resolve(connection, linked)
    changed = _flag(connection, before, resolution.superseded)
    if resolution.superseded != before:
        write.set_superseded(connection, resolution.superseded)
    for key in sorted(lent.keys() | resolution.inherited.keys()):
        phrases = resolution.inherited.get(key, ())
        document = read.one(connection, key) if list(phrases) != lent.get(key, []) else None
        rebuilt = rebuild(document, phrases) if document is not None else None
        if rebuilt is not None:
            rebuilt.injectable = rebuilt.injectable and key not in resolution.superseded
            write.put(connection, [rebuilt])
            changed += 1
    return changed


def _resolve(connection: Connection, linked: list[tuple[str, str, list[str]]]) -> Resolution:
    said = {key: (by, tuple(named)) for key, by, named in linked}
    known: dict[str, Link | None] = {}

    def find(key: str) -> Link | None:
        if key not in known:
            document = read.one(connection, key)
            by, named = said.get(key, ("", ()))
            known[key] = (
                None
                if document is None or document.scope not in (PROJECT, USER)
                else Link(key, document.trust == TRUSTED, by, named, tuple(document.asked_as))
            )
        return known[key]

    links = {key: link for key in said if (link := find(key)) is not None}
    return resolve(links, find)


def _flag(connection: Connection, before: dict[str, str], after: dict[str, str]) -> int:
    """Take the superseded out of recall, and let those speak again that nothing supersedes any more; return how many changed."""
    changed = 0
    for key in sorted(before.keys() | after.keys()):
        document = read.one(connection, key)
        if document is not None:
            holds = not (document.expires_at and document.expires_at <= now_iso())
            injectable = key not in after and document.trust == TRUSTED and holds
            if injectable != document.injectable:
                write.set_flags(connection, key, injectable, document.trust)
                changed += 1
    return changed
