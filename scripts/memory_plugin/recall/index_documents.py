"""Read, add and remove documents in the index, and keep its counts consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.fastjson import dumps, loads
from .documents import FIELDS, Document, Terms, document_terms
from .index_file import POSTINGS, STRONG_MARK, has_fts5
from .ranking import load_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..kernel.sqlite import Connection

__all__ = [
    "IndexedFile",
    "all_documents",
    "count_documents",
    "drop",
    "file_stamps",
    "files_by_trust",
    "files_of_texts",
    "find_document",
    "forget_stamps",
    "inherited_phrases",
    "links",
    "notes_by_file",
    "put",
    "scrub",
    "set_flags",
    "set_superseded",
    "superseded_documents",
    "total_documents",
]

_COLUMNS = (
    "key", "scope", "id", "category", "title", "tags", "files", "asked_as", "path", "stamp", "digest", "injectable", "trust", "expires_at",
    "updated_at", "inject", "full_digest", "text_digest", "rule",
)  # fmt: skip
_LISTS = ("tags", "files", "asked_as")
_SELECT = "SELECT %s FROM documents " % ", ".join(_COLUMNS)
_INSERT = "INSERT INTO documents (%s) VALUES (%s)" % (", ".join(_COLUMNS), ", ".join("?" * len(_COLUMNS)))


class IndexedFile(NamedTuple):
    """The key of a file's memory, and the stamp and the digest that the file had when it was indexed; the stamp is empty if forgotten."""

    key: str
    stamp: str
    digest: str


def file_stamps(connection: Connection, scope: str) -> dict[str, IndexedFile]:
    """Return source file -> its state in the index, for every document of a scope."""
    rows = connection.execute("SELECT path, key, stamp, digest FROM documents WHERE scope = ?", (scope,))
    return {path: IndexedFile(key, stamp, digest) for path, key, stamp, digest in rows}


def files_by_trust(connection: Connection, trust: str, limit: int) -> list[str]:
    """Return the source files of at most `limit` documents with this trust."""
    rows = connection.execute("SELECT path FROM documents WHERE trust = ? LIMIT ?", (trust, limit))
    return [path for (path,) in rows]


