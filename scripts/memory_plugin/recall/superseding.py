"""Superseded memories in the index: only search finds them, and the newer ones inherit their `asked_as` phrases.

One memory's file can change what the index holds of others. So this is worked out after each refresh, from the few documents that name
others.
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

    Args:
        connection: the index.
        rebuild: reads a document's file again and returns the document with the phrases that it inherits; None when the file has changed
            since it was indexed, which a later refresh handles.

    Returns:
        The number of documents that changed.
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
    claims = {key: (by, tuple(named)) for key, by, named in linked}
    known: dict[str, Link | None] = {}

    def find(key: str) -> Link | None:
        if key not in known:
            document = find_document(connection, key)
            by, named = claims.get(key, ("", ()))
            known[key] = (
                None
                if document is None or document.scope not in (PROJECT, USER)
                else Link(key, document.trust == TRUSTED, by, named, tuple(document.asked_as))
            )
        return known[key]

    links = {key: link for key in claims if (link := find(key)) is not None}
    return resolve(links, find)


def _update_flags(connection: Connection, before: dict[str, str], after: dict[str, str]) -> int:
    """Exclude superseded documents from recall and include those that are no longer superseded; return how many changed."""
    changed = 0
    for key in sorted(before.keys() | after.keys()):
        document = find_document(connection, key)
        if document is not None:
            holds = not (document.expires_at and document.expires_at <= now_iso())
            injectable = key not in after and document.trust == TRUSTED and holds
            if injectable != document.injectable:
                set_flags(connection, key, injectable, document.trust)
                changed += 1
    return changed
