"""The context that every handler and feature gets in addition to its own input, the time, and the ledgers.

All waits of a hook share one deadline, except short ones for locks. A ledger is an append-only file of JSON lines. Many processes may write
at once, and any of them may be killed in mid-write: each record is one locked write, and the next writer ends a line that was cut off. A
file that exceeds its limit is renamed to `NAME.1.jsonl`, and the oldest part is deleted. If the disk is full or read-only, the record is
lost and nothing else.
"""

from __future__ import annotations

import os
from time import gmtime, monotonic, strftime, time

from .. import VERSION
from .fastjson import dumps
from .files import FileLock, append_lines, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .paths import Paths
    from .settings import Settings

SCHEMA = 1
WAIT = 0.25
_PARTS = 3  # older ones


def now() -> float:
    """Return the seconds since 1970, UTC."""
    return time()


def iso(seconds: float) -> str:
    """Return a time in UTC with whole seconds (RFC 3339), such as `2026-03-01T08:00:00Z`; these texts sort by time."""
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds))


def now_iso() -> str:
    """Return the current time as `iso` formats it."""
    return iso(time())


class Deadline:
    """A point in time, passed to every call that may wait."""

    def __init__(self, seconds: float) -> None:
        self._start = monotonic()
        self._end = self._start + seconds

    def remaining(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self._end - monotonic())

    def elapsed_ms(self) -> float:
        """Return the milliseconds since the deadline was set, rounded to a tenth."""
        return round((monotonic() - self._start) * 1000, 1)

    def within(self, seconds: float) -> Deadline:
        """Return a deadline at most that many seconds from now, and never later than this one."""
        return Deadline(min(seconds, self.remaining()))


def days_ago(days: int) -> str:
    """Return the time that many days ago, in the format of ledgers."""
    return iso(now() - days * 86400)


class LedgerError(OSError):
    """Raised when a record could not be appended; the text names the ledger and the cause, and quotes nothing from the record."""


class Context:
    """The paths, settings, deadline and session of one hook event or command, passed down together.

    `session` is the host's id of the conversation; empty outside one.
    """

    def __init__(self, paths: Paths, settings: Settings, deadline: Deadline, session: str = "") -> None:
        self.paths = paths
        self.settings = settings
        self.deadline = deadline
        self.session = session

    def within(self, seconds: float) -> Context:
        """Return this context with a deadline at most `seconds` from now."""
        return Context(self.paths, self.settings, self.deadline.within(seconds), self.session)

    def append(self, ledger: str, record: dict[str, object]) -> None:
        """Append a record of this session and project to a ledger. Raises LedgerError, and RuntimeError without a state folder."""
        problem = Ledger(self.paths.state(), ledger).append(self.session, self.paths.project_key, record)
        if problem:
            raise LedgerError(problem)


class Ledger:
    """One ledger file and its older parts."""

    def __init__(self, folder: str, name: str, max_bytes: int = 5_000_000) -> None:
        self.folder = folder
        self.name = name
        self.max_bytes = max_bytes

    def path(self, part: int = 0) -> str:
        """Return the path of the current file, or of an older part (1 is the newest)."""
        return os.path.join(self.folder, self.name + (".%d" % part if part else "") + ".jsonl")

    def paths(self) -> list[str]:
        """Return the paths of its files, oldest first: `recalls.2.jsonl`, `recalls.1.jsonl`, `recalls.jsonl`."""
        return list(filter(os.path.lexists, map(self.path, range(_PARTS, -1, -1))))

    def append(self, session: str, project: str, fields: dict[str, object]) -> str | None:
        """Append one record; return None, or which error of the disk kept it from being written."""
        head = {"schema": SCHEMA, "time": now_iso(), "session": session, "project": project}
        line = dumps({**head, "version": VERSION, **fields}).encode("ascii") + b"\n"
        try:
            make_folder(self.folder)
            if append_lines(self.path(), line, wait=WAIT) > self.max_bytes:
                self._rotate()
        except OSError as error:
            return "%s: %s" % (self.name, error.strerror or error)
        return None

    def _rotate(self) -> None:
        """Rename the file and its older parts, unless another process just did; one that has it open appends to the renamed file.

        If it cannot be renamed, a later writer does it: on Windows no process may have it open.
        """
        try:
            with FileLock(os.path.join(self.folder, self.name + ".lock"), WAIT):
                if os.stat(self.path()).st_size > self.max_bytes:
                    for part in range(_PARTS, 0, -1):
                        if os.path.exists(self.path(part - 1)):
                            os.replace(self.path(part - 1), self.path(part))
        except OSError:
            return
