"""Read, add and remove documents in the index, keep its counts consistent, and update what one memory changes for others.

Only search finds a superseded memory, and the newer ones inherit its `asked_as` phrases. A guard is in force only in a trusted text: that
of the memory, or, while a change to it awaits approval, its last trusted version. Both are updated by each refresh that changes a document.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from ..kernel.context import now_iso
from ..kernel.fastjson import digest, dumps, loads
from ..kernel.paths import Paths
from ..kernel.sqlite import Connection
from ..memories import InvalidMemory
from ..memories.guard_file import saved_rows, write_guard_file, written_out
from ..memories.guarded_commands import guard_words
from ..memories.memory_files import StoredMemory
from ..memories.record import ACTIVE, Memory, categories, parse_memory
from ..memories.relations import Link, named_keys, resolve
from ..memories.trust import TRUSTED, Trust
from . import index_file
from .documents import Document, Terms, document_terms, memory_document, named_rows, phrases_field
from .query import load_model

_COLUMNS = tuple(name for name in Document._fields if name != "body")
# The conditions are those of the partial index of links.
_LINKS = "SELECT key, trust, superseded_by, supersedes, asked_as FROM documents WHERE status = 'active' AND scope != 'native' "
_OF_FILE = "SELECT rowid, key, injectable, status FROM documents WHERE path = ?"
_MAX_BODY = 400  # characters of a memory in the question to the user
_MARKS = ", ".join("?" * len(_COLUMNS))
_INSERT = "INSERT INTO documents (%s) VALUES (%s)" % (", ".join(_COLUMNS), _MARKS)

GuardRow = dict[str, Any]  # a row of the table `guards`, as `write_guard_file` takes it


def stamps(connection: Connection, scope: str) -> dict[str, str]:
    """Return the files of a scope that are indexed -> their stamp, which shows a change; it is empty for a file to be read again."""
    query = "SELECT path, stamp FROM documents WHERE scope = ?"
    return dict(connection.execute(query, (scope,)).fetchall())


def files_by_trust(connection: Connection, trust: str, limit: int) -> list[str]:
    """Return the source files of at most `limit` documents with this trust."""
    query = "SELECT path FROM documents WHERE trust = ? AND status = 'active' LIMIT ?"
    return [path for (path,) in connection.execute(query, (trust, limit))]


def files_of_texts(connection: Connection, digests: Iterable[str]) -> set[str]:
    """Return the source files of the documents whose `full_digest`, `text_digest` or `new_phrases` is one of these."""
    # The last condition lets SQLite use the partial index; without it, each text reads the whole table.
    select = "SELECT path FROM documents WHERE full_digest = ?1 OR text_digest = ?1 OR (new_phrases = ?1 AND new_phrases != '')"
    return {path for text in digests for (path,) in connection.execute(select, (text,))}


def total_documents(connection: Connection) -> int:
    """Return the number of documents from the totals, without counting rows."""
    return int(connection.execute("SELECT coalesce(sum(documents), 0) FROM totals").fetchone()[0])


def links(connection: Connection) -> dict[str, Link]:
    """Return key -> link of the active memories that name others; most name none."""
    rows = connection.execute(_LINKS + "AND (superseded_by != '' OR supersedes != '[]')")
    return {row[0]: _link(row) for row in rows.fetchall()}


def find_link(connection: Connection, key: str) -> Link | None:
    """Return the link of the active memory with a key, whether or not it names others; None if there is none."""
    row = connection.execute(_LINKS + "AND key = ?", (storable(key),)).fetchone()
    return None if row is None else _link(row)


def _link(row: tuple[Any, ...]) -> Link:
    key, trust, superseded_by, supersedes, asked_as = row
    return Link(key, trust == TRUSTED, superseded_by, tuple(texts(supersedes)), tuple(texts(asked_as)))


def texts(value: object) -> list[str]:
    """Return the texts of a JSON list of the index. Raises IndexUnavailable."""
    items = index_file.value_of(lambda: loads(str(value)), "list")
    return [str(item) for item in items] if isinstance(items, list) else []


class _Changes:
    """The changes of one call: to postings at once, to the vocabulary and the totals collected and written once by `write`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.terms: dict[str, list[int]] = {}
        self.totals: dict[bool, list[int]] = {True: [0] * 6, False: [0] * 6}
        self._fts5 = index_file.has_fts5(connection)

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
            table = index_file.POSTINGS[injectable]
            columns, values = ("", "") if sign > 0 else (table + ", ", "'delete', ")
            insert = "INSERT INTO %s (%srowid, terms) VALUES (%s?, ?)" % (table, columns, values)
            strong = [term + index_file.STRONG_MARK for term in sorted(terms.strong())]
            self.connection.execute(insert, (rowid, " ".join(strong + sorted(terms.weak()))))

    def remove(self, path: str) -> int:
        """Remove the documents of a file; return how many of them could be recalled or found."""
        rows = self.connection.execute(_OF_FILE, (storable(path),)).fetchall()
        self.connection.execute("DELETE FROM documents WHERE path = ?", (storable(path),))
        active = [(rowid, key, injectable) for rowid, key, injectable, status in rows if status == ACTIVE]
        for rowid, key, injectable in active:
            self.post(rowid, _terms(self.connection, rowid), bool(injectable), -1)
            self.connection.execute("DELETE FROM vectors WHERE rowid = ?", (rowid,))
            for table in ("paths", "inherited"):
                self.connection.execute("DELETE FROM %s WHERE key = ?" % table, (key,))
        return len(active)

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
                + ", ".join("%s = %s + ?" % (field, field) for field in Terms._fields)
                + " WHERE injectable = ?",
                (*changes, int(injectable)),
            )
        index_file.meta_set(connection, index_file.STALE, "1")


