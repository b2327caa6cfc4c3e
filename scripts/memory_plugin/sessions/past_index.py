"""Fill the index of past sessions from transcripts: what is kept of each typed prompt and what came of it.

The index outlives the transcripts, which the client deletes after some weeks. Texts are redacted before they are cut and stored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import IO, Any, NamedTuple

from ..host import EDITORS
from ..kernel.context import iso, now
from ..kernel.fastjson import as_object, as_text, digest, load_object
from ..kernel.files import READ_WRITE, FileLock, make_folder, os_error_text
from ..kernel.hygiene import redact
from ..kernel.paths import Paths, home_folder, main_worktree, project_root, read_state
from ..kernel.sqlite import Connection, open_database
from ..kernel.text import cut_before, without_private
from ..kernel.text.clean import block, plain
from ..kernel.transcript import COMMAND as SLASH
from ..kernel.transcript import PROMPT
from ..kernel.transcript.reader import Reader, open_transcript
from ..kernel.transcript.turn import Call, Turn, UserText
from .detection import OWN_ERROR, failure_cause, pipeline_heads
from .past import SCHEMA, index_path, search_words
from .past_ask import may_ask, words_data
from .session_files import project_transcripts

_BEGIN = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS sessions (session PRIMARY KEY, path, kind, size, changed, offset, number, title, branch, first);
CREATE TABLE IF NOT EXISTS exchanges (
  id INTEGER PRIMARY KEY, mark UNIQUE, session, number, time, trivial, prompt, reply, files, passed, failed);
CREATE TABLE IF NOT EXISTS copies (mark, session, PRIMARY KEY (mark, session));
CREATE INDEX IF NOT EXISTS of_session ON exchanges (session, number);
CREATE INDEX IF NOT EXISTS times ON exchanges (time);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(prompt, reply, files, commands, context, tokenize=ascii);
CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5vocab(words, row);
CREATE VIRTUAL TABLE IF NOT EXISTS places USING fts5vocab(words, instance);
CREATE TRIGGER IF NOT EXISTS deleted AFTER DELETE ON exchanges BEGIN DELETE FROM words WHERE rowid = old.id; END;
"""
_TIME = re.compile(r"20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T[0-9]{2}:[0-9]{2}:[0-9]{2}")
CLAUDE, CODEX, LEFT_OUT = "claude", "codex", "left out"
_MAX_PROMPT, _MAX_REPLY, _MAX_LINE, _MAX_TITLE = 600, 1000, 200, 100  # characters
_MAX_READ = 20_000  # characters of a text that are redacted
_MAX_LINES = 12  # files or commands of an exchange
_TRIVIAL_REPLY = 80  # characters
_DAY = 86400.0
_CLEANUP_DAYS = 30  # after which the client deletes transcripts by default
_ROLLOUT = "rollout-"
_MAX_HEAD = 1 << 20  # bytes of a row that names a folder
_WAIT = 2.0  # seconds for a writer


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


