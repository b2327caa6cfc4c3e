"""The answer at one place, and the history of a session: which memories were injected where, so that each place stays within its limits.

A place is an occasion on which the plugin adds to Claude's context: `prompt`, `catalog`, `tool`, `failure`, `subagent` or `guard`. The
history is an append-only file of JSON lines, because the hooks of parallel tool calls write it at the same time. A hook that must not
repeat what a parallel one is adding decides inside `with history:`, under a lock. The wait for the lock is short and ends with Busy; the
hook then adds nothing, because repeating a memory is worse than omitting it. If a row cannot be appended, its memory may be repeated.
"""

from __future__ import annotations

import errno
import os
import stat as modes

from ..kernel.data import session_file
from ..kernel.fastjson import digest, dumps, loads
from ..kernel.files import BINARY, make_folder, read_regular
from ..kernel.locks import lock_handle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from ..kernel.paths import Paths
    from ..kernel.settings.values import Settings

PROMPT, CATALOG, TOOL, FAILURE = "prompt", "catalog", "tool", "failure"
SUBAGENT, GUARD = "subagent", "guard"
_MAX_BYTES = 4 << 20  # tens of thousands of records; a larger file is truncated
_REPEAT_AFTER = 40  # turns
_LOCK_WAIT = 0.05  # seconds; a hook holds the lock for a few milliseconds
_OPEN = (
    os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)


class Answer:
    """What recall answers at one place: a text for Claude, two lines for the user, and the record of the decision; all texts may be empty.

    `receipt` says what was injected, `notice` something about the judges. `needs_refresh` asks for a background process that brings the
    index up to date. Until a decision is recorded, the record says that a fault prevented it.
    """

    __slots__ = ("block", "needs_refresh", "notice", "receipt", "record")

    def __init__(self, place: str, **facts: object) -> None:
        """`facts` are added to the record."""
        self.block = ""
        self.notice = ""
        self.receipt = ""
        self.needs_refresh = False
        self.record: dict[str, Any] = {
            "place": place,
            "outcome": "failed",
            "reason": "fault",
            "answered_by": "rules",
            "candidates": [],
            "injected": [],
            "pointed": [],
            **facts,
        }

    def withhold(self, reason: str, outcome: str = "silent") -> Answer:
        """Record that nothing is injected, and the reason; return this answer."""
        self.record.update(outcome=outcome, reason=reason)
        return self


def forget_session(paths: Paths, session: str) -> None:
    """Delete the history of a session whose context was compacted or cleared; sub-agents keep theirs, because each has its own context.

    Raises OSError, but not for a session without a history.
    """
    try:
        os.unlink(session_file(paths, session))
    except FileNotFoundError:
        return


def remaining_for_tools(history: RecallHistory, settings: Settings) -> int:
    """Return how many memories tool calls may still inject or point to in this session; 0 if that is switched off."""
    if not settings.flag("retrieval.enabled"):
        return 0
    used = sum(history.injected_counts(TOOL, FAILURE))
    return max(0, settings.integer("retrieval.tool.max_per_session") - used)


class RecallHistory:
    """The history of one session, read and extended by one place.

    A turn is a prompt that was looked up since the history began; injections at other places belong to the turn of the last prompt. Keys
    and texts are stored only as digests. A session without an id has no history. `agent` is the client's id of a sub-agent, which has its
    own history, because it has its own context.
    """

    __slots__ = (
        "_counts",
        "_handle",
        "_has_rows",
        "_injected",
        "_path",
        "_place",
        "_pointed",
        "_unsaved",
        "has_header",
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
        self._unsaved: dict[str, dict[str, str]] = {"injected": {}, "pointed": {}}
        self._has_rows = False
        self.has_header = False
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
        self.has_header = self.has_header or row.get("header") is True
        injected, pointed = _texts(row.get("injected")), _texts(row.get("pointed"))
        self._injected.update((key, (text, self.turn)) for key, text in injected.items())
        self._pointed.update(pointed)
        self._count(place, len(injected), len(pointed))

    def _count(self, place: str, injected: int, pointed: int) -> None:
        counts = self._counts.setdefault(place, [0, 0])
        counts[0] += injected
        counts[1] += pointed

    def was_injected(self, key: str, text: str, repeat_after: int = _REPEAT_AFTER) -> bool:
        """Return whether exactly this text of a memory was injected at any place fewer than `repeat_after` turns ago."""
        digest, turn = self._injected.get(_digest(key), ("", 0))
        return digest == _digest(text) and self.turn - turn < repeat_after

    def was_pointed(self, key: str, line: str) -> bool:
        """Return whether exactly this line was injected as a pointer to a memory at any place."""
        return self._pointed.get(_digest(key)) == _digest(line)

    def injected_counts(self, *places: str) -> tuple[int, int]:
        """Return how many full texts and how many pointers these places injected in this session, for their common limit."""
        counts = [self._counts.get(place, (0, 0)) for place in places]
        return sum(full for full, _ in counts), sum(pointers for _, pointers in counts)

    def record_injected(self, key: str, text: str) -> None:
        """Record that a memory is injected now at this place."""
        self._injected[_digest(key)] = (_digest(text), self.turn)
        self._unsaved["injected"][_digest(key)] = _digest(text)
        self._count(self._place, 1, 0)

    def record_pointer(self, key: str, line: str) -> None:
        """Record that a pointer to a memory is injected now at this place."""
        self._pointed[_digest(key)] = _digest(line)
        self._unsaved["pointed"][_digest(key)] = _digest(line)
        self._count(self._place, 0, 1)

    def save(self) -> None:
        """Append what was recorded; if there is a history, a prompt is a turn even without entries. Raises OSError, including Busy."""
        if not self._path or not self._needs_row():
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

    def _needs_row(self) -> bool:
        if self._unsaved["injected"] or self._unsaved["pointed"]:
            return True
        return self._has_rows and self._place == PROMPT

    def _open(self) -> None:
        make_folder(os.path.dirname(self._path))
        handle = os.open(self._path, _OPEN, 0o600)
        try:
            _require_regular_file(handle)
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
        """Append one row. The line feed comes first, to end a row that was cut off."""
        row: dict[str, object] = {"place": self._place}
        if self.has_header:
            row["header"] = True
        row.update((name, value) for name, value in self._unsaved.items() if value)
        line = b"\n" + dumps(row).encode("ascii")
        if os.write(self._handle, line) != len(line):
            raise OSError(errno.ENOSPC, "disk full")
        self._has_rows = True
        self._unsaved = {"injected": {}, "pointed": {}}


def _require_regular_file(handle: int) -> None:
    if not modes.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def _texts(value: object) -> dict[str, str]:
    return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "replace"), 8)