def put(connection: Connection, documents: Iterable[Document]) -> None:
    """Add documents, replacing those of the same files, inside the caller's transaction."""
    stopwords = load_model(connection).stopwords
    root = index_file.meta_get(connection, index_file.PROJECT_ROOT) or ""
    changes = _Changes(connection)
    documents = list(documents)
    for path in {document.path for document in documents}:
        changes.remove(path)
    for document in documents:
        rowid: int = connection.execute(_INSERT, _row(document)).lastrowid  # type: ignore[assignment]
        if document.status != ACTIVE:
            continue
        terms = document_terms(document, stopwords)
        insert = "INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?)"
        connection.execute(insert, (rowid, document.expires_at, *terms))
        changes.post(rowid, terms, document.injectable, 1)
        rows = ((*map(storable, row), int(document.injectable)) for row in named_rows(document, root))
        connection.executemany("INSERT OR IGNORE INTO paths VALUES (?, ?, ?, ?)", rows)
    changes.write()


def drop(connection: Connection, paths: Iterable[str]) -> int:
    """Remove the documents of these files inside the caller's transaction; return how many could be recalled or found."""
    changes = _Changes(connection)
    dropped = sum(map(changes.remove, paths))
    changes.write()
    return dropped


def _repost(connection: Connection, row: int, before: tuple[Terms, bool], after: tuple[Terms, bool]) -> None:
    """Replace the terms of a document, and whether it is injectable, in postings, vocabulary and totals."""
    changes = _Changes(connection)
    changes.post(row, *before, -1)
    changes.post(row, *after, 1)
    changes.write()


def set_injectable(connection: Connection, key: str, *, injectable: bool) -> None:
    """Include a document in recall or exclude it, without analyzing its text again; an unknown key is ignored."""
    select = "SELECT rowid FROM documents WHERE key = ? AND injectable != ?"
    row = connection.execute(select, (storable(key), int(injectable))).fetchone()
    if row is None:
        return
    terms = _terms(connection, row[0])
    _repost(connection, row[0], (terms, not injectable), (terms, injectable))
    connection.execute("UPDATE documents SET injectable = ? WHERE rowid = ?", (int(injectable), row[0]))
    connection.execute("UPDATE paths SET injectable = ? WHERE key = ?", (int(injectable), storable(key)))


def set_inherited(
    connection: Connection, key: str, phrases: Sequence[str], stopwords: dict[str, frozenset[str]]
) -> None:
    """Index the phrases that a document inherits from those that it replaces, after its own, inside the caller's transaction."""
    row = connection.execute("SELECT rowid, injectable FROM documents WHERE key = ?", (key,)).fetchone()
    saved = connection.execute("SELECT field FROM inherited WHERE key = ?", (key,)).fetchone()
    old = _terms(connection, row[0])
    field = phrases_field(phrases, stopwords)
    own = old.asked_as.removesuffix(saved[0] if saved else "").removesuffix("\n")
    new = old._replace(asked_as="\n".join(filter(None, (own, field))))
    _repost(connection, row[0], (old, bool(row[1])), (new, bool(row[1])))
    connection.execute("UPDATE vectors SET asked_as = ? WHERE rowid = ?", (new.asked_as, row[0]))
    connection.execute("DELETE FROM inherited WHERE key = ?", (key,))
    if phrases:
        connection.execute("INSERT INTO inherited VALUES (?, ?, ?)", (key, dumps(list(phrases)), field))


def _row(document: Document) -> list[object]:
    row: list[object] = []
    for name in _COLUMNS:
        value = getattr(document, name)
        if name in ("tags", "files", "asked_as", "supersedes"):
            row.append(dumps([storable(item) for item in value]))
        else:
            row.append(int(value) if isinstance(value, bool) else storable(value))
    return row


