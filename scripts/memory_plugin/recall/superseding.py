"""Superseded memories in the index: only search finds them, and the newer ones inherit their `asked_as` phrases.

One memory's file can change the index entries of others. So this runs after each refresh, over the few documents that name others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.clock import now_iso
from ..memories.stores import PROJECT, USER
from ..memories.supersession import Link, resolve
from ..memories.trust import TRUSTED
from .index_documents import (
    find_document,
    inherited_phrases,
    links,
    put,
    set_flags,
    set_superseded,
    superseded_documents,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..kernel.sqlite import Connection
    from ..memories.supersession import Resolution
    from .documents import Document

__all__ = ["apply_supersession"]


def apply_supersession(
    connection: Connection, rebuild: Callable[[Document, tuple[str, ...]], Document | None]
) -> int:
    """Update the flags and inherited phrases of documents that name each other, inside the caller's transaction.

    `rebuild` reads a document's file again and returns the document with the given inherited phrases; None if the file has changed since it
    was indexed, which a later refresh handles. Returns the number of documents that changed.
    """
    linked = links(connection)
    before, inherited = superseded_documents(connection), inherited_phrases(connection)
    if not (linked or before or inherited):
        return 0
    resolution = _resolve(connection, linked)
    changed = _update_flags(connection, before, resolution.superseded)
    if resolution.superseded != before:
        set_superseded(connection, resolution.superseded)
    for key in sorted(inherited.keys() | resolution.inherited.keys()):
        phrases = resolution.inherited.get(key, ())
        document = find_document(connection, key) if list(phrases) != inherited.get(key, []) else None
        rebuilt = rebuild(document, phrases) if document is not None else None
        if rebuilt is not None:
            injectable = rebuilt.injectable and key not in resolution.superseded
            put(connection, [rebuilt._replace(injectable=injectable)])
            changed += 1
    return changed


def _resolve(connection: Connection, linked: list[tuple[str, str, list[str]]]) -> Resolution:
    claims = {key: (by, tuple(names)) for key, by, names in linked}
    cache: dict[str, Link | None] = {}

    def find(key: str) -> Link | None:
        if key not in cache:
            cache[key] = None
            document = find_document(connection, key)
            if document is not None and document.scope in (PROJECT, USER):
                by, names = claims.get(key, ("", ()))
                cache[key] = Link(key, document.trust == TRUSTED, by, names, tuple(document.asked_as))
        return cache[key]

    return resolve({key: link for key in claims if (link := find(key)) is not None}, find)


def _update_flags(connection: Connection, before: dict[str, str], after: dict[str, str]) -> int:
    """Exclude superseded documents from recall and include those that are no longer superseded; return how many changed."""
    changed = 0
    for key in sorted(before.keys() | after.keys()):
        document = find_document(connection, key)
        if document is not None:
            has_expired = bool(document.expires_at) and document.expires_at <= now_iso()
            injectable = key not in after and document.trust == TRUSTED and not has_expired
            if injectable != document.injectable:
                set_flags(connection, key, injectable, document.trust)
                changed += 1
    return changed
