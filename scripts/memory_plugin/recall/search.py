"""Search on demand: everything that might matter, marked with what it is, for a person or for Claude to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import Deadline, now_iso
from ..kernel.files import in_words
from ..kernel.sqlite import SqliteError
from ..memories.native import native_folders, notes
from ..memories.survey import survey
from .documents import memory_document, note_document
from .healing import heal_now, is_alive, make_anew
from .index import write
from .index.file import IndexError_, create_index_in_memory, open_index, transaction
from .index.place import index_path
from .index.trouble import INDEX_FAULTS, is_locked
from .ranking import analyse, rank, way_to_candidates

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..kernel.sqlite import Connection
    from .ranking import Hit

__all__ = ["Found", "search"]

_SECONDS = 10.0


class Found(NamedTuple):
    """What a search found, best first; which path answered: fts5 or keyword; and what kept the index from answering, mostly empty."""

    hits: list[Hit]
    answered_by: str
    trouble: str


def search(places: Places, settings: Settings, query: str, limit: int) -> Found:
    """The best memories of all scopes, also those that wait for the user's word or have expired.

    The index is brought up to date first, and made anew when it turns out to be damaged; where that cannot be, every file is read.
    Raises IndexError_ where there is no SQLite, RuntimeError without a state folder.
    """
    try:
        heal_now(places, settings)
        return _from_file(places, settings, query, limit)
    except (IndexError_, SqliteError, OSError) as error:
        found = _asked(_index_of_everything(places, settings), settings, query, limit)
        return found._replace(trouble=in_words(error))


def _index_of_everything(places: Places, settings: Settings) -> Connection:
    """An index made for one question and kept nowhere."""
    connection = create_index_in_memory()
    items = survey(places, settings.text("trust.pulls") == "accept").items
    documents = [memory_document(item.stored, item.trust) for item in items if is_alive(item.stored)]
    if settings.flag("native.enabled"):
        documents += [note_document(note) for folder in native_folders(places) for note in notes(folder)]
    with transaction(connection):
        write.put(connection, documents)
    return connection


def _from_file(places: Places, settings: Settings, query: str, limit: int) -> Found:
    try:
        return _asked(open_index(index_path(places), timeout=1.0), settings, query, limit)
    except INDEX_FAULTS as error:
        if is_locked(error):
            raise
    make_anew(places, settings)
    return _asked(open_index(index_path(places), timeout=1.0), settings, query, limit)


def _asked(connection: Connection, settings: Settings, query: str, limit: int) -> Found:
    try:
        way = way_to_candidates(connection, settings.text("retrieval.match_strategy"))
        hits = rank(connection, analyse(query), limit, False, now_iso(), Deadline(_SECONDS), way)
        return Found(hits, way, "")
    finally:
        connection.close()
