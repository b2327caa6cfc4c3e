"""The index file: made under a temporary name, opened only when it is whole and of this version."""

from __future__ import annotations

import os

from ...kernel.files import in_words
from ...kernel.sqlite import Connection, SqliteError, connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

# Another number makes every older index unusable, so that it is built anew.  It changes with the tables, the analysis of texts, the stop
# words, the background, the form of what is injected and the signals that weights name; other weights alone are what `refresh_model` takes
# over.
SCHEMA = 6
_version = [SCHEMA]

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
  rowid INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, id TEXT NOT NULL, category TEXT NOT NULL,
  title TEXT NOT NULL, tags TEXT NOT NULL, files TEXT NOT NULL, asked_as TEXT NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL,
  digest TEXT NOT NULL, injectable INTEGER NOT NULL, trust TEXT NOT NULL, expires_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  inject TEXT NOT NULL);
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
INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0, 0);
"""
# Terms come analysed, so the tokenizer only parts them at spaces.  Nothing but the row ids is wanted of FTS5: no positions, no sizes.
_FTS5 = """CREATE VIRTUAL TABLE %s USING fts5(terms, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '._-/+#'")"""
POSTINGS = {True: "postings", False: "postings_held"}


class IndexError_(Exception):  # noqa: N801 - IndexError is Python's own
    """The index cannot answer; the message says why and names no secret."""


class IndexMissing(IndexError_):
    """There is no index file yet."""


class IndexUnusable(IndexError_):
    """The index file is damaged, locked, or of another version."""


class IndexLocked(IndexUnusable):
    """The index file is whole as far as one can tell, but somebody is writing it."""


def redacted_by(mark: int) -> None:
    """From now on only an index counts whose texts were redacted by this choice of hygiene; 0 is the default one."""
    _version[0] = SCHEMA | mark << 8


def open_index(path: str, timeout: float = 0.05) -> Connection:
    """A connection to a whole index of this version; it waits up to `timeout` seconds for a writer.

    Raises IndexMissing when there is no file, IndexUnusable when it is damaged, locked, of another version, or SQLite is not there.
    """
    if not os.path.isfile(path):
        raise IndexMissing("no index at " + path)
    connection = _connected(path, timeout)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except SqliteError as error:
        connection.close()
        raise _unusable(path, error) from None
    if version != _version[0]:
        connection.close()
        raise IndexUnusable("%s has version %s, expected %d" % (path, version, _version[0]))
    return connection


def create_index(path: str, fts5: bool = True) -> Connection:
    """A connection to a new, empty index that replaces whatever was at `path`.

    `fts5` False leaves FTS5 out even where SQLite has it.  Raises IndexUnusable when the file cannot be made.
    """
    temporary = "%s.%d.new" % (path, os.getpid())
    try:
        _remove(temporary)
        connection = _connected(temporary, 0.05)
        try:
            _make_tables(connection, fts5)
        finally:
            connection.close()
        os.chmod(temporary, 0o600)
        os.replace(temporary, path)
    except (OSError, SqliteError) as error:
        _remove(temporary)
        raise IndexUnusable("cannot make %s: %s" % (path, in_words(error))) from None
    _remove(path + "-journal")
    return _connected(path, 0.05)


def create_index_in_memory() -> Connection:
    """A connection to a new, empty index that is kept nowhere. Raises IndexUnusable where there is no SQLite."""
    connection = _connected(":memory:", 0.0)
    _make_tables(connection, fts5=True)
    return connection


def has_fts5(connection: Connection) -> bool:
    """True when the index was made with FTS5."""
    return meta_get(connection, "fts5") == "1"


def meta_get(connection: Connection, name: str) -> str | None:
    """The value kept under a name, None when there is none."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def meta_set(connection: Connection, name: str, value: str) -> None:
    """Keep a value under a name, instead of an older one."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


class transaction:  # noqa: N801 - used as a statement
    """`with transaction(connection):` commits at the end, or undoes everything when an exception passes through."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
        except SqliteError:
            if kind is None:
                raise  # else SQLite has rolled back by itself, and the first error is the one that matters


def _connected(path: str, timeout: float) -> Connection:
    if connect is None:
        raise IndexUnusable("this Python has no SQLite")
    try:
        connection = connect(path, timeout=timeout, isolation_level=None)
    except SqliteError as error:
        raise _unusable(path, error) from None
    try:
        # A lost index costs only the time to build it, so nothing waits for the disk.
        connection.execute("PRAGMA synchronous = OFF")
    except SqliteError as error:
        connection.close()
        raise _unusable(path, error) from None
    return connection


def _unusable(path: str, error: Exception) -> IndexUnusable:
    named = IndexLocked if "locked" in str(error) else IndexUnusable
    return named("%s: %s" % (path, error))


def refresh_model(connection: Connection) -> None:
    """Give an index that an older version of the plugin made the weights of this one."""
    from .config import model

    present = model()
    if meta_get(connection, "model") != present:
        meta_set(connection, "model", present)


def _make_tables(connection: Connection, fts5: bool) -> None:
    from .config import background, model

    connection.execute("BEGIN")
    for statement in _statements(_TABLES):
        connection.execute(statement)
    made = fts5 and _make_fts5(connection)
    meta_set(connection, "fts5", "1" if made else "0")
    meta_set(connection, "model", model())
    connection.executemany("INSERT INTO vocabulary VALUES (?, 0, 0, 0, 0, ?)", sorted(background().items()))
    connection.execute("PRAGMA user_version = %d" % _version[0])
    connection.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    return (part for part in script.split(";") if part.strip())


def _make_fts5(connection: Connection) -> bool:
    try:
        for table in POSTINGS.values():
            connection.execute(_FTS5 % table)
    except SqliteError:  # this SQLite was built without FTS5
        return False
    return True


def _remove(path: str) -> None:
    try:  # noqa: SIM105 - contextlib costs a prompt milliseconds
        os.remove(path)
    except FileNotFoundError:
        pass
