"""Changes of the index: documents put in, taken out, or given other flags, with all counts kept right."""

from __future__ import annotations

from ...kernel.fastjson import dumps
from ..model import load_model
from .file import POSTINGS, has_fts5
from .terms import FIELDS, STRONG_MARK, Terms, document_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...kernel.sqlite import Connection
    from .document import Document

_COLUMNS = (
    "key", "scope", "id", "category", "title", "tags", "files", "asked_as", "path", "stamp", "digest", "injectable", "trust", "expires_at",
    "updated_at", "inject",
)  # fmt: skip
_INSERT = "INSERT INTO documents (%s) VALUES (%s)" % (", ".join(_COLUMNS), ", ".join("?" * len(_COLUMNS)))


class _Counts:
    """The changes of the vocabulary and of the totals that one call gathers and writes once."""

    def __init__(self) -> None:
        self.terms: dict[str, list[int]] = {}
        self.totals: dict[bool, list[int]] = {True: [0] * 6, False: [0] * 6}

    def add(self, terms: Terms, injectable: bool, sign: int) -> None:
        at = 0 if injectable else 2
        for offset, found in enumerate((terms.strong(), terms.weak())):
            for term in found:
                self.terms.setdefault(term, [0, 0, 0, 0])[at + offset] += sign
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
    """Put documents in, each instead of the one with the same key, inside the caller's transaction."""
    stop = load_model(connection).stopwords
    memo: dict[str, str] = {}
    counts = _Counts()
    fts5 = has_fts5(connection)
    for document in documents:
        _take_out(connection, document.key, counts, fts5)
        terms = document_terms(document, stop, memo)
        rowid: int = connection.execute(_INSERT, _row(document)).lastrowid  # type: ignore[assignment]
        connection.execute(
            "INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?)", (rowid, document.expires_at, *terms.fields)
        )
        _index(connection, rowid, terms, document.injectable, counts, fts5)
        _link(connection, document)
    counts.write(connection)


def _link(connection: Connection, document: Document) -> None:
    """Keep what a document says of others, and what it inherits."""
    if document.superseded_by or document.supersedes:
        named = dumps([_clean(name) for name in document.supersedes])
        connection.execute(
            "INSERT INTO links VALUES (?, ?, ?)",
            (_clean(document.key), _clean(document.superseded_by), named),
        )
    if document.inherited:
        phrases = dumps([_clean(phrase) for phrase in document.inherited])
        connection.execute("INSERT INTO inherited VALUES (?, ?)", (_clean(document.key), phrases))


def drop(connection: Connection, keys: Iterable[str]) -> None:
    """Take the documents with these keys out, inside the caller's transaction; unknown keys are passed over."""
    counts = _Counts()
    fts5 = has_fts5(connection)
    for key in keys:
        _take_out(connection, key, counts, fts5)
    counts.write(connection)


def set_flags(
    connection: Connection, key: str, injectable: bool, trust: str, stamp: str | None = None
) -> None:
    """Give a document other trust, and another stamp unless None, without analysing it again; an unknown key is passed over."""
    row = connection.execute("SELECT rowid, injectable FROM documents WHERE key = ?", (key,)).fetchone()
    if row is None:
        return
    rowid, was = row[0], bool(row[1])
    connection.execute(
        "UPDATE documents SET injectable = ?, trust = ?, stamp = coalesce(?, stamp) WHERE rowid = ?",
        (int(injectable), trust, stamp, rowid),
    )
    if was != injectable:
        counts = _Counts()
        fts5 = has_fts5(connection)
        terms = _terms(connection, rowid)
        _unindex(connection, rowid, terms, was, counts, fts5)
        _index(connection, rowid, terms, injectable, counts, fts5)
        counts.write(connection)


def forget_stamps(connection: Connection, keys: Iterable[str]) -> None:
    """Make the files of these documents look changed, so that a later refresh reads them, inside the caller's transaction."""
    connection.executemany("UPDATE documents SET stamp = '' WHERE key = ?", ((key,) for key in keys))


def set_superseded(connection: Connection, superseded: dict[str, str]) -> None:
    """Keep which documents are superseded, and by which key, instead of what was kept before."""
    connection.execute("DELETE FROM superseded")
    connection.executemany(
        "INSERT INTO superseded VALUES (?, ?)",
        ((_clean(key), _clean(by)) for key, by in superseded.items()),
    )


def scrub(connection: Connection) -> None:
    """Leave no word of what was taken out in the file: SQLite and FTS5 keep deleted text until its place is used again.

    Rewrites the whole file, outside any transaction.
    """
    connection.execute(
        "DELETE FROM vocabulary WHERE strong + weak + held_strong + held_weak = 0 AND share = 0"
    )
    if has_fts5(connection):
        for table in POSTINGS.values():
            connection.execute("INSERT INTO %s (%s) VALUES ('optimize')" % (table, table))
    connection.execute("VACUUM")


def _row(document: Document) -> tuple[object, ...]:
    lists = {
        name: dumps([_clean(item) for item in getattr(document, name)])
        for name in ("tags", "files", "asked_as")
    }
    return tuple(
        lists[name]
        if name in lists
        else int(document.injectable)
        if name == "injectable"
        else _clean(getattr(document, name))
        for name in _COLUMNS
    )


def _clean(text: str) -> str:
    """The text without lone surrogates, which SQLite refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _take_out(connection: Connection, key: str, counts: _Counts, fts5: bool) -> None:
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
    if fts5:  # a contentless FTS5 table must be told what it has to forget
        table = POSTINGS[injectable]
        connection.execute(
            "INSERT INTO %s (%s, rowid, terms) VALUES ('delete', ?, ?)" % (table, table),
            (rowid, _postings(terms)),
        )


def _postings(terms: Terms) -> str:
    return " ".join([term + STRONG_MARK for term in sorted(terms.strong())] + sorted(terms.weak()))