class Draft:
    """An exchange while its turns are read; `finish` leaves only what is stored, so that memory stays bounded."""

    def __init__(self, typed: list[UserText], root: str) -> None:
        self.prompt = "\n".join(entry.text for entry in typed)
        self.mark = digest(self.prompt.encode("utf-8", "replace"), 12)
        self.offset = typed[0].offset
        self.time = typed[0].time
        self.reply = ""
        self.lines: tuple[dict[str, None], ...] = ({}, {}, {})  # edited files, passed and failed commands
        self.is_left_out = self.is_observed = False
        self._is_command = typed[0].kind == SLASH
        self._root = root + os.sep

    def add(self, turn: Turn) -> None:
        """Add a turn's last text, edited files and commands."""
        self.reply = turn.texts[-1][: 2 * _MAX_READ] if turn.texts else self.reply
        self.time = self.time or turn.time
        for call in (*turn.calls, *turn.late):
            if call.result is not None:
                self._add_call(call, failure_cause(call, turn.version))

    def _add_call(self, call: Call, cause: str) -> None:
        path, command = call.text("file_path") or call.text("notebook_path"), call.command
        files, passed, failed = self.lines
        if call.name in EDITORS and path and not cause:
            files[path.removeprefix(self._root)] = None
        if command and cause in ("", OWN_ERROR) and not _only_looks(command):
            kept = failed if cause else passed
            kept.pop(command, None)
            kept[command] = None

    def finish(self) -> Draft:
        """Redact and cut the texts; leave out an exchange that only asked about the past, or a prompt that asked for no memory."""
        is_idle = not any(self.lines) and ((self._is_command and not self.reply) or may_ask(self.prompt, 0.5))
        lowered = self.prompt.lower()
        self.is_left_out = is_idle or any(tag in lowered for tag in words_data()["opt_out"])
        self.is_observed = any(sign in lowered for sign in words_data()["observers"])
        self.prompt = _clean(self.prompt, _MAX_PROMPT)
        self.reply = _clean(self.reply, _MAX_REPLY, lines=True)
        files, passed, failed = self.lines
        kept = (list(files)[:_MAX_LINES], list(passed)[-_MAX_LINES:], list(failed)[-_MAX_LINES:])
        self.lines = tuple(dict.fromkeys(_clean(line, _MAX_LINE) for line in each) for each in kept)
        return self


def _typed(turn: Turn) -> list[UserText]:
    """Return the prompts before an answer, else the commands, such as "/compact"."""
    texts = [entry for entry in turn.user_texts if entry.text]
    prompts = [entry for entry in texts if entry.kind == PROMPT]
    return prompts or [entry for entry in texts if entry.kind == SLASH]


def _only_looks(command: str) -> bool:
    """Return whether a command only looks around."""
    data = words_data()
    return all(
        name in data["looks"] or (name == "git" and not data["git_looks"].isdisjoint(rest[:1]))
        for name, *rest in (head.words for head in pipeline_heads(command))
    )


def _clean(text: str, limit: int, *, lines: bool = False) -> str:
    """Return a text without private passages and secrets, then cut, and with `lines` still in lines."""
    text = without_private(text[: cut_before(text, _MAX_READ)])
    text = redact(block(text, _MAX_READ) if lines else plain(text, _MAX_READ), "inject").text
    return text if len(text) <= limit else text[: cut_before(text, limit)].rstrip()


def _drafts(reader: Reader, root: str) -> Iterator[Draft]:
    """Yield the exchanges of a transcript."""
    draft: Draft | None = None
    for turn in reader:
        typed = _typed(turn)
        if typed:
            if draft is not None:
                yield draft.finish()
            draft = Draft(typed, root)
        if draft is not None:
            draft.add(turn)
    if draft is not None:
        yield draft.finish()


@contextmanager
def _index(paths: Paths, rules: int, wait: float) -> Iterator[Connection]:
    """Open the index for writing, created if it is missing; texts that other rules redacted are redacted again.

    The caller begins transactions and commits them. Raises OSError, Busy among them, and SqliteError.
    """
    path = index_path(paths)
    make_folder(os.path.dirname(path))
    with FileLock(path + ".lock", wait):
        for schema in range(SCHEMA):  # of older versions, which would keep what the user has forgotten
            with suppress(FileNotFoundError):
                os.unlink(index_path(paths, schema))
        os.close(os.open(path, READ_WRITE, 0o600))
        with closing(open_database(path, _WAIT)) as connection:
            connection.execute("PRAGMA cache_spill = OFF")  # prompts can read until the commit
            connection.executescript(_BEGIN)
            if connection.execute("PRAGMA user_version").fetchone()[0] != rules:
                _redact_again(connection)
                connection.execute("PRAGMA user_version = %d" % rules)
            yield connection
            connection.execute("COMMIT")


