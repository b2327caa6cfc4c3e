"""Fill the index of past sessions from transcripts: what is kept of each typed prompt and what came of it.

The index outlives the transcripts, which the client deletes after some weeks. Texts are redacted before they are cut and stored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..kernel.context import iso, now
from ..kernel.fastjson import digest, loads
from ..kernel.files import FileLock, make_folder, os_error_text
from ..kernel.hygiene import redact
from ..kernel.paths import Paths, home_folder, main_worktree, project_root, read_state
from ..kernel.sqlite import Connection, SqliteError, connect
from ..kernel.text import cut_before, without_private
from ..kernel.text.clean import block, plain
from ..kernel.transcript.reader import Reader, open_transcript
from ..kernel.transcript.rows import COMMAND as SLASH
from ..kernel.transcript.rows import PROMPT
from ..kernel.transcript.turn import Call, Turn
from .detection import EDITORS, failure_cause, pipeline_heads
from .past import PREFIX, index_path, search_words
from .past_ask import may_ask, words_data
from .session_files import project_transcripts

_TABLES = """
CREATE TABLE sessions (
  session TEXT PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL,
  offset INTEGER NOT NULL, number INTEGER NOT NULL, title TEXT NOT NULL, branch TEXT NOT NULL, first TEXT NOT NULL);
CREATE TABLE exchanges (
  id INTEGER PRIMARY KEY, mark TEXT NOT NULL UNIQUE, session TEXT NOT NULL, number INTEGER NOT NULL, time TEXT NOT NULL,
  trivial INTEGER NOT NULL, prompt TEXT NOT NULL, reply TEXT NOT NULL, files TEXT NOT NULL, passed TEXT NOT NULL,
  failed TEXT NOT NULL);
CREATE INDEX of_session ON exchanges (session, number);
CREATE INDEX times ON exchanges (time);
CREATE VIRTUAL TABLE words USING fts5(prompt, reply, files, commands, context, prefixes);
"""
_TIME = re.compile(r"20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T[0-9]{2}:[0-9]{2}:[0-9]{2}")
CLAUDE, CODEX, ELSEWHERE, FORGOTTEN = "claude", "codex", "elsewhere", "forgotten"
_MAX_PROMPT, _MAX_REPLY, _MAX_LINE, _MAX_TITLE = 600, 1000, 200, 100  # characters
_MAX_READ = 20_000  # characters of a text that are redacted
_MAX_LINES = 12  # files or commands of an exchange
_TRIVIAL_REPLY = 80  # characters
_DAY = 86400.0
_CLEANUP_DAYS = 30  # after which the client deletes transcripts by default
_BATCH = 20  # files
_MAX_HEAD = 1 << 20  # bytes of a rollout's first row
_WAIT = 2.0  # seconds for a writer


class Draft:
    """An exchange while its turns are read."""

    def __init__(self, turn: Turn, root: str) -> None:
        typed = [entry for entry in turn.user_texts if entry.kind in (PROMPT, SLASH)]
        self.text = "\n".join(entry.text for entry in typed)
        self.offset = typed[0].offset
        self.is_command = typed[0].kind == SLASH
        self.time = typed[0].time or turn.time
        self.reply = ""
        self.files: dict[str, None] = {}
        self.passed: dict[str, None] = {}
        self.failed: dict[str, None] = {}
        self._root = root

    def add(self, turn: Turn) -> None:
        """Add a turn's last text, edited files and commands."""
        self.reply = turn.texts[-1][: 2 * _MAX_READ] if turn.texts else self.reply
        self.time = self.time or turn.time
        for call in (*turn.calls, *turn.late):
            if call.result is not None:
                self._add_call(call, failure_cause(call, turn.version))

    def _add_call(self, call: Call, cause: str) -> None:
        path = call.text("file_path") or call.text("notebook_path")
        if call.name in EDITORS and path and not cause:
            self.files[path[len(self._root) + 1 :] if path.startswith(self._root + os.sep) else path] = None
        command = call.text("command")
        if call.name == "Bash" and command and cause in ("", "own") and not _only_looks(command):
            kept = self.failed if cause else self.passed
            kept.pop(command, None)
            kept[command] = None


