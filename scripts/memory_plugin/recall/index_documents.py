"""Read, add and remove documents in the index, and keep its counts consistent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..kernel.fastjson import dumps, loads
from ..kernel.sqlite import Connection
from ..memories.record import ACTIVE
from ..memories.relations import named_keys, plain_title
from .documents import FIELDS, Document, Terms, document_terms, named_rows, phrases_field
from .index_file import (
    CHANGED,
    NAMED_FILES,
    POSTINGS,
    PROJECT_ROOT,
    STRONG_MARK,
    IndexUnavailable,
    has_fts5,
    joined,
    meta_get,
    meta_set,
    value_of,
)
from .query import load_model

_COLUMNS = tuple(name for name in Document._fields if name != "body")
_LISTS = ("tags", "files", "asked_as", "supersedes")
_SELECT = "SELECT %s FROM documents " % ", ".join(_COLUMNS)
_INSERT = "INSERT INTO documents (%s, plain_title) VALUES (%s, ?)" % (
    ", ".join(_COLUMNS),
    ", ".join("?" * len(_COLUMNS)),
)


class IndexedFile(NamedTuple):
    """What the index knows about a file: the key of its row, the mark by which a change shows, the digest of its bytes, and the status."""

    key: str
    mark: str
    digest: str
    status: str


def file_marks(connection: Connection, scope: str, folder: str) -> dict[str, str]:
    """Return path -> mark for the files of a folder, of memories or not; a mark is a stamp, or empty if it was forgotten."""
    rows = connection.execute(
        "SELECT path, stamp FROM documents WHERE scope = ? AND path > ? AND path < ?",
        (scope, storable(folder) + os.sep, storable(folder) + chr(ord(os.sep) + 1)),
    )
    return dict(rows.fetchall())


def files_outside(connection: Connection, scope: str, folder: str) -> list[str]:
    """Return the files of a scope that are not below a folder."""
    rows = connection.execute(
        "SELECT path FROM documents WHERE scope = ? AND path < ? UNION ALL SELECT path FROM documents WHERE scope = ? AND path >= ?",
        (scope, storable(folder) + os.sep, scope, storable(folder) + chr(ord(os.sep) + 1)),
    )
    return [path for (path,) in rows]


def indexed_file(connection: Connection, scope: str, path: str) -> IndexedFile | None:
    """Return what the index knows about a store's file; None if it is unknown."""
    row = connection.execute(
        "SELECT key, stamp, digest, status FROM documents WHERE scope = ? AND path = ?",
        (scope, storable(path)),
    ).fetchone()
    return None if row is None else IndexedFile(*row)


def files_by_trust(connection: Connection, trust: str, limit: int) -> list[str]:
    """Return the source files of at most `limit` documents with this trust."""
    query = "SELECT path FROM documents WHERE trust = ? AND status = 'active' LIMIT ?"
    rows = connection.execute(query, (trust, limit))
    return [path for (path,) in rows]


def files_of_texts(connection: Connection, digests: Iterable[str]) -> set[str]:
    """Return the source files of the documents whose `full_digest`, `text_digest` or `new_phrases` is one of these."""
    files: set[str] = set()
    for digest in digests:
        rows = connection.execute(
            # The last condition lets SQLite use the partial index; without it, each digest reads the whole table.
            "SELECT path FROM documents WHERE full_digest = ? OR text_digest = ? OR (new_phrases = ? AND new_phrases != '')",
            (digest, digest, digest),
        )
        files.update(path for (path,) in rows)
    return files


def notes_by_file(connection: Connection) -> dict[str, tuple[str, list[str]]]:
    """Return source file -> (stamp, keys) for the notes of Claude Code's own memory."""
    notes: dict[str, tuple[str, list[str]]] = {}
    for path, key, stamp in connection.execute(
        "SELECT path, key, stamp FROM documents WHERE scope = 'native' ORDER BY key"
    ):
        notes.setdefault(path, (stamp, []))[1].append(key)
    return notes


def total_documents(connection: Connection) -> int:
    """Return the number of documents from the totals, without counting rows."""
    total: int = connection.execute("SELECT coalesce(sum(documents), 0) FROM totals").fetchone()[0]
    return total


def find_document(connection: Connection, key: str) -> Document | None:
    """Return the active document with a key, its body empty; None if there is none."""
    row = connection.execute(_SELECT + "WHERE key = ? AND status = 'active'", (key,)).fetchone()
    return None if row is None else _document(row)


