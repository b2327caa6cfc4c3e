"""Store interviews in SQLite: one row per interview and one per event; and the form of what is stored, which is JSON.

A turn is one transaction, so a crash never stores half of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypedDict

from ..kernel.context import Ledger, now_iso
from ..kernel.fastjson import dumps, loads
from ..kernel.files import READ_WRITE, make_folder, os_error_text
from ..kernel.paths import Paths
from ..kernel.sqlite import Connection, SqliteError, open_database
from . import Reminder

Statement = tuple[str, tuple[Any, ...]]
OPEN, ENDED, FINISHED = "open", "ended", "finished"
NEW = -1  # the last event's number in an interview that is not stored yet
_LEDGER = ("turn", "phase", "strategy", "stop", "reason")
_COLUMNS = "id, project, session, status, topic, created, updated, setup, state, events"
_SETUP = (
    "PRAGMA synchronous = NORMAL",
    # Keep the journal file, because creating one is slow, but not its content.
    "PRAGMA journal_mode = TRUNCATE",
    "PRAGMA secure_delete = ON",  # otherwise deleted text stays on free pages
    """CREATE TABLE IF NOT EXISTS interviews (
      id TEXT PRIMARY KEY, project TEXT NOT NULL, session TEXT NOT NULL, status TEXT NOT NULL, topic TEXT NOT NULL,
      created TEXT NOT NULL, updated TEXT NOT NULL, setup TEXT NOT NULL, state TEXT NOT NULL, events INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS events (
      interview TEXT NOT NULL, number INTEGER NOT NULL, event TEXT NOT NULL, decision TEXT NOT NULL,
      PRIMARY KEY (interview, number)
    ) WITHOUT ROWID""",
)


class Signal(TypedDict, total=False):
    """One of the signals of an answer, each of which has some of these fields; see `config/interview/signals.json`."""

    type: str
    severity: float
    quality: str
    intensity: str
    present: bool
    kind: str
    terminal: bool
    response: str
    suggestion: str


Signals = dict[str, Signal]


class Element(TypedDict):
    """A part of the subject that should be covered."""

    id: str
    label: str
    aliases: list[str]
    ask: str
    group: str


class Setup(TypedDict):
    """The configuration of an interview; `scoring` is a file of `config/interview` with the user's changes, `pack` has no elements."""

    topic: str
    pack: dict[str, Any]
    elements: list[Element]
    scoring: dict[str, Any]
    max_turns: int


class Given(TypedDict):
    """The valid parts of an answer; a concept has text, type, stance, confidence and quote, a relation source and target."""

    answer: str
    question: str
    wish: str
    signals: Signals
    concepts: list[dict[str, Any]]
    relations: list[list[str]]
    covered: list[str]


class Turn(TypedDict):
    """An answered question: what was asked, what was said, and measures of it; `signals` are a model's, else those by rule."""

    number: int
    strategy: str
    focus: dict[str, str]
    question: str
    answer: str
    words: int
    wish: str
    signals: Signals
    sentiment: float
    concepts: list[str]
    new: int
    low: bool


class Node(TypedDict):
    """A concept of the graph; `quotes` are [turn, quote], and `elements` what it is about."""

    id: str
    label: str
    type: str
    stance: int
    confidence: float
    mentions: int
    turns: list[int]
    quotes: list[list[Any]]
    superseded_by: str
    elements: list[str]


class State(TypedDict):
    """Everything said so far. An edge is [source, target, kind, turn], and `next` the pending question: strategy, focus, probe.

    `rate` is a moving average of new concepts per answer, and `more` is the number of questions added by resuming.
    """

    nodes: list[Node]
    edges: list[list[Any]]
    turns: list[Turn]
    covered: dict[str, dict[str, Any]]
    rate: float
    more: int
    next: dict[str, Any] | None


class Decision(TypedDict, total=False):
    """What follows an event: the next question with its runners-up, or the reason to stop and the elements left open.

    A candidate has strategy, focus, and either the veto against it, or its scorers, their sum, the phase's multiplier and the score.
    """

    turn: int
    phase: str
    progress: dict[str, Any]
    stop: bool
    reason: str
    why: str
    deferred: list[str]
    strategy: str
    focus: dict[str, str]
    intent: str
    probe: str
    avoid: list[str]
    chosen: dict[str, Any]
    runners_up: list[dict[str, Any]]
    vetoed: list[dict[str, Any]]
    measures: dict[str, float]
    dropped: list[str]
    judge: str


Step = tuple[dict[str, Any], Decision]  # an event, and the decision that followed


class InterviewError(RuntimeError):
    """An interview cannot be used, because it is unknown, ended, damaged or ambiguous. The text is one line for the user."""


class Interview:
    """One stored interview; OPEN while a question is pending, then ENDED, and FINISHED after its memories are written."""

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.id, self.project, self.session, self.status, self.topic, self.created, _, *more = row
        setup, state, self.events = more
        contents: list[Any] = [loads(setup), loads(state)]
        self.setup: Setup = contents[0]
        self.state: State = contents[1]

    @classmethod
    def new(cls, setup: Setup, state: State, project: str, session: str) -> Interview:
        """Return a new interview, which is not stored yet."""
        topic = setup["topic"]
        words = re.sub("[^a-z0-9]+", "-", topic.lower()).strip("-")[:30].strip("-")
        identity = "%s-%s" % (words or "interview", os.urandom(3).hex())
        return cls((identity, project, session, OPEN, topic, now_iso(), "", dumps(setup), dumps(state), NEW))


class InterviewStore:
    """The interviews of one user, in all projects; `project` and `session` are those of this run.

    Every method raises InterviewError for SQLite and disk errors.
    """

    def __init__(self, folder: str, project: str, session: str) -> None:
        self.path = os.path.join(folder, "interviews.sqlite")
        self.project, self.session = project, session

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def find(self, identity: str) -> Interview:
        """Return the interview with an id. Raises InterviewError."""
        rows = self._rows("SELECT %s FROM interviews WHERE id = ?" % _COLUMNS, (identity,))
        if not rows:
            raise InterviewError("no interview %r; `memory interview status` lists them" % identity[:80])
        return Interview(rows[0])

    def current(self, identity: str) -> Interview:
        """Return the interview with that id, or without an id the project's current one. Raises InterviewError if there is none.

        Open interviews take precedence over ended ones, those of this session over others, and of these the latest one.
        """
        unfinished = [row for row in self.overview() if row["status"] != FINISHED]
        unfinished.sort(key=lambda row: (row["status"] != OPEN, row["session"] != self.session))
        if not (identity or unfinished):
            raise InterviewError("no interview is open here; start one: memory interview start TOPIC")
        return self.find(identity or str(unfinished[0]["id"]))

    def overview(self) -> list[dict[str, object]]:
        """Return the interviews of the project without setup and state; the latest first."""
        names = ("id", "topic", "status", "session", "created", "updated", "events")
        sql = "SELECT %s FROM interviews WHERE project = ? ORDER BY updated DESC, id" % ", ".join(names)
        return [dict(zip(names, row)) for row in self._rows(sql, (self.project,))]

    def events(self, identity: str) -> list[Step]:
        """Return each event of an interview with its decision, oldest first."""
        sql = "SELECT event, decision FROM events WHERE interview = ? ORDER BY number"
        rows: list[Any] = [tuple(map(loads, row)) for row in self._rows(sql, (identity,))]
        return rows

    def save(self, interview: Interview, step: Step | None = None) -> None:
        """Store a new or changed interview, with the step that changed it; None if no event did.

        Raises InterviewError if another process changed it in the meantime.
        """
        expected, statements = interview.events, []
        if step is not None:
            interview.status = ENDED if step[1]["stop"] else OPEN
            interview.events += 1
            insert = "INSERT INTO events (interview, number, event, decision) VALUES (?, ?, ?, ?)"
            statements.append((insert, (interview.id, interview.events, *map(dumps, step))))
        self._write(interview.id, expected, [_saved(interview), *statements])

    def delete(self, interview: Interview) -> None:
        """Delete an interview and all its events."""
        tables = (("events", "interview"), ("interviews", "id"))
        deletes = [("DELETE FROM %s WHERE %s = ?" % names, (interview.id,)) for names in tables]
        self._write(interview.id, interview.events, deletes)

    def _write(self, identity: str, expected_events: int, statements: Sequence[Statement]) -> None:
        """Run statements in one transaction, if the interview still has the expected number of events."""
        try:
            with self._connection as connection:  # commits, or rolls back after an error
                connection.execute("BEGIN IMMEDIATE")
                select = "SELECT events FROM interviews WHERE id = ?"
                found = connection.execute(select, (identity,)).fetchone()
                is_current = (found or (NEW,)) == (expected_events,)
                for sql, values in statements if is_current else ():
                    connection.execute(sql, values)
        except SqliteError as error:
            raise InterviewError("%s: %s; nothing was changed" % (self.path, error)) from None
        if not is_current:
            raise InterviewError("another answer came first; nothing changed; see: memory interview status")

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if not os.path.lexists(self.path):  # reading must not create it
            return []
        try:
            return list(self._connection.execute(sql, values))
        except SqliteError as error:
            raise InterviewError("%s: %s" % (self.path, error)) from None

    @cached_property
    def _connection(self) -> Connection:
        """The open database, which is created at the first use."""
        make_folder(os.path.dirname(self.path))
        # SQLite itself would make it readable by everyone.
        os.close(os.open(self.path, READ_WRITE, 0o600))
        connection = open_database(self.path, 2.0)
        for statement in _SETUP:
            connection.execute(statement)
        return connection


def _saved(interview: Interview) -> Statement:
    values = (
        interview.id, interview.project, interview.session, interview.status, interview.topic, interview.created,
        now_iso(), dumps(interview.setup), dumps(interview.state), interview.events,
    )  # fmt: skip
    marks = ", ".join("?" * len(values))
    return "INSERT OR REPLACE INTO interviews (%s) VALUES (%s)" % (_COLUMNS, marks), values


def record_decision(interview: Interview, decision: Decision, paths: Paths, *, begins: bool) -> list[str]:
    """Update the reminder of the session, and write the decision, without any text of the user, to the ledger; return problems.

    `begins` says that the interview was just started or resumed.
    """
    problems = []
    reminder = Reminder(paths, interview.session)
    try:
        if interview.session and begins:
            reminder.create(interview.id, interview.topic)
        elif interview.session and interview.status != OPEN:  # no question is pending, only the summary
            reminder.set_active(active=False)
    except OSError as error:
        problems.append("the next prompt will not mention the interview: %s" % os_error_text(error))
    row = {name: decision.get(name) for name in _LEDGER}
    row.update(interview=interview.id, score=decision.get("chosen", {}).get("score"))
    # Under the session and project of the interview, which may not be those of this run.
    problem = Ledger(paths.state(), "interviews").append(interview.session, interview.project, row)
    return problems + (["the decision was not written to the ledger: " + problem] if problem else [])
