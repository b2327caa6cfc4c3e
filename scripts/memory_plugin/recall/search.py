"""Search on demand: everything that might matter, marked with what it is, for a person or for Claude to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import Deadline, now_iso
from .index.file import has_fts5, open_index
from .lookup import index_path
from .ranking import analyse, rank

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from .ranking import Hit

__all__ = ["Found", "search"]

_SECONDS = 10.0


class Found(NamedTuple):
    """What a search found, best first, and which path answered: fts5 or keyword."""

    hits: list[Hit]
    answered_by: str


def search(places: Places, query: str, limit: int) -> Found:
    """The best memories of all scopes, also those that wait for the user's word or have expired.

    Raises IndexError_ when there is no index to ask; `healing.heal_now` makes one.
    """
    connection = open_index(index_path(places), timeout=1.0)
    try:
        hits = rank(connection, analyse(query), limit, False, now_iso(), Deadline(_SECONDS))
        return Found(hits, "fts5" if has_fts5(connection) else "keyword")
    finally:
        connection.close()