def _redact_again(connection: Connection) -> None:
    """Redact all texts by the present rules; their transcripts may be gone."""
    for row in connection.execute("SELECT * FROM sessions").fetchall():
        _save_session(connection, Session(*row[:7], *(redact(text, "inject").text for text in row[7:])))
    for row in connection.execute("SELECT * FROM exchanges").fetchall():
        _store(connection, row[:6], [redact(text, "inject").text for text in row[6:]])


def refresh(paths: Paths, days: int, rules: int, wait: float = 0.0) -> list[str]:
    """Bring the index up to date with the transcripts on disk; return a line for each that cannot be read.

    `days` is how long sessions are kept without a transcript, `rules` names the present rules of redaction. Another process that writes is
    awaited for `wait` seconds. Raises OSError, Busy among them, and SqliteError.
    """
    problems = []
    with _index(paths, rules, wait) as connection:
        known = {row[0]: Session(*row) for row in connection.execute("SELECT * FROM sessions")}
        found = dict(_transcripts(paths))
        for name, file in found.items():
            try:
                _read(connection, name, file, known.get(name), paths)
            except OSError as error:
                problems.append("session %s cannot be read: %s" % (name[:8], os_error_text(error)))
        _drop_old(connection, [known[name] for name in known.keys() - found.keys()], days, paths)
    return problems


def _save_session(connection: Connection, session: Session) -> None:
    connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", session)


def _store(connection: Connection, facts: tuple[Any, ...], texts: list[str]) -> None:
    """Store an exchange and its words; `facts` are id (or None), mark, session, number, time and whether it is trivial."""
    insert = "INSERT OR REPLACE INTO exchanges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    row = connection.execute(insert, (*facts, *texts)).lastrowid
    select = "SELECT first || '\n' || branch || '\n' || title FROM sessions WHERE session = ?"
    (context,) = connection.execute(select, facts[2:3]).fetchone()
    prompt, reply, files, passed, failed = texts
    fields = [" ".join(search_words(one)) for one in (prompt, reply, files, passed + "\n" + failed, context)]
    insert = "INSERT OR REPLACE INTO words (rowid, prompt, reply, files, commands, context) VALUES (?, ?, ?, ?, ?, ?)"
    connection.execute(insert, (row, *fields))


def _transcripts(paths: Paths) -> Iterator[tuple[str, str]]:
    """Yield the id and path of each transcript of this project, the oldest first, and of Codex those of all projects."""
    main = main_worktree(paths.project_root)
    for project in (Paths(main), paths) if main else (paths,):
        for path in project_transcripts(project):
            yield os.path.splitext(os.path.basename(path))[0], path
    home = home_folder()
    for folder, _, names in os.walk(os.path.join(home, ".codex", "sessions")) if home else ():
        for name in sorted(names):
            if name.startswith(_ROLLOUT) and name.endswith(".jsonl"):
                yield name[-42:-6], os.path.join(folder, name)  # its end is the session's id


def _is_of_project(file: IO[bytes], kind: str, root: str) -> bool:
    """Return whether the first row that names a folder names one of this project.

    Claude Code keeps projects whose paths differ only in marks, such as `my-app` and `my_app`, in one folder; one that is gone was moved.
    """
    while line := file.readline(_MAX_HEAD):
        row = load_object(line, "replace") or {}
        folder = as_text(row.get("cwd") or as_object(row.get("payload")).get("cwd"))
        if os.path.isabs(folder):
            was_moved = kind == CLAUDE and not os.path.isdir(folder)
            return was_moved or project_root(folder) in (root, main_worktree(root))
    return kind == CLAUDE


