"""The memories nearest to a text that is about to be, or was just, stored: candidates for "is this there already?"."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import Deadline, now_iso
from .index.file import IndexError_, open_index
from .index.place import index_path
from .index.trouble import INDEX_FAULTS
from .model import load_model
from .ranking import analyse, rank, way_to_candidates

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings

__all__ = ["Neighbors", "neighbors"]

_SECONDS = 10.0
_MAX_TEXT = 2000


class Neighbors(NamedTuple):
    """For each text the keys of the nearest memories, best first, and the stop words by language of the index that gave them."""

    keys: list[list[str]]
    stop: dict[str, frozenset[str]]


def neighbors(places: Places, settings: Settings, texts: list[str], limit: int) -> Neighbors | None:
    """Return the `limit` nearest memories of each text, out of the index as it is.

    Texts that are left after ten seconds get none. None when there is no index that answers: a warning is not worth a failed save.
    """
    try:
        connection = open_index(index_path(places), timeout=1.0)
    except (IndexError_, RuntimeError):
        return None
    deadline = Deadline(_SECONDS)
    found: list[list[str]] = []
    try:
        stop = load_model(connection).stopwords
        way = way_to_candidates(connection, settings.text("retrieval.match_strategy"))
        for text in texts:
            query = analyse(text[:_MAX_TEXT])
            found.append([hit.key for hit in rank(connection, query, limit, False, now_iso(), deadline, way)])
    except TimeoutError:
        found += [[] for _ in texts[len(found) :]]
    except INDEX_FAULTS:
        return None
    finally:
        connection.close()
    return Neighbors(found, stop)