def _document(row: tuple[Any, ...]) -> Document:
    """Return the document in a row. Raises IndexUnavailable."""
    values = dict(zip(_COLUMNS, row))
    lists = {name: texts(values[name]) for name in _LISTS}
    return Document(
        **{**values, **lists, "injectable": bool(values["injectable"]), "own": bool(values["own"])}
    )


def texts(value: object) -> list[str]:
    """Return the texts of a JSON list of the index. Raises IndexUnavailable."""
    items = value_of(lambda: loads(str(value)), "list")
    return [str(item) for item in items] if isinstance(items, list) else []


class _Changes:
    """The changes of one call: to postings at once, to the vocabulary and the totals collected and written once by `write`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.terms: dict[str, list[int]] = {}
        self.totals: dict[bool, list[int]] = {True: [0] * 6, False: [0] * 6}
        self.touched: set[str] = set()
        self.names_files = False  # whether rows of `paths` changed
        self._fts5 = has_fts5(connection)

    def post(self, rowid: int, terms: Terms, injectable: bool, sign: int) -> None:
        """Add (`sign` 1) or subtract (-1) the terms of a document."""
        first = 0 if injectable else 2  # columns: strong, weak, and both for documents not injectable
        for term in terms.strong():
            self.terms.setdefault(term, [0, 0, 0, 0])[first] += sign
        for term in terms.weak():
            self.terms.setdefault(term, [0, 0, 0, 0])[first + 1] += sign
        totals = self.totals[injectable]
        totals[0] += sign
        for field, length in enumerate(terms.lengths()):
            totals[field + 1] += sign * length
        if self._fts5:  # a contentless FTS5 table deletes the terms that it is given
            table = POSTINGS[injectable]
            columns, values = ("", "") if sign > 0 else (table + ", ", "'delete', ")
            insert = "INSERT INTO %s (%srowid, terms) VALUES (%s?, ?)" % (table, columns, values)
            strong = [term + STRONG_MARK for term in sorted(terms.strong())]
            self.connection.execute(insert, (rowid, " ".join(strong + sorted(terms.weak()))))

    def remove(self, key: str) -> None:
        """Remove the document with a key, if there is one."""
        key, connection = storable(key), self.connection
        self.touched.add(key)
        row = connection.execute(
            "SELECT rowid, injectable, status FROM documents WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return
        connection.execute("DELETE FROM documents WHERE rowid = ?", (row[0],))
        if row[2] != ACTIVE:
            return
        self.post(row[0], _terms(connection, row[0]), bool(row[1]), -1)
        connection.execute("DELETE FROM vectors WHERE rowid = ?", (row[0],))
        # What it named is affected, too, even if the new version no longer names it.
        named = connection.execute("SELECT named FROM named WHERE key = ?", (key,))
        self.touched.update(found for (found,) in named)
        self.unname_files(key)
        for table in ("named", "inherited"):
            connection.execute("DELETE FROM %s WHERE key = ?" % table, (key,))

    def name_files(self, document: Document) -> None:
        """Save the paths that an injectable document names."""
        rows = named_rows(document, meta_get(self.connection, PROJECT_ROOT) or "")
        added = self.connection.executemany(
            "INSERT OR IGNORE INTO paths VALUES (?, ?, ?)", (tuple(map(storable, row)) for row in rows)
        )
        self.names_files |= added.rowcount > 0

    def unname_files(self, key: str) -> None:
        """Delete the paths that a document names."""
        self.names_files |= self.connection.execute("DELETE FROM paths WHERE key = ?", (key,)).rowcount > 0

    def write(self) -> None:
        """Write what was collected."""
        connection = self.connection
        connection.executemany(
            "INSERT INTO vocabulary (term, strong, weak, held_strong, held_weak) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (term) DO UPDATE SET strong = strong + excluded.strong, weak = weak + excluded.weak, "
            "held_strong = held_strong + excluded.held_strong, held_weak = held_weak + excluded.held_weak",
            ((term, *self.terms[term]) for term in sorted(self.terms)),
        )
        for injectable, changes in self.totals.items():
            connection.execute(
                "UPDATE totals SET documents = documents + ?, "
                + ", ".join("%s = %s + ?" % (field, field) for field in FIELDS)
                + " WHERE injectable = ?",
                (*changes, int(injectable)),
            )
        connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((key,) for key in self.touched))
        if self.names_files:
            meta_set(connection, NAMED_FILES, CHANGED)


def put(connection: Connection, documents: Iterable[Document]) -> None:
    """Add documents, replacing those with the same keys, inside the caller's transaction."""
    stopwords = load_model(connection).stopwords
    changes = _Changes(connection)
    for document in documents:
        changes.remove(document.key)
        rowid: int = connection.execute(_INSERT, _row(document)).lastrowid  # type: ignore[assignment]
        if document.status != ACTIVE:
            continue
        terms = document_terms(document, stopwords)
        connection.execute(
            "INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?)", (rowid, document.expires_at, *terms.fields)
        )
        changes.post(rowid, terms, document.injectable, 1)
        _link(connection, document)
        if document.injectable:
            changes.name_files(document)
    changes.write()