def _read(connection: Connection, name: str, path: str, known: Session | None, paths: Paths) -> None:
    """Add what is new in a transcript, from its last prompt on, or all of it if the file became shorter. Raises OSError."""
    status = os.stat(path)
    is_same = known is not None and (known.size, known.changed) == (status.st_size, status.st_mtime_ns)
    if is_same or (known is not None and known.kind == LEFT_OUT):
        return
    kind = CODEX if os.path.basename(path).startswith(_ROLLOUT) else CLAUDE
    session = known if known is not None and known.size <= status.st_size else Session(name, path, kind)
    with open_transcript(path) as file:
        is_left_out = not session.size and not _is_of_project(file, kind, paths.project_root)
        file.seek(session.offset)
        reader = Reader(file)
        drafts = [] if is_left_out else list(_drafts(reader, paths.project_root))
    if is_left_out or any(draft.is_observed for draft in drafts):  # by a plugin that looks on
        _save_session(connection, Session(name, path, LEFT_OUT))
        return
    number, offset = session.number, session.offset
    kept = (draft.prompt for draft in drafts if draft.prompt and not draft.is_left_out)
    if drafts and session.size:  # a prompt that was typed while Claude worked may have joined the last one
        _delete(connection, name, after=number)
    session = session._replace(
        path=path,
        size=status.st_size,
        changed=status.st_mtime_ns,
        number=number + max(0, len(drafts) - 1),
        offset=offset + (drafts[-1].offset if drafts else 0),
        title=_clean(reader.totals.title, _MAX_TITLE) or session.title,
        branch=_clean(reader.totals.branch, _MAX_TITLE) or session.branch,
        first=session.first or _clean(next(kept, ""), _MAX_TITLE),
    )
    _save_session(connection, session)
    written = iso(max(0.0, min(status.st_mtime, now())))  # for rows without a time
    for at, draft in enumerate(drafts, number + 1):
        if draft.prompt and not draft.is_left_out:
            _save_exchange(connection, name, at, draft, written)


def _save_exchange(connection: Connection, session: str, number: int, draft: Draft, written: str) -> None:
    """Store an exchange; a copy of another session's, such as in a fork, is only noted."""
    mark = "%s %s" % (draft.time or "%s:%d" % (session, number), draft.mark)
    if connection.execute("SELECT 1 FROM exchanges WHERE mark = ?", (mark,)).fetchone():
        connection.execute("INSERT OR IGNORE INTO copies VALUES (?, ?)", (mark, session))
        return
    lines = ["\n".join(each) for each in draft.lines]
    is_trivial = not any(lines) and len(draft.reply) < _TRIVIAL_REPLY
    time = draft.time[:20] if _TIME.match(draft.time) else written
    _store(connection, (None, mark, session, number, time, is_trivial), [draft.prompt, draft.reply, *lines])


def _delete(connection: Connection, session: str, after: int = 0) -> None:
    """Delete the exchanges of a session after the one with this number."""
    connection.execute("DELETE FROM exchanges WHERE session = ? AND number > ?", (session, after))


def _drop_old(connection: Connection, missing: list[Session], days: int, paths: Paths) -> None:
    """Delete the sessions whose transcript the user deleted, and those without one that are too old.

    A transcript that was younger than the client's own limit was deleted by the user.
    """
    cleanup = cleanup_days(paths)
    for session in missing:
        age = (now() - session.changed / 1e9) / _DAY
        is_kept = session.kind == LEFT_OUT or os.path.lexists(session.path)
        if not is_kept and (age < cleanup or age > days):
            _delete(connection, session.session)
            connection.execute("DELETE FROM sessions WHERE session = ?", (session.session,))


def cleanup_days(paths: Paths) -> int:
    """Return after how many days the client deletes transcripts, by the user's settings."""
    days = read_state(os.path.join(paths.config_dir or "", "settings.json")).get("cleanupPeriodDays")
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else _CLEANUP_DAYS


def forget(paths: Paths, name: str, rules: int, wait: float) -> int:
    """Delete the sessions whose id begins with `name`, and keep them from being indexed again; return their number.

    Raises OSError and SqliteError.
    """
    with _index(paths, rules, wait) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        known = (Session(*row) for row in connection.execute("SELECT * FROM sessions").fetchall())
        chosen = [each for each in known if each.kind != LEFT_OUT and each.session.startswith(name)]
        for each in chosen:
            _delete(connection, each.session)
            _save_session(connection, Session(each.session, each.path, LEFT_OUT))
        # Its old segments would keep the words.
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    return len(chosen)