def _only_looks(command: str) -> bool:
    """Return whether a command only looks around."""
    data = words_data()
    names = [head.words for head in pipeline_heads(command)]
    return all(
        name in data["looks"] or (name == "git" and not data["git_looks"].isdisjoint(rest[:1]))
        for name, *rest in names
    )


def read_exchanges(turns: Iterable[Turn], root: str) -> Iterator[Draft]:
    """Yield the exchanges of a transcript's turns."""
    draft: Draft | None = None
    for turn in turns:
        if any(entry.kind in (PROMPT, SLASH) and entry.text for entry in turn.user_texts):
            if draft is not None:
                yield draft
            draft = Draft(turn, root)
        if draft is not None:
            draft.add(turn)
    if draft is not None:
        yield draft


class Session(NamedTuple):
    """What the index knows about a transcript; `number` counts the prompts before `offset`, from where it is read again."""

    session: str
    path: str
    kind: str
    size: int = 0
    changed: int = 0
    offset: int = 0
    number: int = 0
    title: str = ""
    branch: str = ""
    first: str = ""


def refresh(paths: Paths, days: int, rules: int, wait: float = 0.0) -> list[str]:
    """Bring the index up to date with the transcripts on disk; return a line for each that cannot be read.

    `days` is how long sessions are kept without a transcript, `rules` names the present rules of redaction. Another process that writes is
    awaited for `wait` seconds. Raises OSError, Busy among them, and SqliteError.
    """
    path = index_path(paths)
    make_folder(os.path.dirname(path))
    with FileLock(path + ".lock", wait):
        connection = _open_or_create(path, rules)
        try:
            return _update(connection, days, paths)
        finally:
            connection.close()


def _update(connection: Connection, days: int, paths: Paths) -> list[str]:
    """Read what is new, and return the problems; a commit waits for the disk, so it is for several files."""
    problems = []
    connection.execute("BEGIN IMMEDIATE")
    known = {row[0]: Session(*row) for row in connection.execute("SELECT * FROM sessions")}
    found = dict(_transcripts(paths, known, connection))
    for at, (name, file) in enumerate(found.items(), 1):
        try:
            _read(connection, name, file, known.get(name), paths)
        except OSError as error:
            problems.append("session %s cannot be read: %s" % (name[:8], os_error_text(error)))
        if at % _BATCH == 0:
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
    _drop_old(connection, known, set(found), days, paths)
    connection.execute("COMMIT")
    return problems


def _open_or_create(path: str, rules: int) -> Connection:
    """Return a connection to the index, created if it is missing; texts that other rules redacted are redacted again."""
    if connect is None:
        raise SqliteError("this Python has no SQLite")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    connection = connect(path, timeout=_WAIT, isolation_level=None)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
            connection.execute("BEGIN IMMEDIATE")
            for statement in filter(str.strip, _TABLES.split(";")):
                connection.execute(statement)
            connection.execute("COMMIT")
        elif version != rules:
            _redact_again(connection)
        connection.execute("PRAGMA user_version = %d" % rules)
    except BaseException:
        connection.close()
        raise
    return connection


def _redact_again(connection: Connection) -> None:
    """Redact all texts by the present rules; their transcripts may be gone."""
    connection.execute("BEGIN IMMEDIATE")
    for row in connection.execute("SELECT * FROM sessions").fetchall():
        texts = (redact(text, "inject").text for text in row[7:])
        _save_session(connection, Session(*row[:7], *texts))
    for row in connection.execute("SELECT * FROM exchanges").fetchall():
        _store(connection, row[:6], [redact(text, "inject").text for text in row[6:]])
    connection.execute("COMMIT")


def _save_session(connection: Connection, session: Session) -> None:
    connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", session)


