"""Search on demand: everything that might matter, marked with what it is, for a person or for Claude to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import Deadline, now_iso
from .healing import heal_now, make_anew
from .index.file import has_fts5, open_index
from .index.place import index_path
from .index.trouble import INDEX_FAULTS, is_locked
from .ranking import analyse, rank

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from .ranking import Hit

__all__ = ["Found", "search"]

_SECONDS = 10.0


class Found(NamedTuple):
    """What a search found, best first, and which path answered: fts5 or keyword."""

    hits: list[Hit]
    answered_by: str


def search(places: Places, settings: Settings, query: str, limit: int) -> Found:
    """The best memories of all scopes, also those that wait for the user's word or have expired.

    The index is brought up to date first, and made anew when it turns out to be damaged.
    Raises IndexError_ or SqliteError when it can neither be asked nor made, OSError for the disk.
    """
    heal_now(places, settings)
    try:
        return _asked(places, query, limit)
    except INDEX_FAULTS as error:
        if is_locked(error):
            raise
    make_anew(places, settings)
    return _asked(places, query, limit)


def _asked(places: Places, query: str, limit: int) -> Found:
    connection = open_index(index_path(places), timeout=1.0)
    try:
        hits = rank(connection, analyse(query), limit, False, now_iso(), Deadline(_SECONDS))
        return Found(hits, "fts5" if has_fts5(connection) else "keyword")
    finally:
        connection.close()