def storable(text: str) -> str:
    """Replace lone surrogates, which SQLite refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _terms(connection: Connection, rowid: int) -> Terms:
    select = "SELECT title, tags, body, files, asked_as FROM vectors WHERE rowid = ?"
    row = connection.execute(select, (rowid,)).fetchone()
    if row is None:
        raise index_file.IndexUnavailable("the index lacks a vector")
    index_file.joined(row)
    return Terms(*row)


def apply_supersession(connection: Connection) -> None:
    """Update the flags and inherited phrases of all documents that others supersede or replace, inside the caller's transaction."""
    named = links(connection)
    resolution = resolve(named, cache(lambda key: named.get(key) or find_link(connection, key)))
    before = dict(connection.execute("SELECT key, by FROM superseded").fetchall())
    after = resolution.superseded
    connection.execute("DELETE FROM superseded")
    connection.executemany("INSERT INTO superseded VALUES (?, ?)", after.items())
    for key in sorted(before.keys() ^ after.keys()):
        set_injectable(connection, key, injectable=key not in after and _is_recalled(connection, key))
    saved = dict(connection.execute("SELECT key, asked_as FROM inherited").fetchall())
    inherited = {key: dumps(list(phrases)) for key, phrases in resolution.inherited.items()}
    changed = sorted(key for key in saved.keys() | inherited if saved.get(key) != inherited.get(key))
    stopwords = load_model(connection).stopwords if changed else {}
    for key in changed:
        set_inherited(connection, key, resolution.inherited.get(key, ()), stopwords)


def _is_recalled(connection: Connection, key: str) -> bool:
    """Return whether a document may be injected unless it is superseded."""
    query = "SELECT 1 FROM documents WHERE key = ? AND trust = ? AND (expires_at = '' OR expires_at > ?)"
    return connection.execute(query, (key, TRUSTED, now_iso())).fetchone() is not None


def superseded_documents(connection: Connection, keys: Iterable[str]) -> dict[str, str]:
    """Return those of the keys that are superseded -> the key of the memory that replaces it, or its name."""
    query = "SELECT key, by FROM superseded WHERE key = ?"
    return dict(row for key in keys for row in connection.execute(query, (storable(key),)))


def seed_guards(paths: Paths, connection: Connection) -> None:
    """Take the guards of a new index from the prepared file, because its memories arrive round by round."""
    for key, row in saved_rows(paths).items():
        _save_guard(connection, key, row)


def update_guards(connection: Connection, memories: Iterable[StoredMemory], trust: Trust) -> None:
    """Update the rows for memories that were just read, inside the caller's transaction."""
    for stored in memories:
        version = guarded_version(stored, trust)
        _save_guard(connection, stored.key, None if version is None else _guard_row(stored, version))


def _save_guard(connection: Connection, key: str, row: GuardRow | None) -> None:
    connection.execute("DELETE FROM guards WHERE key = ?", (key,))
    if row is not None:
        connection.execute("INSERT INTO guards VALUES (?, ?)", (key, dumps(row)))


def write_guards(paths: Paths, connection: Connection) -> None:
    """Write the guards in force to the prepared file, and drop those whose file is gone. Raises OSError.

    A guard outlives the right to read its file.
    """
    saved = connection.execute("SELECT key, row FROM guards ORDER BY key").fetchall()
    rows: dict[str, Any] = index_file.value_of(lambda: {key: loads(row) for key, row in saved}, "guards")
    gone = {key for key, row in rows.items() if not os.path.lexists(row["texts"]["path"])}
    connection.executemany("DELETE FROM guards WHERE key = ?", ((key,) for key in gone))
    left_out = gone | _replaced(connection, rows)
    write_guard_file(paths, [row for key, row in rows.items() if key not in left_out])


def _replaced(connection: Connection, rows: dict[str, GuardRow]) -> set[str]:
    """Return the keys of the rows whose memory is superseded.

    Either a trusted other memory supersedes it, or its own text names a successor; that does not count while the text awaits approval.
    """
    by_others: set[str] = set()
    for link in links(connection).values() if rows else ():
        for name in link.supersedes if link.is_trusted else ():
            # The first key that the name may mean.
            by_others.update([meant for meant in named_keys(name, link.key) if meant in rows][:1])
    of_own_text = {key for key, row in rows.items() if row["texts"]["current"]}
    return by_others | of_own_text.intersection(superseded_documents(connection, rows))


def guarded_version(stored: StoredMemory, trust: Trust) -> Memory | None:
    """Return the trusted version of a memory whose guard is in force; None if there is none, or if it has no guard."""
    version = stored.memory
    if not trust.is_trusted(stored):
        try:
            version = parse_memory(trust.last_trusted(stored), version.id, categories()[version.category])
        except InvalidMemory:
            return None
    return version if version.guard and version.status == ACTIVE and not version.superseded_by else None


def _guard_row(stored: StoredMemory, version: Memory) -> GuardRow:
    guard = version.guard
    assert guard is not None
    document = memory_document(stored._replace(memory=version), TRUSTED)
    row = {
        "key": stored.key,
        "action": guard.action,
        "until": version.expires_at,
        "commands": [words for words in map(guard_words, guard.commands) if words],
        "files": [form for pattern in guard.files for form in written_out(pattern)],
    }
    guard_digest = digest(dumps([row, document.inject]).encode("ascii"), 8)
    body = " ".join(document.body.split())
    texts = {
        "title": document.title,
        "block": document.inject,
        "body": body if len(body) <= _MAX_BODY else body[: _MAX_BODY - 1] + "\u2026",
        "mark": guard_digest,
        "path": stored.path,
        "current": "yes" if version is stored.memory else "",
    }
    return {**row, "texts": texts}
