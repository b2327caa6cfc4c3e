"""Create a new index: its tables, the ranking model and the background vocabulary from `config/recall/`.

The model is stored in the index, so that a prompt opens one file. A prompt that finds an index does not import this module.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..kernel.fastjson import dumps
from ..kernel.files import error_text
from ..kernel.paths import load_data
from ..kernel.sqlite import Connection, SqliteError
from .index_file import POSTINGS, IndexUnavailable, connect_index, index_version, meta_get, meta_set
from .query import index_by_first_word

_FILES = ("stopwords", "ranking", "confidence", "trees")
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
  rowid INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, id TEXT NOT NULL, category TEXT NOT NULL, status TEXT NOT NULL,
  title TEXT NOT NULL, tags TEXT NOT NULL, files TEXT NOT NULL, asked_as TEXT NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL,
  digest TEXT NOT NULL, injectable INTEGER NOT NULL, trust TEXT NOT NULL, expires_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  inject TEXT NOT NULL, full_digest TEXT NOT NULL, text_digest TEXT NOT NULL, rule TEXT NOT NULL, created_at TEXT NOT NULL,
  superseded_by TEXT NOT NULL, supersedes TEXT NOT NULL, own INTEGER NOT NULL, new_phrases TEXT NOT NULL,
  plain_title TEXT NOT NULL);
CREATE INDEX full_digests ON documents (full_digest);
CREATE INDEX text_digests ON documents (text_digest);
CREATE INDEX phrases ON documents (new_phrases) WHERE new_phrases != '';
CREATE INDEX trusts ON documents (trust, status, key);
CREATE INDEX files ON documents (scope, path);
CREATE INDEX ids ON documents (id);
CREATE INDEX titles ON documents (plain_title);
CREATE INDEX newest ON documents (updated_at, expires_at) WHERE injectable = 1 AND scope != 'native';
CREATE INDEX newest_rules ON documents (own, updated_at) WHERE rule != '';
CREATE TABLE vectors (
  rowid INTEGER PRIMARY KEY, expires_at TEXT NOT NULL, title TEXT NOT NULL, tags TEXT NOT NULL, body TEXT NOT NULL,
  files TEXT NOT NULL, asked_as TEXT NOT NULL);
CREATE TABLE vocabulary (
  term TEXT PRIMARY KEY, strong INTEGER NOT NULL, weak INTEGER NOT NULL, held_strong INTEGER NOT NULL,
  held_weak INTEGER NOT NULL, share REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE totals (
  injectable INTEGER PRIMARY KEY, documents INTEGER NOT NULL, title INTEGER NOT NULL, tags INTEGER NOT NULL, body INTEGER NOT NULL,
  files INTEGER NOT NULL, asked_as INTEGER NOT NULL);
CREATE TABLE named (named TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (named, key)) WITHOUT ROWID;
CREATE INDEX names ON named (key);
CREATE TABLE superseded (key TEXT PRIMARY KEY, by TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE inherited (key TEXT PRIMARY KEY, asked_as TEXT NOT NULL, field TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE touched (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE paths (path TEXT NOT NULL, key TEXT NOT NULL, way TEXT NOT NULL, PRIMARY KEY (path, key)) WITHOUT ROWID;
CREATE INDEX path_keys ON paths (key);
CREATE INDEX patterns ON paths (path) WHERE way = 'pattern';
CREATE TABLE guards (key TEXT PRIMARY KEY, path TEXT NOT NULL, row TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0, 0);
"""
# The terms are already analyzed, so the tokenizer only splits at spaces. Only row ids are read from FTS5: no positions, no sizes.
_FTS5 = """CREATE VIRTUAL TABLE %s USING fts5(terms, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '._-/+#'")"""


def create_index(path: str, fts5: bool = True) -> Connection:
    """Return a connection to a new, empty index that replaces whatever was at `path`.

    With `fts5` False it has no FTS5 tables even if SQLite supports them. Raises IndexUnavailable if the file cannot be created.
    """
    temporary = "%s.%d.new" % (path, os.getpid())
    try:
        _remove(temporary)
        connection = connect_index(temporary, 0.05)
        try:
            _create_tables(connection, fts5)
        finally:
            connection.close()
        os.chmod(temporary, 0o600)
        os.replace(temporary, path)
    except (OSError, SqliteError) as error:
        _remove(temporary)
        raise IndexUnavailable("cannot create %s: %s" % (path, error_text(error))) from None
    _remove(path + "-journal")
    return connect_index(path, 0.05)


def create_index_in_memory() -> Connection:
    """Return a connection to a new, empty index that is never saved. Raises IndexUnavailable if Python has no SQLite."""
    connection = connect_index(":memory:", 0.0)
    _create_tables(connection, fts5=True)
    return connection


def refresh_model(connection: Connection) -> None:
    """Copy the weights of this version of the plugin into an index that an older one created."""
    current = model()
    if meta_get(connection, "model") != current:
        meta_set(connection, "model", current)


def _create_tables(connection: Connection, fts5: bool) -> None:
    """Create the tables in an empty database and save the model; with `fts5`, also the FTS5 tables where SQLite supports them.

    Raises SqliteError, and OSError or ValueError when the plugin's own files are missing or damaged.
    """
    connection.execute("BEGIN")
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    has_fts5 = "0"
    with suppress(SqliteError):  # SQLite was built without FTS5
        for table in POSTINGS.values() if fts5 else ():
            connection.execute(_FTS5 % table)
            has_fts5 = "1"
    meta_set(connection, "fts5", has_fts5)
    meta_set(connection, "model", model())
    connection.executemany("INSERT INTO vocabulary VALUES (?, 0, 0, 0, 0, ?)", sorted(background().items()))
    connection.execute("PRAGMA user_version = %d" % index_version())
    connection.execute("COMMIT")


def model() -> str:
    """Return the ranking model as one JSON text: the values of some files in `config/recall/`, by file name.

    From `intents.json` it has the names, and the passages by their first word. Raises OSError or ValueError if the plugin's own files are
    missing or damaged.
    """
    intents = {
        intent: [passage for passages in by_language.values() for passage in passages]  # type: ignore[attr-defined]
        for intent, by_language in _values("intents").items()
    }
    prepared = {"intents": sorted(intents), "passages": index_by_first_word(intents)}
    return dumps({**prepared, **{name: _values(name) for name in _FILES}})


def background() -> dict[str, float]:
    """Return stem -> the share of short English and technical texts that contain it, in (0, 1)."""
    data = load_data("recall", "background")
    texts = int(data["texts"])
    return {str(term): int(count) / texts for term, count in data["counts"].items()}


def _values(name: str) -> dict[str, object]:
    return {entry: described["value"] for entry, described in load_data("recall", name)["entries"].items()}


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.remove(path)
