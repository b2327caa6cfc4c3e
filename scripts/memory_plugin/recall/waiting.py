"""Memories that wait for the user's word: how many, and when to say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.sqlite import SqliteError
from ..memories.stores import stores
from ..memories.trust import TRUSTED, load_trust
from ..memories.writing import store_lock
from .index import read
from .index.file import IndexError_, open_index
from .index.place import index_path
from .lookup import Lookup

if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings

__all__ = ["due_notice", "waiting_keys"]

_LOCK_WAIT = 0.5


def waiting_keys(places: Places) -> dict[str, str]:
    """The memories that are found by search but not injected: key -> pending or foreign. Empty when no index tells."""
    try:
        connection = open_index(index_path(places))
    except IndexError_:
        return {}
    try:
        return read.standings_but(connection, TRUSTED)
    except SqliteError:
        return {}
    finally:
        connection.close()


def due_notice(places: Places, settings: Settings, deadline: Deadline) -> str:
    """One line for the user on what waits, the first time that just this set waits; else an empty text.

    The index is brought up to date first where that takes little, so that a fresh clone is spoken of in its first session.
    """
    Lookup(places, settings, deadline).refresh()
    waiting = waiting_keys(places)
    if not waiting or not _is_due(places, waiting):
        return ""
    count = "%d memor%s" % (len(waiting), "y waits" if len(waiting) == 1 else "ies wait")
    return (
        "memory: %s for your word and will not be recalled until then; /memory:status shows and accepts"
        % count
    )


def _is_due(places: Places, waiting: dict[str, str]) -> bool:
    store = stores(places)[0]
    try:
        with store_lock(places, store, _LOCK_WAIT):
            trust = load_trust(places, store)
            due = trust.notice_due(waiting)
            trust.save()
    except OSError:
        return False
    return due
