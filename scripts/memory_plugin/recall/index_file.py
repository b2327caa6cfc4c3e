"""The index file of a project: its path, opening and creating it, detecting changes in the stores, and classifying its errors.

The file is created under a temporary name, and opened only if it is complete and of this version. A locked index is left to its writer,
an unwritable one is used as it is, and a damaged one is rebuilt, by prompts once a day. A row of another form than this version writes
raises IndexUnavailable where it is read; any other error is a bug, which no rebuild would fix, and goes to the hook's reporter. A few
`stat` calls per prompt detect whether the stores have changed since they were indexed.
"""

from __future__ import annotations

import os
from time import sleep, time

from ..kernel.context import now_iso
from ..kernel.fastjson import dumps, loads
from ..kernel.files import FileLock
from ..kernel.paths import Paths, record_once
from ..kernel.sqlite import Connection, SqliteError, open_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import TypeVar

    from ..memories.trust_file import DecisionFile

    Value = TypeVar("Value")

# Increase this to have every older index rebuilt: after a change to the tables, the analysis of texts, the stop words, the background, the
# injected text, or the names of signals. A change to weights alone needs none, because each refresh copies them into the index.
SCHEMA = 17
# The digest of the hygiene rules and their code: an index redacted by other rules is rebuilt. `python3 tests/config/rules_digest.py`
# writes it.
RULES_DIGEST = 0x7B5FDD
_version = [SCHEMA | RULES_DIGEST << 8]
# Appended to a term in the posting list of strong fields; no term contains this character.
STRONG_MARK = "+"
POSTINGS = {True: "postings", False: "postings_held"}
# From SQLite's messages for READONLY, FULL, IOERR and CANTOPEN (sqlite3ErrStr), because Python exposes no error code before 3.11.
_UNWRITABLE_SIGNS = ("readonly", "full", "disk i/o", "unable to open")
DAMAGED, LOCKED, UNWRITABLE = "index_damaged", "index_locked", "index_unwritable"
OUTDATED = "index_outdated"
WATCHED = "watched"
# Whether documents changed since the prepared files were written, and what memories change for each other was updated: 1 or 0.
STALE = "stale"
PROJECT_ROOT = "root"
DECIDED = "decided"  # the state of the records of trust at the last refresh
_SEEN = "seen"  # the record of a name that changes no trust (`trust_file.SEEN`)
# A path that changes again within the clock's resolution keeps its time, so a path that changed just now is checked again (git: "racy").
_RESOLUTION_SECONDS = 0.05
_COARSE_RESOLUTION_SECONDS = 2.1
# A file server's clock may be ahead by this much. A time further in the future was set on purpose (`touch`, an archive, a clock set back)
# and may stay for years.
_SKEW_SECONDS = 60.0
UNSURE, _ABSENT = "?", "-"  # marks of a path


class IndexUnavailable(Exception):
    """The index cannot answer; the message says why and contains no secret."""


class IndexMissing(IndexUnavailable):
    """There is no index file yet."""


class IndexOutdated(IndexUnavailable):
    """The index was built by another version or with other hygiene rules, and must be rebuilt."""


# Python raises the last one for a damaged name of a column.
INDEX_ERRORS = (SqliteError, IndexUnavailable, UnicodeDecodeError)
_NO_ROW = (ValueError, TypeError, LookupError, AttributeError)


def index_path(paths: Paths) -> str:
    """Return the path of the index file of a project.

    Its name includes the schema number. A command installed by pip may have another version than the plugin, and without the number the
    two would keep rebuilding each other's index.
    """
    return paths.state("index", "%s.%d.sqlite3" % (paths.project_key, SCHEMA))


def refresh_lock(path: str, wait: float) -> FileLock:
    """Return the lock that every process takes before it changes the index at `path`; it waits up to `wait` seconds."""
    return FileLock(path + ".lock", wait)


def set_redaction(rules_checksum: int) -> None:
    """Accept only an index whose texts were redacted by this choice of hygiene rules; 0 is the default choice."""
    _version[0] = SCHEMA | (RULES_DIGEST ^ rules_checksum) << 8


def index_version() -> int:
    """Return the version of an index that this process can use."""
    return _version[0]


def open_index(path: str, timeout: float = 0.25) -> Connection:
    """Return a connection to a complete index of this version; wait up to `timeout` seconds for a writer.

    A writer keeps readers out only while it commits: a few milliseconds, but more than 50 where all cores are busy.
    Raises IndexUnavailable: IndexMissing if there is no file, IndexOutdated if it is of another version.
    """
    if not os.path.isfile(path):
        raise IndexMissing("no index at " + path)
    try:
        connection = open_database(path, timeout)
    except SqliteError as error:
        raise IndexUnavailable("%s: %s" % (path, error)) from None
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except SqliteError as error:
        connection.close()
        raise IndexUnavailable("%s: %s" % (path, error)) from None
    if version != _version[0]:
        connection.close()
        # SQLite takes an empty file for a database of version 0.
        kind = IndexOutdated if version else IndexUnavailable
        raise kind("%s has version %x; expected %x" % (path, version, _version[0]))
    return connection


