"""Store interviews in SQLite: one row per interview and one per event.

A turn is one transaction, so a crash never stores half of it.
"""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.fastjson import dumps, loads
from ..kernel.files import make_folder
from ..kernel.sqlite import SqliteError, connect
from .exceptions import InterviewError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.sqlite import Connection

    Statement = tuple[str, tuple[Any, ...]]

OPEN, ENDED, FINISHED = "open", "ended", "finished"
FILE = "interviews.sqlite"
_VERSION = 1
_WAIT_MS = 2000
_COLUMNS = "id, project, session, status, topic, created, updated, setup, state, question, events"
_INTERVIEWS = """
CREATE TABLE interviews (
  id TEXT PRIMARY KEY, project TEXT NOT NULL, session TEXT NOT NULL, status TEXT NOT NULL, topic TEXT NOT NULL,
  word INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, setup TEXT NOT NULL, state TEXT NOT NULL,
  question TEXT NOT NULL, events INTEGER NOT NULL
) WITHOUT ROWID
"""
_EVENTS = """
CREATE TABLE events (
  interview TEXT NOT NULL, number INTEGER NOT NULL, time TEXT NOT NULL, event TEXT NOT NULL, decision TEXT NOT NULL,
  PRIMARY KEY (interview, number)
) WITHOUT ROWID
"""
_SCHEMA = (_INTERVIEWS, _EVENTS, "PRAGMA user_version = %d" % _VERSION)


class Interview:
    """One stored interview.

    `question` is the pending question in Claude's own words, or empty.
    """

    __slots__ = (
        "created", "events", "id", "project", "question", "session", "setup", "state", "status", "topic", "updated",
    )  # fmt: skip

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.id, self.project, self.session, self.status, self.topic = (str(value) for value in row[:5])
        self.created, self.updated = str(row[5]), str(row[6])
        self.setup: dict[str, Any] = _object(row[7])
        self.state: dict[str, Any] = _object(row[8])
        self.question = str(row[9])
        self.events = int(row[10])


def _object(text: str) -> dict[str, Any]:
    try:
        value = loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InterviewError(
            "the stored interview is damaged; delete it: memory interview discard --session ID"
        )
    return value


