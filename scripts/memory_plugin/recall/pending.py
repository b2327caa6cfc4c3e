"""Memories that await approval: which they are, and when to tell the user about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.sqlite import SqliteError
from ..memories.stores import stores
from ..memories.trust import TRUSTED, load_trust
from ..memories.writing import store_lock
from .index_documents import untrusted_documents
from .index_file import IndexUnavailable, index_path, open_index
from .lookup import Lookup

if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.paths import Places

__all__ = ["due_notice", "pending_keys"]

_LOCK_WAIT = 0.5


def pending_keys(places: Places) -> dict[str, str]:
    """Return key -> trust of the memories that search finds but recall does not use; empty when no index answers."""
    try:
        connection = open_index(index_path(places))
    except IndexUnavailable:
        return {}
    try:
        return untrusted_documents(connection, TRUSTED)
    except SqliteError:
        return {}
    finally:
        connection.close()


def due_notice(context: Context) -> str:
    """Return one line for the user on what awaits approval, the first time that exactly these memories do; else an empty text.

    The index is brought up to date first where that takes little, so that a new clone is mentioned in its first session.
    """
    Lookup(context).refresh()
    pending = pending_keys(context.places)
    if not pending or not _is_due(context.places, pending):
        return ""
    subject = "1 memory awaits" if len(pending) == 1 else "%d memories await" % len(pending)
    return (
        "memory: %s approval and will not be recalled until then; /memory:status shows and accepts" % subject
    )


def _is_due(places: Places, pending: dict[str, str]) -> bool:
    """Return whether this set of memories was never mentioned, and record that it is now."""
    store = stores(places)[0]
    try:
        with store_lock(places, store, _LOCK_WAIT):
            trust = load_trust(places, store)
            due = trust.notice_due(pending)
            trust.save()
    except OSError:
        return False
    return due
