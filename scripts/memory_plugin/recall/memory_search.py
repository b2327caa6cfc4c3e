"""Search on demand, for a person or Claude: return every memory that might matter, with its state.

Also find the memories nearest to a text that is about to be saved, to detect duplicates.
"""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from ..kernel.context import Deadline, now_iso
from ..kernel.files import error_text
from ..kernel.paths import Paths
from ..kernel.settings import Settings
from ..kernel.sqlite import Connection
from ..memories.nearby import native_folders, notes
from ..memories.survey import survey
from .documents import memory_document, note_document
from .in_force import apply_supersession, superseded_documents
from .index_documents import put
from .index_file import INDEX_ERRORS, IndexUnavailable, index_path, open_index, transaction
from .index_refresh import refresh_index
from .index_tables import create_index_in_memory
from .model import load_model
from .query import analyze
from .ranking import Hit, candidate_backend, rank

_SECONDS = 10.0
_MAX_TEXT = 2000  # characters
_OTHERS = "SELECT key FROM documents WHERE scope != 'native' AND status = 'active' ORDER BY rowid LIMIT ?"


_UNREADABLE = "SELECT path, inject FROM documents WHERE status = 'unreadable' ORDER BY path"


class SearchResult(NamedTuple):
    """The hits of a search, best first, the candidate backend that found them (fts5 or keyword), and the problem with the index, if any.

    `superseded` maps the key of each superseded hit to the key of the memory that replaces it, or to its name if it does not exist.
    """

    hits: list[Hit]
    answered_by: str
    problem: str
    superseded: dict[str, str]


class Neighbors(NamedTuple):
    """For each text the keys of the nearest memories, best first; the keys of some others; the stop words of that index by language."""

    keys: list[list[str]]
    others: list[str]
    stopwords: dict[str, frozenset[str]]


def search(paths: Paths, settings: Settings, query: str, limit: int) -> SearchResult:
    """Return the best memories of all scopes, including pending, expired and superseded ones.

    The index is brought up to date first; if it cannot be used, all files are read.
    Raises IndexUnavailable if Python has no SQLite, and RuntimeError without a state folder.
    """
    try:
        refresh_index(paths, settings, rounds=1)
        return _ask(open_index(index_path(paths), timeout=1.0), settings, query, limit)
    except (*INDEX_ERRORS, OSError) as error:
        result = _ask(_temporary_index(paths, settings), settings, query, limit)
        return result._replace(problem=error_text(error))


def unreadable_files(paths: Paths) -> list[tuple[str, str]]:
    """Return path and reason of the files in the stores that hold no memory, as far as the index knows."""
    try:
        with closing(open_index(index_path(paths), timeout=1.0)) as connection:
            return connection.execute(_UNREADABLE).fetchall()
    except (*INDEX_ERRORS, RuntimeError):
        return []


def neighbors(
    paths: Paths, settings: Settings, texts: list[str], limit: int, others_limit: int = 0
) -> Neighbors | None:
    """Return the `limit` nearest memories of each text, and `others_limit` any others, from the index as it is.

    After ten seconds the remaining texts get none. Returns None if no index answers: a missing duplicate check must not make a save fail.
    """
    try:
        connection = open_index(index_path(paths), timeout=1.0)
    except (IndexUnavailable, RuntimeError):
        return None
    deadline = Deadline(_SECONDS)
    keys: list[list[str]] = []
    others: list[str] = []
    try:
        others = [key for (key,) in connection.execute(_OTHERS, (others_limit,))]
        stopwords = load_model(connection).stopwords
        backend = candidate_backend(connection, settings.text("retrieval.match_strategy"))
        for text in texts:
            hits = _ranked(connection, text[:_MAX_TEXT], limit, deadline, backend)
            keys.append([hit.key for hit in hits])
    except TimeoutError:
        keys += [[] for _ in texts[len(keys) :]]
    except INDEX_ERRORS:
        return None
    finally:
        connection.close()
    return Neighbors(keys, others, stopwords)


def _ranked(connection: Connection, text: str, limit: int, deadline: Deadline, backend: str) -> list[Hit]:
    """Return the nearest memories, injectable or not."""
    query, now = analyze(text), now_iso()
    return rank(
        connection, query, limit, only_injectable=False, expires_after=now, deadline=deadline, backend=backend
    )


def _temporary_index(paths: Paths, settings: Settings) -> Connection:
    """Return an in-memory index of all files, for one query."""
    connection = create_index_in_memory()
    items = survey(paths, settings.texts("trust.accept_from")).items
    documents = [memory_document(item.stored, item.trust) for item in items]
    if settings.flag("native.enabled"):
        documents += [note_document(note) for folder in native_folders(paths) for note in notes(folder)]
    with transaction(connection):
        put(connection, documents)
        apply_supersession(connection)
    return connection


def _ask(connection: Connection, settings: Settings, query: str, limit: int) -> SearchResult:
    try:
        backend = candidate_backend(connection, settings.text("retrieval.match_strategy"))
        hits = _ranked(connection, query, limit, Deadline(_SECONDS), backend)
        return SearchResult(hits, backend, "", superseded_documents(connection, [hit.key for hit in hits]))
    finally:
        connection.close()