def _link(connection: Connection, document: Document) -> None:
    """Save which memories a document may mean as superseded or superseding."""
    key = storable(document.key)
    names = {storable(name) for name in (document.superseded_by, *document.supersedes) if name}
    meant = {found for name in names for found in named_keys(name, key)}
    connection.executemany("INSERT INTO named VALUES (?, ?)", ((found, key) for found in meant))


def drop(connection: Connection, keys: Iterable[str]) -> None:
    """Remove the documents with these keys inside the caller's transaction; unknown keys are ignored."""
    changes = _Changes(connection)
    for key in keys:
        changes.remove(key)
    changes.write()


def set_decision(connection: Connection, key: str, own: bool, new_phrases: str) -> None:
    """Record what the user's decisions say of a document, apart from its trust (`Document.own` and `Document.new_phrases`)."""
    connection.execute(
        "UPDATE documents SET own = ?, new_phrases = ? WHERE key = ?", (int(own), new_phrases, storable(key))
    )


def set_flags(
    connection: Connection, key: str, injectable: bool, trust: str, stamp: str | None = None
) -> None:
    """Change the flags of a document, and its stamp unless None, without analyzing its text again; an unknown key is ignored."""
    row = connection.execute("SELECT rowid, injectable FROM documents WHERE key = ?", (key,)).fetchone()
    if row is None:
        return
    rowid, was_injectable = row[0], bool(row[1])
    connection.execute(
        "UPDATE documents SET injectable = ?, trust = ?, stamp = coalesce(?, stamp) WHERE rowid = ?",
        (int(injectable), trust, stamp, rowid),
    )
    changes = _Changes(connection)
    changes.touched.add(key)
    if was_injectable != injectable:
        terms = _terms(connection, rowid)
        changes.post(rowid, terms, was_injectable, -1)
        changes.post(rowid, terms, injectable, 1)
        document = find_document(connection, key) if injectable else None
        if document:
            changes.name_files(document)
        else:
            changes.unname_files(key)
    changes.write()


def set_inherited(connection: Connection, key: str, phrases: Sequence[str]) -> None:
    """Index the phrases that a document inherits from those that it replaces, after its own, inside the caller's transaction."""
    saved = connection.execute("SELECT asked_as, field FROM inherited WHERE key = ?", (key,)).fetchone()
    before, after = saved or ("[]", ""), dumps([storable(phrase) for phrase in phrases])
    row = connection.execute("SELECT rowid, injectable FROM documents WHERE key = ?", (key,)).fetchone()
    if row is None or before[0] == after:
        return
    old = _terms(connection, row[0])
    *fields, asked_as = old.fields
    field = phrases_field(phrases, load_model(connection).stopwords)
    own = asked_as.removesuffix(before[1]).removesuffix("\n")
    new = Terms((*fields, "\n".join(filter(None, (own, field)))))
    changes = _Changes(connection)
    changes.post(row[0], old, bool(row[1]), -1)
    changes.post(row[0], new, bool(row[1]), 1)
    changes.write()
    connection.execute("UPDATE vectors SET asked_as = ? WHERE rowid = ?", (new.fields[-1], row[0]))
    connection.execute("DELETE FROM inherited WHERE key = ?", (key,))
    if phrases:
        connection.execute("INSERT INTO inherited VALUES (?, ?, ?)", (key, after, field))


def _row(document: Document) -> list[object]:
    row: list[object] = []
    for name in _COLUMNS:
        value = getattr(document, name)
        if name in _LISTS:
            row.append(dumps([storable(item) for item in value]))
        else:
            row.append(int(value) if isinstance(value, bool) else storable(value))
    return [*row, storable(plain_title(document.title))]


def storable(text: str) -> str:
    """Replace lone surrogates, which SQLite refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _terms(connection: Connection, rowid: int) -> Terms:
    row = connection.execute(
        "SELECT title, tags, body, files, asked_as FROM vectors WHERE rowid = ?", (rowid,)
    ).fetchone()
    if row is None:
        raise IndexUnavailable("the index lacks a vector")
    joined(row)
    return Terms(row)