class InterviewStore:
    """The interviews of one user, in all projects. Every method raises InterviewError for SQLite and disk errors."""

    __slots__ = ("_connection", "_path")

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE)
        self._connection: Connection | None = None

    def exists(self) -> bool:
        """Return whether the database exists, because reading must not create it."""
        return os.path.lexists(self._path)

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def find(self, identity: str) -> Interview:
        """Return the interview with an id. Raises InterviewError if there is none."""
        rows = self._rows("SELECT %s FROM interviews WHERE id = ?" % _COLUMNS, (identity,))
        if not rows:
            raise InterviewError("no interview %r; `memory interview status` lists them" % identity[:80])
        return Interview(rows[0])

    def current(self, identity: str, project: str, session: str) -> Interview:
        """Return the interview with that id, or without an id the project's current one.

        Open interviews take precedence over ended ones, and those of this session over others. Raises InterviewError if there is none, or
        more than one.
        """
        if identity:
            return self.find(identity)
        unfinished = [row for row in self.overview(project) if row["status"] != FINISHED]
        candidates = [row for row in unfinished if row["status"] == OPEN] or unfinished
        candidates = [row for row in candidates if session and row["session"] == session] or candidates
        if not candidates:
            raise InterviewError(
                "no interview is open in this project; start one: memory interview start TOPIC"
            )
        if len(candidates) > 1:
            ids = ", ".join(str(row["id"]) for row in candidates[:5])
            raise InterviewError("several interviews are not finished; name one with --session: " + ids)
        return self.find(str(candidates[0]["id"]))

    def overview(self, project: str = "") -> list[dict[str, Any]]:
        """Return the interviews of a project, or of all projects, without setup and state; the latest first."""
        names = ("id", "topic", "status", "session", "created", "updated", "events")
        where, values = ("WHERE project = ?", (project,)) if project else ("", ())
        sql = "SELECT %s FROM interviews %s ORDER BY updated DESC, id" % (", ".join(names), where)
        return [dict(zip(names, row)) for row in self._rows(sql, values)]

    def events(self, identity: str) -> list[tuple[dict[str, Any], str]]:
        """Return each event of an interview with the JSON text of its decision, oldest first."""
        sql = "SELECT event, decision FROM events WHERE interview = ? ORDER BY number"
        return [(_object(event), str(decision)) for event, decision in self._rows(sql, (identity,))]

    def add(self, interview: Interview, event: dict[str, Any], decision: dict[str, Any]) -> None:
        """Store a new interview with its first event."""
        statements = [_insert(interview), _insert_event(interview, event, decision)]
        self._write(statements, interview.id, expected_events=-1)

    def add_event(self, interview: Interview, event: dict[str, Any], decision: dict[str, Any]) -> None:
        """Store an event and the changed interview. Raises InterviewError if another process changed it in the meantime."""
        expected = interview.events
        interview.events += 1
        statements = [_update(interview), _insert_event(interview, event, decision)]
        self._write(statements, interview.id, expected)

    def update(self, interview: Interview) -> None:
        """Store a changed interview without an event. Raises InterviewError if another process changed it in the meantime."""
        self._write([_update(interview)], interview.id, interview.events)

    def delete(self, identity: str) -> None:
        """Delete an interview and all its events."""
        statements = [
            ("DELETE FROM events WHERE interview = ?", (identity,)),
            ("DELETE FROM interviews WHERE id = ?", (identity,)),
        ]
        self._write(statements, identity, expected_events=-1)

    def _write(self, statements: list[Statement], identity: str, expected_events: int) -> None:
        """Run statements in one transaction. A negative `expected_events` skips the check for a concurrent change."""
        connection = self._open()
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                if expected_events >= 0:
                    self._check_unchanged(connection, identity, expected_events)
                for sql, values in statements:
                    connection.execute(sql, values)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        except SqliteError as error:
            raise InterviewError("%s: %s; nothing was changed" % (self._path, error)) from None

    def _check_unchanged(self, connection: Connection, identity: str, expected_events: int) -> None:
        row = connection.execute("SELECT events FROM interviews WHERE id = ?", (identity,)).fetchone()
        if row is None or row[0] != expected_events:
            raise InterviewError(
                "another answer arrived in the meantime; nothing was changed, see: memory interview status"
            )

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if not self.exists():
            return []
        try:
            return list(self._open().execute(sql, values))
        except SqliteError as error:
            raise InterviewError("%s: %s" % (self._path, error)) from None

    def _open(self) -> Connection:
        if self._connection is None:
            if connect is None:
                raise InterviewError("this Python was built without SQLite, which interviews need")
            try:
                self._connection = self._connect()
            except SqliteError as error:
                raise InterviewError("%s: %s" % (self._path, error)) from None
        return self._connection

    def _connect(self) -> Connection:
        make_folder(os.path.dirname(self._path))
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        os.close(os.open(self._path, flags, 0o600))  # SQLite itself would make it readable by everyone
        connection = connect(self._path, timeout=_WAIT_MS / 1000, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            # Keep the journal file, because creating one is slow, but not its content.
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            connection.execute("PRAGMA secure_delete = ON")  # otherwise deleted text stays on free pages
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                _create_tables(connection)
        except BaseException:
            connection.close()
            raise
        if version not in (0, _VERSION):
            connection.close()
            raise InterviewError("%s: version %s, expected %d" % (self._path, version, _VERSION))
        return connection


def _insert(interview: Interview) -> Statement:
    values = (
        interview.id, interview.project, interview.session, interview.status, interview.topic,
        interview.created, now_iso(), dumps(interview.setup), dumps(interview.state), interview.question, interview.events,
    )  # fmt: skip
    # `word` is a column of earlier versions, which has no default.
    return "INSERT INTO interviews (word, %s) VALUES (0, %s)" % (
        _COLUMNS,
        ", ".join("?" * len(values)),
    ), values


def _update(interview: Interview) -> Statement:
    return (
        "UPDATE interviews SET session = ?, status = ?, updated = ?, state = ?, question = ?, events = ? WHERE id = ?",
        (
            interview.session, interview.status, now_iso(), dumps(interview.state),
            interview.question, interview.events, interview.id,
        ),
    )  # fmt: skip


def _insert_event(interview: Interview, event: dict[str, Any], decision: dict[str, Any]) -> Statement:
    insert = "INSERT INTO events (interview, number, time, event, decision) VALUES (?, ?, ?, ?, ?)"
    return insert, (interview.id, interview.events, now_iso(), dumps(event), dumps(decision))


def _create_tables(connection: Connection) -> None:
    """Create the tables, unless another process just did."""
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone() == (0,):
        for statement in _SCHEMA:
            connection.execute(statement)
    connection.execute("COMMIT")