def files_of_texts(connection: Connection, digests: Iterable[str]) -> set[str]:
    """Return the source files of the documents whose `full_digest` or `text_digest` is one of these."""
    files: set[str] = set()
    for digest in digests:
        rows = connection.execute(
            "SELECT path FROM documents WHERE full_digest = ? OR text_digest = ?", (digest, digest)
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


def count_documents(connection: Connection, scope: str = "") -> int:
    """Return the number of documents of a scope, or of all scopes."""
    query = "SELECT count(*) FROM documents WHERE ? IN ('', scope)"
    count: int = connection.execute(query, (scope,)).fetchone()[0]
    return count


def all_documents(connection: Connection, scope: str = "") -> Iterator[Document]:
    """Yield the documents of a scope, or of all scopes, by key; their bodies are empty."""
    for row in connection.execute(_SELECT + "WHERE ? IN ('', scope) ORDER BY key", (scope,)):
        yield _document(row)


def find_document(connection: Connection, key: str) -> Document | None:
    """Return the document with a key, its body empty; None if there is none."""
    row = connection.execute(_SELECT + "WHERE key = ?", (key,)).fetchone()
    return None if row is None else _document(row)


def _document(row: tuple[object, ...]) -> Document:
    values = dict(zip(_COLUMNS, row))
    lists = {name: _texts(values.pop(name)) for name in _LISTS}
    injectable = bool(values.pop("injectable"))
    texts = {name: str(value) for name, value in values.items()}
    return Document(**texts, **lists, body="", injectable=injectable)  # type: ignore[arg-type]


def _texts(value: object) -> list[str]:
    items = loads(str(value))
    return [str(item) for item in items] if isinstance(items, list) else []


def superseded_documents(connection: Connection) -> dict[str, str]:
    """Return the key of every superseded document -> the key of the memory that replaces it, or its name."""
    return dict(connection.execute("SELECT key, by FROM superseded").fetchall())


def inherited_phrases(connection: Connection) -> dict[str, list[str]]:
    """Return key -> the phrases of older memories that were indexed with a document."""
    return {
        key: _texts(asked_as) for key, asked_as in connection.execute("SELECT key, asked_as FROM inherited")
    }


def links(connection: Connection) -> list[tuple[str, str, list[str]]]:
    """Return key, `superseded_by` and `supersedes` of every document that names others."""
    rows = connection.execute("SELECT key, superseded_by, supersedes FROM links")
    return [(key, by, _texts(names)) for key, by, names in rows]


class _Counts:
    """The changes to the vocabulary and the totals, collected during one call and written once."""

    def __init__(self) -> None:
        self.terms: dict[str, list[int]] = {}
        self.totals: dict[bool, list[int]] = {True: [0] * 6, False: [0] * 6}

    def add(self, terms: Terms, injectable: bool, sign: int) -> None:
        """Add (`sign` 1) or subtract (-1) a document."""
        first = (
            0 if injectable else 2
        )  # columns: strong, weak, and both for documents that are not injectable
        for term in terms.strong():
            self.terms.setdefault(term, [0, 0, 0, 0])[first] += sign
        for term in terms.weak():
            self.terms.setdefault(term, [0, 0, 0, 0])[first + 1] += sign
        totals = self.totals[injectable]
        totals[0] += sign
        for field, length in enumerate(terms.lengths()):
            totals[field + 1] += sign * length

    def write(self, connection: Connection) -> None:
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


def put(connection: Connection, documents: Iterable[Document]) -> None:
    """Add documents, replacing those with the same keys, inside the caller's transaction."""
    stopwords = load_model(connection).stopwords
    memo: dict[str, str] = {}
    counts = _Counts()
    fts5 = has_fts5(connection)
    for document in documents:
        _remove(connection, document.key, counts, fts5)
        terms = document_terms(document, stopwords, memo)
        rowid: int = connection.execute(_INSERT, _row(document)).lastrowid  # type: ignore[assignment]
        connection.execute(
            "INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?)", (rowid, document.expires_at, *terms.fields)
        )
        _index(connection, rowid, terms, document.injectable, counts, fts5)
        _link(connection, document)
    counts.write(connection)


def _link(connection: Connection, document: Document) -> None:
    """Save which memories a document names as superseded or superseding, and the phrases that it inherits."""
    if document.superseded_by or document.supersedes:
        names = dumps([_clean(name) for name in document.supersedes])
        connection.execute(
            "INSERT INTO links VALUES (?, ?, ?)",
            (_clean(document.key), _clean(document.superseded_by), names),
        )
    if document.inherited:
        phrases = dumps([_clean(phrase) for phrase in document.inherited])
        connection.execute("INSERT INTO inherited VALUES (?, ?)", (_clean(document.key), phrases))


def drop(connection: Connection, keys: Iterable[str]) -> None:
    """Remove the documents with these keys inside the caller's transaction; unknown keys are ignored."""
    counts = _Counts()
    fts5 = has_fts5(connection)
    for key in keys:
        _remove(connection, key, counts, fts5)
    counts.write(connection)


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
    if was_injectable != injectable:
        counts = _Counts()
        fts5 = has_fts5(connection)
        terms = _terms(connection, rowid)
        _unindex(connection, rowid, terms, was_injectable, counts, fts5)
        _index(connection, rowid, terms, injectable, counts, fts5)
        counts.write(connection)


def forget_stamps(connection: Connection, keys: Iterable[str]) -> None:
    """Clear the stamps of these documents, so that a later refresh reads their files, inside the caller's transaction."""
    connection.executemany("UPDATE documents SET stamp = '' WHERE key = ?", ((key,) for key in keys))


def set_superseded(connection: Connection, superseded: dict[str, str]) -> None:
    """Replace the list of superseded documents: key -> key of the successor."""
    connection.execute("DELETE FROM superseded")
    connection.executemany(
        "INSERT INTO superseded VALUES (?, ?)",
        ((_clean(key), _clean(by)) for key, by in superseded.items()),
    )


def scrub(connection: Connection) -> None:
    """Erase the text of removed documents from the file; SQLite and FTS5 keep it until its space is reused.

    This rewrites the file, so it must run outside any transaction.
    """
    connection.execute(
        "DELETE FROM vocabulary WHERE strong + weak + held_strong + held_weak = 0 AND share = 0"
    )
    if has_fts5(connection):
        for table in POSTINGS.values():
            connection.execute("INSERT INTO %s (%s) VALUES ('optimize')" % (table, table))
    connection.execute("VACUUM")


def _row(document: Document) -> tuple[object, ...]:
    return tuple(_column(name, getattr(document, name)) for name in _COLUMNS)


def _column(name: str, value: Any) -> object:  # noqa: ANN401  (a text, a list of texts, or `injectable`)
    if name in _LISTS:
        return dumps([_clean(item) for item in value])
    return int(value) if name == "injectable" else _clean(value)


def _clean(text: str) -> str:
    """Replace lone surrogates, which SQLite refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _remove(connection: Connection, key: str, counts: _Counts, fts5: bool) -> None:
    row = connection.execute(
        "SELECT rowid, injectable FROM documents WHERE key = ?", (_clean(key),)
    ).fetchone()
    if row is None:
        return
    _unindex(connection, row[0], _terms(connection, row[0]), bool(row[1]), counts, fts5)
    connection.execute("DELETE FROM vectors WHERE rowid = ?", (row[0],))
    connection.execute("DELETE FROM documents WHERE rowid = ?", (row[0],))
    for table in ("links", "inherited"):
        connection.execute("DELETE FROM %s WHERE key = ?" % table, (_clean(key),))


def _terms(connection: Connection, rowid: int) -> Terms:
    return Terms(
        connection.execute(
            "SELECT title, tags, body, files, asked_as FROM vectors WHERE rowid = ?", (rowid,)
        ).fetchone()
    )


def _index(
    connection: Connection, rowid: int, terms: Terms, injectable: bool, counts: _Counts, fts5: bool
) -> None:
    counts.add(terms, injectable, 1)
    if fts5:
        connection.execute(
            "INSERT INTO %s (rowid, terms) VALUES (?, ?)" % POSTINGS[injectable], (rowid, _postings(terms))
        )


def _unindex(
    connection: Connection, rowid: int, terms: Terms, injectable: bool, counts: _Counts, fts5: bool
) -> None:
    counts.add(terms, injectable, -1)
    if fts5:  # a contentless FTS5 table deletes the terms that it is given
        table = POSTINGS[injectable]
        connection.execute(
            "INSERT INTO %s (%s, rowid, terms) VALUES ('delete', ?, ?)" % (table, table),
            (rowid, _postings(terms)),
        )


def _postings(terms: Terms) -> str:
    return " ".join([term + STRONG_MARK for term in sorted(terms.strong())] + sorted(terms.weak()))
