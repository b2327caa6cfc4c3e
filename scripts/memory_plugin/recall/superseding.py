"""Superseded memories in the index: only search finds them, and the newer ones inherit their `asked_as` phrases.

One memory's file can change the index entries of others. So this runs after each refresh, over the few documents that name others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.clock import now_iso
from ..memories.stores import PROJECT, USER
from ..memories.supersession import Link, resolve
from ..memories.trust import TRUSTED
from .document_links import (
    find_link,
    inherited_phrases,
    linked_to_changes,
    set_superseded,
    settle_changes,
    superseded_documents,
)
from .index_documents import find_document, put, set_flags

if TYPE_CHECKING:
    from collections.abc import Callable

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