def joined(row: Sequence[str]) -> str:
    """Return the texts of a row as one. Raises IndexUnavailable if a value is no text."""
    try:
        return "".join(row)
    except TypeError:
        raise IndexUnavailable("a row of the index holds no texts") from None


def value_of(read: Callable[[], Value], what: str) -> Value:
    """Return what `read` makes of a row, and nothing else. Raises IndexUnavailable if the row has another form."""
    try:
        return read()
    except _NO_ROW:
        raise IndexUnavailable("the index holds no valid " + what) from None


def may_rebuild(path: str) -> bool:
    """Return whether to rebuild a damaged index now, and record it if so: once a day, as damage that returns has a cause."""
    return record_once(path + ".rebuilt", "day", now_iso()[:10])


def discard(path: str, error: Exception) -> tuple[str, bool | None]:
    """Return why an index cannot be used (empty: it is missing), and whether it is gone now, so that a prompt may create it.

    None in place of False if a damaged one must stay, in the background too.
    """
    reason = failure_reason(error)
    if reason == DAMAGED and not may_rebuild(path):
        return reason, None
    if reason not in (DAMAGED, OUTDATED):
        return reason, not reason
    try:
        with refresh_lock(path, 0.0):
            os.unlink(path)
    except OSError:
        return reason, False
    return reason, True


def has_fts5(connection: Connection) -> bool:
    """Return whether the index was created with FTS5."""
    return meta_get(connection, "fts5") == "1"


def meta_get(connection: Connection, name: str) -> str | None:
    """Return the value saved under a name; None if there is none."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def meta_set(connection: Connection, name: str, value: str) -> None:
    """Save a value under a name, replacing an older one."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def transaction(connection: Connection) -> Connection:
    """Begin a transaction, which the end of a `with` statement commits, or rolls back if an exception is raised."""
    connection.execute("BEGIN IMMEDIATE")
    return connection


def snapshot(paths: Iterable[str], *, wait: bool = False) -> dict[str, str]:
    """Return the present mark of each path: time of change, inode, the inode of a link to it, and owner.

    The mark is `-` for a missing path, and `?` for one that changed too recently or could not be examined now. With `wait`, such paths
    are examined again after a moment; for processes that nobody waits for.
    """
    now = time()
    marks = {path: _fingerprint(path, now) for path in paths}
    if wait and UNSURE in marks.values():
        sleep(_RESOLUTION_SECONDS)
        return snapshot(marks)
    return marks


def _fingerprint(path: str, now: float) -> str:
    try:
        status, link = os.stat(path), os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT
    except OSError:
        return UNSURE
    coarse = status.st_mtime_ns % 1_000_000_000 == 0
    resolution = _COARSE_RESOLUTION_SECONDS if coarse else _RESOLUTION_SECONDS
    if -_SKEW_SECONDS < now - status.st_mtime < resolution:
        return UNSURE
    return "%d:%d:%d:%d" % (status.st_mtime_ns, status.st_ino, link.st_ino, status.st_uid)


def _saved_value(connection: Connection, name: str) -> object:
    saved = meta_get(connection, name)
    return value_of(lambda: loads(saved), name) if saved else None


def changed_paths(connection: Connection) -> set[str] | None:
    """Return the watched paths that have changed, or may have, since they were indexed; None if no marks were ever saved."""
    marks = _saved_value(connection, WATCHED)
    if not isinstance(marks, dict):
        return None
    current = snapshot(marks)
    return {path for path, mark in marks.items() if mark == UNSURE or current[path] != mark}


def new_decisions(
    connection: Connection, trusted: DecisionFile, rejected: DecisionFile, accept_from: Collection[str]
) -> tuple[set[str] | None, str]:
    """Return the digests of texts that the user decided about since the last refresh, and the present state of the trust records.

    The digests are None if they are unknown, so that every memory must be checked.
    """
    present = [trusted.end, rejected.end, sorted(accept_from)]
    before = _saved_value(connection, DECIDED)
    if not isinstance(before, list) or len(before) != len(present) or before[2] != present[2]:
        return None, dumps(present)
    digests: set[str] = set()
    for file, end in zip((trusted, rejected), before):
        new = file.since(tuple(end)) if isinstance(end, list) else None
        if new is None:
            return None, dumps(present)
        digests.update(decision.digest for decision in new if decision.how != _SEEN)
    return digests, dumps(present)


def failure_reason(error: Exception) -> str:
    """Return the reason, for a ledger, of an error in INDEX_ERRORS: locked, not writable, outdated, or damaged; empty if it is missing."""
    if isinstance(error, IndexMissing):
        return ""
    cause = error if isinstance(error, SqliteError) else error.__context__
    message = str(cause).lower() if isinstance(cause, SqliteError) else ""
    if "locked" in message:
        return LOCKED
    if any(sign in message for sign in _UNWRITABLE_SIGNS):
        return UNWRITABLE
    return OUTDATED if isinstance(error, IndexOutdated) else DAMAGED