def _store(connection: Connection, facts: tuple[Any, ...], texts: list[str]) -> None:
    """Store an exchange and its words; `facts` are id (or None), mark, session, number, time and whether it is trivial."""
    connection.execute(
        "INSERT OR REPLACE INTO exchanges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*facts, *texts)
    )
    (row,) = connection.execute("SELECT id FROM exchanges WHERE mark = ?", facts[1:2]).fetchone()
    prompt, reply, files, passed, failed = texts
    context = connection.execute(
        "SELECT first, branch, title FROM sessions WHERE session = ?", facts[2:3]
    ).fetchone()
    fields = [
        search_words(text) for text in (prompt, reply, files, passed + "\n" + failed, "\n".join(context))
    ]
    prefixes = {word[:PREFIX] for words in fields for word in words if len(word) > PREFIX}
    connection.execute("DELETE FROM words WHERE rowid = ?", (row,))
    insert = "INSERT INTO words (rowid, prompt, reply, files, commands, context, prefixes) VALUES (?, ?, ?, ?, ?, ?, ?)"
    connection.execute(insert, (row, *map(" ".join, fields), " ".join(sorted(prefixes))))


def _transcripts(
    paths: Paths, known: dict[str, Session], connection: Connection
) -> Iterator[tuple[str, str]]:
    """Yield the id and path of each transcript of this project, the oldest first; those of Codex lie among other projects' ones."""
    main = main_worktree(paths.project_root)
    for project in (Paths(main), paths) if main else (paths,):
        for path in project_transcripts(project):
            yield os.path.splitext(os.path.basename(path))[0], path
    home = home_folder()
    for folder, _, names in os.walk(os.path.join(home, ".codex", "sessions")) if home else ():
        for file in sorted(names):
            path, name = os.path.join(folder, file), file[-42:-6]  # its end is the session's id
            if not (file.startswith("rollout-") and file.endswith(".jsonl")):
                continue
            if name not in known and not _is_of_project(path, paths.project_root):
                _save_session(connection, Session(name, path, ELSEWHERE))
            elif name not in known or known[name].kind != ELSEWHERE:
                yield name, path


