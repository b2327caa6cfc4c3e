"""The history of a session: which memories Claude was told and where, so that nothing is repeated and the limits of each place hold.

A place is one of the occasions on which the plugin adds to Claude's context: `prompt`, `catalog`, `tool`, `failure`, `subagent` or `guard`.
The history is an append-only file of JSON lines, because the hooks of parallel tool calls write it at the same time. A hook that must not
repeat what a parallel one is adding decides inside `with history:`, under a lock. The wait for the lock is short and ends with Busy; the
hook then adds nothing, because repeating a memory is worse than omitting it. A row that cannot be appended is lost, and its memory may be
repeated.
"""

from __future__ import annotations

import errno
import os
import stat as modes

from ..kernel.fastjson import digest, dumps, loads
from ..kernel.files import BINARY, make_folder, read_regular
from ..kernel.locks import lock_handle
from ..kernel.state_file import session_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from ..kernel.paths import Paths
    from ..kernel.settings.load import Settings

__all__ = [
    "CATALOG",
    "FAILURE",
    "GUARD",
    "PROMPT",
    "SUBAGENT",
    "TOOL",
    "RecallHistory",
    "forget_session",
    "remaining_for_tools",
]

PROMPT, CATALOG, TOOL, FAILURE = "prompt", "catalog", "tool", "failure"
SUBAGENT, GUARD = "subagent", "guard"
_MAX_BYTES = 4 << 20  # tens of thousands of records; a larger file starts again
_LOCK_WAIT = 0.05  # seconds; a hook holds the lock for a few milliseconds
_OPEN = (
    os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)


def forget_session(paths: Paths, session: str) -> None:
    """Delete the history of a session whose context was compacted or cleared. Its sub-agents keep theirs: each has its own context.

    Raises OSError, but not for a session without a record.
    """
    try:
        os.unlink(session_file(paths, session))
    except FileNotFoundError:
        return


def remaining_for_tools(history: RecallHistory, settings: Settings) -> int:
    """Return how many memories tool calls may still inject or point to in this session; 0 if that is switched off."""
    if not (settings.flag("retrieval.enabled") and settings.flag("retrieval.tool.enabled")):
        return 0
    return max(
        0, settings.integer("retrieval.tool.max_per_session") - sum(history.injected_counts(TOOL, FAILURE))
    )


