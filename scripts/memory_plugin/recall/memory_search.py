"""What commands ask the index: which memories there are, which might matter for a search, and which are nearest to a new text.

A refresh brings the index up to date first. Without an index that can be used, the files are read.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any, NamedTuple

from ..kernel.context import Deadline, now_iso
from ..kernel.files import error_text
from ..kernel.paths import Paths
from ..kernel.settings import Settings
from ..kernel.sqlite import Connection
from ..memories.hygiene import Shown
from ..memories.memory_files import FileProblem, Store, StoredMemory, skipped_entries, stores, why_not_read
from ..memories.nearby import note_folders, notes
from ..memories.record import Memory
from ..memories.relations import name_for
from ..memories.survey import Item, Survey, judged_item, survey
from ..memories.trust import Trust
from .documents import UNREADABLE, memory_document, note_document
from .index_documents import apply_supersession, put, superseded_documents, texts
from .index_file import INDEX_ERRORS, index_path, open_index, transaction
from .index_refresh import create_index_in_memory, refresh_index
from .query import Corpus, analyze, load_model
from .ranking import Hit, Hits, candidate_backend, rank

_SECONDS = 10.0
_WAIT = 0.5  # seconds for another process that refreshes the index
_QUERY = """SELECT d.key, d.id, d.title, d.tags, d.files, d.status, d.created_at, d.updated_at, d.expires_at, d.path, d.stamp,
    d.digest, d.trust, CASE d.status WHEN 'unreadable' THEN d.inject ELSE '' END, d.superseded_by,
    d.supersedes, coalesce(s.by, ''), d.new_phrases
    FROM documents d LEFT JOIN superseded s USING (key) WHERE d.scope = ? ORDER BY d.path"""
_MAX_TEXT = 2000  # characters


class SearchResult(NamedTuple):
    """The hits of a search, best first, the candidate backend that found them (fts5 or keyword), and the problem with the index, if any.

    `superseded` maps the key of each superseded hit to the key of the memory that replaces it, or to its name if it does not exist.
    """

    hits: Hits
    answered_by: str
    problem: str
    superseded: dict[str, str]


class Neighbors(NamedTuple):
    """For each text the keys of the nearest memories, best first; the stop words of that index by language."""

    keys: list[list[str]]
    stopwords: dict[str, frozenset[str]]


def search(paths: Paths, settings: Settings, query: str, limit: int) -> SearchResult:
    """Return the best memories of all scopes, including pending, expired and superseded ones.

    The index is brought up to date first; if it cannot be used, all files are read.
    Raises IndexUnavailable if Python has no SQLite, TimeoutError after ten seconds, and RuntimeError without a state folder.
    """
    try:
        refresh_index(paths, settings, rounds=1)
        return _ask(open_index(index_path(paths), timeout=1.0), settings, query, limit)
    except TimeoutError:  # an OSError, but of the query: over all files it would take longer still
        raise
    except (*INDEX_ERRORS, OSError) as error:
        result = _ask(_temporary_index(paths, settings), settings, query, limit)
        return result._replace(problem=error_text(error))


def hit_record(hit: Hit, result: SearchResult) -> dict[str, object]:
    """Return a hit as JSON data."""
    return {
        "id": hit.id,
        "title": hit.title,
        "score": round(hit.score, 4),
        "confidence": round(hit.confidence, 4),
        "category": hit.category.lower(),
        "path": hit.path,
        "trust": hit.trust,
        "scope": hit.scope,
        "tags": hit.tags,
        "expired": bool(hit.expires_at and hit.expires_at <= now_iso()),
        "superseded_by": name_for(result.superseded.get(hit.key, ""), hit.key),
        "text": hit.injection_text,
    }


def neighbors(paths: Paths, settings: Settings, texts: list[str], limit: int) -> Neighbors | None:
    """Return the `limit` nearest memories of each text, from the index as it is.

    After ten seconds the remaining texts get none. Returns None if no index answers: a missing duplicate check must not make a save fail.
    """
    deadline = Deadline(_SECONDS)
    keys: list[list[str]] = [[] for _ in texts]
    try:
        with closing(open_index(index_path(paths), timeout=1.0)) as connection:
            stopwords = load_model(connection).stopwords
            backend = candidate_backend(connection, settings.text("retrieval.match_strategy"))
            with suppress(TimeoutError):
                for found, text in zip(keys, texts):
                    hits = _ranked(connection, text[:_MAX_TEXT], limit, deadline, backend)
                    found += [hit.key for hit in hits]
    except (*INDEX_ERRORS, RuntimeError):
        return None
    return Neighbors(keys, stopwords)


def _ranked(connection: Connection, text: str, limit: int, deadline: Deadline, backend: str) -> Hits:
    """Return the nearest memories, injectable or not."""
    return rank(Corpus(connection, only_injectable=False), analyze(text), limit, deadline, backend)


def _temporary_index(paths: Paths, settings: Settings) -> Connection:
    """Return an in-memory index of all files, for one query."""
    connection = create_index_in_memory()
    items = survey(paths, settings.texts("trust.accept_from")).items
    documents = [memory_document(item.stored, item.trust) for item in items]
    documents += [note_document(note) for folder in note_folders(paths, settings) for note in notes(folder)]
    with transaction(connection):
        put(connection, documents)
        apply_supersession(connection)
    return connection


def _ask(connection: Connection, settings: Settings, query: str, limit: int) -> SearchResult:
    with closing(connection):
        backend = candidate_backend(connection, settings.text("retrieval.match_strategy"))
        hits = _ranked(connection, query, limit, Deadline(_SECONDS), backend)
        return SearchResult(hits, backend, "", superseded_documents(connection, [hit.key for hit in hits]))


def overview(paths: Paths, settings: Settings, *, is_current: bool = False) -> Survey:
    """Return what `survey` returns, with titles as they are shown and without texts: `read_item` reads the file of a memory.

    `is_current` skips the refresh. If the index cannot be used or more files are due than one round reads, all files are read instead.
    Raises TrustUnreadable.
    """
    accept_from = settings.texts("trust.accept_from")
    try:
        if not is_current:
            report = refresh_index(paths, settings, 1, wait=_WAIT)
            if report.remaining or report.problem:
                return survey(paths, accept_from)
        connection = open_index(index_path(paths), timeout=_WAIT)
    except (*INDEX_ERRORS, OSError, RuntimeError):
        return survey(paths, accept_from)
    result = Survey([], [], [])
    trust = Trust(paths, accept_from)
    with closing(connection):
        for store in stores(paths):
            _add_store(connection, store, trust, result)
    return result


def _add_store(connection: Connection, store: Store, trust: Trust, result: Survey) -> None:
    """Add the memories and problems of one store."""
    reason = why_not_read(store)
    if reason:
        result.left_alone.append(reason)
    for row in connection.execute(_QUERY, (store.scope,)):
        if row[5] == UNREADABLE:
            result.problems.append(FileProblem(row[9], row[13]))
        else:
            result.items.append(_item(row, store, trust))
    result.problems.extend(skipped_entries(store))


def _item(row: tuple[Any, ...], store: Store, trust: Trust) -> Item:
    key, identity, title, tags, files, status, created, updated, expires = row[:9]
    path, stamp, digest, state, _, by, supersedes, superseded, new_phrases = row[9:]
    category = key.partition(":")[2].partition("/")[0]
    memory = Memory(
        identity, category, Shown(title), _shown(tags), _shown(files), (), status, created, updated, expires, by, _shown(supersedes), None,
        {},
    )  # fmt: skip
    stored = StoredMemory(memory, store, path, stamp, digest)
    item = judged_item(stored, state, trust, has_new_phrases=bool(new_phrases))
    return item._replace(superseded_by=superseded)


def _shown(items: str) -> tuple[str, ...]:
    return () if items == "[]" else tuple(map(Shown, texts(items)))