def _is_of_project(path: str, root: str) -> bool:
    """Return whether the first row of a rollout names a folder of this project."""
    try:
        with open_transcript(path) as file:
            head: Any = loads(file.readline(_MAX_HEAD).decode("utf-8", "replace"))
            folder = head["payload"]["cwd"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return isinstance(folder, str) and os.path.isabs(folder) and project_root(folder) == root


def _read(connection: Connection, name: str, path: str, known: Session | None, paths: Paths) -> None:
    """Add what is new in a transcript, from its last prompt on, or all of it if the file became shorter. Raises OSError."""
    status = os.stat(path)
    if known is not None and (
        known.kind == FORGOTTEN or (known.size, known.changed) == (status.st_size, status.st_mtime_ns)
    ):
        return
    kind = CODEX if os.path.basename(path).startswith("rollout-") else CLAUDE
    session = known if known is not None and known.size <= status.st_size else Session(name, path, kind)
    with open_transcript(path) as file:
        file.seek(session.offset)
        reader = Reader(file)
        drafts = list(read_exchanges(reader, paths.project_root))
    totals = reader.totals
    session = session._replace(
        path=path,
        size=status.st_size,
        changed=status.st_mtime_ns,
        title=_clean(totals.title, _MAX_TITLE) or session.title,
        branch=_clean(totals.branch, _MAX_TITLE) or session.branch,
        first=session.first or next((_clean(draft.text, _MAX_TITLE) for draft in drafts), ""),
    )
    _save_session(connection, session)
    written = iso(max(0.0, min(status.st_mtime, now())))
    for at, draft in enumerate(drafts):
        _save_exchange(connection, name, session.number + at + 1, draft, written)
    if drafts:
        number, offset = session.number + len(drafts) - 1, session.offset + drafts[-1].offset
        _save_session(connection, session._replace(number=number, offset=offset))


def _save_exchange(connection: Connection, session: str, number: int, draft: Draft, written: str) -> None:
    """Store an exchange, in place of an earlier state of it; not a copy of another session's, nor one that is left out.

    `written` is when the transcript was, for rows without a time.
    """
    when = draft.time or "%s:%d" % (session, number)
    mark = digest(("%s %s" % (when, draft.text)).encode("utf-8", "replace"), 12)
    before = connection.execute("SELECT session, id FROM exchanges WHERE mark = ?", (mark,)).fetchone()
    if before is not None and before[0] != session:
        return
    prompt = _clean(draft.text, _MAX_PROMPT)
    if not prompt or _is_left_out(draft):
        return
    reply = _clean(draft.reply, _MAX_REPLY, lines=True)
    kept = (
        list(draft.files)[:_MAX_LINES],
        list(draft.passed)[-_MAX_LINES:],
        list(draft.failed)[-_MAX_LINES:],
    )
    lines = ["\n".join(_clean(line, _MAX_LINE) for line in each) for each in kept]
    is_trivial = not any(lines) and len(reply) < _TRIVIAL_REPLY
    time = draft.time[:20] if _TIME.match(draft.time) else written
    facts = (before and before[1], mark, session, number, time, is_trivial)
    _store(connection, facts, [prompt, reply, *lines])


def _is_left_out(draft: Draft) -> bool:
    """Return whether an exchange only asked about the past, was a command of the client, or its prompt asked for no memory."""
    has_work = draft.files or draft.passed or draft.failed
    is_idle = not has_work and ((draft.is_command and not draft.reply) or may_ask(draft.text, 0.5))
    return is_idle or any(tag in draft.text.lower() for tag in words_data()["opt_out"])


def _clean(text: str, limit: int, *, lines: bool = False) -> str:
    """Return a text without private passages and secrets, then cut, and with `lines` still in lines."""
    text = without_private(text[: cut_before(text, _MAX_READ)])
    text = redact(block(text, _MAX_READ) if lines else plain(text, _MAX_READ), "inject").text
    return text if len(text) <= limit else text[: cut_before(text, limit)].rstrip()


def _delete(connection: Connection, session: str) -> None:
    """Delete the exchanges of a session."""
    rows = "DELETE FROM words WHERE rowid IN (SELECT id FROM exchanges WHERE session = ?)"
    connection.execute(rows, (session,))
    connection.execute("DELETE FROM exchanges WHERE session = ?", (session,))


def _drop_old(
    connection: Connection, known: dict[str, Session], found: set[str], days: int, paths: Paths
) -> None:
    """Delete the sessions whose transcript the user deleted, and those without one that are too old.

    A transcript that was younger than the client's own limit was deleted by the user.
    """
    cleanup = cleanup_days(paths)
    for name, session in known.items():
        if name in found or session.kind in (ELSEWHERE, FORGOTTEN) or os.path.lexists(session.path):
            continue
        age = (now() - session.changed / 1e9) / _DAY
        if age < cleanup or age > days:
            _delete(connection, name)
            connection.execute("DELETE FROM sessions WHERE session = ?", (name,))


def cleanup_days(paths: Paths) -> int:
    """Return after how many days the client deletes transcripts, by the user's settings."""
    days = read_state(os.path.join(paths.config_dir or "", "settings.json")).get("cleanupPeriodDays")
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else _CLEANUP_DAYS


def forget(paths: Paths, name: str, rules: int, wait: float) -> int:
    """Delete the sessions whose id begins with `name`, and keep them from being indexed again; return their number.

    Raises OSError and SqliteError.
    """
    path = index_path(paths)
    with FileLock(path + ".lock", wait):
        connection = _open_or_create(path, rules)
        try:
            return _forget(connection, name)
        finally:
            connection.close()


def _forget(connection: Connection, name: str) -> int:
    known = (Session(*row) for row in connection.execute("SELECT * FROM sessions").fetchall())
    chosen = [each for each in known if each.kind in (CLAUDE, CODEX) and each.session.startswith(name)]
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("BEGIN IMMEDIATE")
    for each in chosen:
        _delete(connection, each.session)
        _save_session(connection, Session(each.session, each.path, FORGOTTEN))
    connection.execute(
        "INSERT INTO words (words) VALUES ('optimize')"
    )  # its old segments would keep the words
    connection.execute("COMMIT")
    return len(chosen)