class RecallHistory:
    """The history of one session, as one place reads and extends it.

    A turn is a prompt that was looked up since the record began; what another place says belongs to the turn of the last prompt. Keys and
    texts are kept as digests only. A session without an id has no record, so it knows nothing and counts nothing. `agent` is the client's
    id of a sub-agent: what one is told reaches no other context, so each has a record of its own.
    """

    __slots__ = (
        "_counts",
        "_handle",
        "_has_rows",
        "_injected",
        "_path",
        "_place",
        "_pointed",
        "_said",
        "header_said",
        "turn",
    )

    def __init__(self, paths: Paths, session: str, place: str = PROMPT, agent: str = "") -> None:
        self._place = place
        self._handle = -1
        self._path = ""
        if session:
            part = "agent-" + _digest(agent) if agent else ""
            self._path = session_file(paths, session, part)
        self._read(self._content())

    def _content(self) -> bytes:
        try:
            return read_regular(self._path, _MAX_BYTES)[0] if self._path else b""
        except OSError:
            return b""

    def _read(self, content: bytes) -> None:
        """Read the history from scratch; damaged or incomplete lines are skipped."""
        self._injected: dict[str, tuple[str, int]] = {}
        self._pointed: dict[str, str] = {}
        self._counts: dict[str, list[int]] = {}
        self._said: dict[str, dict[str, str]] = {"injected": {}, "pointed": {}}
        self._has_rows = False
        self.header_said = False
        self.turn = 0
        for line in content.split(b"\n"):
            if line:
                self._read_row(line)
        if self._place == PROMPT:
            self.turn += 1

    def _read_row(self, line: bytes) -> None:
        try:
            row = loads(line.decode("utf-8"))
        except ValueError:
            return
        if not isinstance(row, dict) or not isinstance(place := row.get("place"), str):
            return
        self._has_rows = True
        self.turn += place == PROMPT
        self.header_said = self.header_said or row.get("header") is True
        injected, pointed = _texts(row.get("injected")), _texts(row.get("pointed"))
        self._injected.update((key, (text, self.turn)) for key, text in injected.items())
        self._pointed.update(pointed)
        self._count(place, len(injected), len(pointed))

    def _count(self, place: str, injected: int, pointed: int) -> None:
        counts = self._counts.setdefault(place, [0, 0])
        counts[0] += injected
        counts[1] += pointed

    def was_injected(self, key: str, text: str, repeat_after: int) -> bool:
        """Return whether exactly this text of a memory was injected at any place fewer than `repeat_after` turns ago."""
        digest, turn = self._injected.get(_digest(key), ("", 0))
        return digest == _digest(text) and self.turn - turn < repeat_after

    def was_pointed(self, key: str, line: str) -> bool:
        """Return whether exactly this line was given as a pointer to a memory at any place."""
        return self._pointed.get(_digest(key)) == _digest(line)

    def injected_counts(self, *places: str) -> tuple[int, int]:
        """Return how many full texts and how many pointers these places gave in this session, for their common limit."""
        found = [self._counts.get(place, (0, 0)) for place in places]
        return sum(counts[0] for counts in found), sum(counts[1] for counts in found)

    def note_injected(self, key: str, text: str) -> None:
        """Record that a memory is injected now, at this history's place."""
        self._injected[_digest(key)] = (_digest(text), self.turn)
        self._said["injected"][_digest(key)] = _digest(text)
        self._count(self._place, 1, 0)

    def note_pointed(self, key: str, line: str) -> None:
        """Record that a pointer to a memory is given now, at this history's place."""
        self._pointed[_digest(key)] = _digest(line)
        self._said["pointed"][_digest(key)] = _digest(line)
        self._count(self._place, 0, 1)

    def save(self) -> None:
        """Append what was recorded; a prompt in a session with a history is a turn even without entries. Raises OSError, including Busy."""
        if not self._path or not self._is_worth_a_row():
            return
        if self._handle >= 0:
            self._append()
            return
        self._open()
        try:
            self._append()
        finally:
            self._close()

    def __enter__(self) -> RecallHistory:  # noqa: PYI034 - `Self` would cost a hook an import
        """Lock the history and read it again. Raises Busy after 50 ms, and OSError."""
        if self._path:
            self._open()
            try:
                self._read(self._locked_content())
            except BaseException:
                self._close()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Append what was recorded, unless an exception was raised, and release the lock. Raises OSError."""
        try:
            if kind is None:
                self.save()
        finally:
            self._close()

    def _is_worth_a_row(self) -> bool:
        if self._said["injected"] or self._said["pointed"]:
            return True
        return self._has_rows and self._place == PROMPT

    def _open(self) -> None:
        make_folder(os.path.dirname(self._path))
        handle = os.open(self._path, _OPEN, 0o600)
        try:
            _refuse_odd(handle)
            lock_handle(handle, _LOCK_WAIT)
            if os.fstat(handle).st_size > _MAX_BYTES:
                os.ftruncate(handle, 0)
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle

    def _close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _locked_content(self) -> bytes:
        os.lseek(self._handle, 0, os.SEEK_SET)
        parts = []
        while part := os.read(self._handle, 1 << 20):
            parts.append(part)
        return b"".join(parts)

    def _append(self) -> None:
        """Append one row. Its line end comes first, so that it also ends a row that was cut off."""
        row: dict[str, object] = {"place": self._place}
        if self.header_said:
            row["header"] = True
        row.update((name, value) for name, value in self._said.items() if value)
        line = b"\n" + dumps(row).encode("ascii")
        if os.write(self._handle, line) != len(line):
            raise OSError(errno.ENOSPC, "disk full")
        self._has_rows = True
        self._said = {"injected": {}, "pointed": {}}


def _refuse_odd(handle: int) -> None:
    if not modes.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def _texts(value: object) -> dict[str, str]:
    return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "replace"), 8)
