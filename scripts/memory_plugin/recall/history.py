"""The history of a session: which memories were injected where, so that each place stays within its limits.

A place is an occasion on which the plugin adds to Claude's context: `prompt`, `catalog`, `tool`, `failure`, `subagent` or `guard`. The
history is an append-only file of JSON lines, because the hooks of parallel tool calls write it at the same time. A hook that must not
repeat what a parallel one is adding decides inside `with history:`, under a lock. The wait for the lock is short and ends with Busy; the
hook then adds nothing, because repeating a memory is worse than omitting it. If a row cannot be appended, its memory may be repeated.
"""

from __future__ import annotations

import errno
import os

from ..kernel.fastjson import digest, dumps, loads
from ..kernel.files import APPEND, FileLock, make_folder, read_regular, remove_file, require_regular
from ..kernel.paths import session_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Paths
    from ..kernel.settings import Settings

PROMPT, CATALOG, TOOL, FAILURE = "prompt", "catalog", "tool", "failure"
SUBAGENT, GUARD = "subagent", "guard"
_MAX_BYTES = 4 << 20  # tens of thousands of records
_REPEAT_AFTER = 40  # turns
FOREVER = 1 << 30  # turns
_LOCK_WAIT = 0.05  # seconds; a hook holds the lock for a few milliseconds


def forget_session(paths: Paths, session: str) -> None:
    """Delete the history of a session whose context was compacted or cleared; sub-agents keep theirs, because each has its own context.

    Raises OSError, but not for a session without a history.
    """
    remove_file(session_file(paths, session))


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

    def __init__(
        self, paths: Paths, session: str, place: str = PROMPT, agent: str = "", wait: float = _LOCK_WAIT
    ) -> None:
        """`wait`: seconds for the lock."""
        self._place = place
        self._wait = wait
        self._lock: FileLock | None = None
        self._path = ""
        if session:
            self._path = session_file(paths, session, "agent-" + _digest(agent) if agent else "")
        self._read()

    def _read(self) -> None:
        """Read the history from scratch; damaged or incomplete lines are skipped."""
        self._injected: dict[str, tuple[str, int]] = {}
        self._pointed: dict[str, tuple[str, int]] = {}
        self._counts: dict[str, list[int]] = {}
        self._unsaved: dict[str, dict[str, str]] = {"injected": {}, "pointed": {}}
        self._has_rows = False
        self.has_header = False
        self.turn = 0
        try:
            content = read_regular(self._path, _MAX_BYTES)[0] if self._path else b""
        except OSError:
            content = b""
        for line in content.split(b"\n"):
            try:
                row = loads(line.decode("utf-8"))
            except ValueError:
                continue
            if isinstance(row, dict):
                self._read_row(row)
        if self._place == PROMPT:
            self.turn += 1

    def _read_row(self, row: dict[str, object]) -> None:
        place, injected, pointed = row.get("place"), row.get("injected", {}), row.get("pointed", {})
        if not isinstance(place, str) or not isinstance(injected, dict) or not isinstance(pointed, dict):
            return
        self._has_rows = True
        self.turn += place == PROMPT
        self.has_header = self.has_header or "header" in row
        self._injected.update((key, (text, self.turn)) for key, text in injected.items())
        self._pointed.update((key, (line, self.turn)) for key, line in pointed.items())
        self._count(place, len(injected), len(pointed))

    def _count(self, place: str, injected: int, pointed: int) -> None:
        counts = self._counts.setdefault(place, [0, 0])
        counts[0] += injected
        counts[1] += pointed

    def was_injected(self, key: str, text: str, repeat_after: int = _REPEAT_AFTER) -> bool:
        """Return whether exactly this text of a memory was injected at any place fewer than `repeat_after` turns ago."""
        digest, turn = self._injected.get(_digest(key), ("", 0))
        return digest == _digest(text) and self.turn - turn < repeat_after

    def was_pointed(self, key: str, line: str, repeat_after: int = FOREVER) -> bool:
        """Return whether exactly this line was injected as a pointer to a memory at any place fewer than `repeat_after` turns ago."""
        digest, turn = self._pointed.get(_digest(key), ("", 0))
        return digest == _digest(line) and self.turn - turn < repeat_after

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
        self._pointed[_digest(key)] = (_digest(line), self.turn)
        self._unsaved["pointed"][_digest(key)] = _digest(line)
        self._count(self._place, 0, 1)

    def save(self) -> None:
        """Append what was recorded; if there is a history, a prompt is a turn even without entries. Raises OSError, including Busy."""
        is_turn = self._has_rows and self._place == PROMPT
        if not self._path or not (any(self._unsaved.values()) or is_turn):
            return
        if self._lock is not None:
            self._append()
        else:
            with self._new_lock():
                self._append()

    def _new_lock(self) -> FileLock:
        make_folder(os.path.dirname(self._path))
        return FileLock(self._path, self._wait)

    def _append(self) -> None:
        """Append one row. The line feed comes first, to end a row that was cut off."""
        row: dict[str, object] = {"place": self._place}
        if self.has_header:
            row["header"] = True
        row.update((name, value) for name, value in self._unsaved.items() if value)
        line = b"\n" + dumps(row).encode("ascii")
        handle = os.open(self._path, APPEND, 0o600)
        try:
            require_regular(handle)
            # A larger file is not read, so a guard would deny every call.
            if os.fstat(handle).st_size + len(line) > _MAX_BYTES:
                os.ftruncate(handle, 0)
            if os.write(handle, line) != len(line):
                raise OSError(errno.ENOSPC, "disk full")
        finally:
            os.close(handle)
        self._has_rows = True
        self._unsaved = {"injected": {}, "pointed": {}}

    def __enter__(self) -> RecallHistory:  # noqa: PYI034 - `Self` would cost a hook an import
        """Lock the history and read it again. Raises OSError, including Busy."""
        if self._path:
            lock = self._new_lock()
            lock.__enter__()
            self._lock = lock
            self._read()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Append what was recorded, unless an exception was raised, and release the lock. Raises OSError."""
        try:
            if kind is None:
                self.save()
        finally:
            if self._lock is not None:
                self._lock.__exit__()
                self._lock = None


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "replace"), 8)
