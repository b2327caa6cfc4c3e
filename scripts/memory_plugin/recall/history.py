"""The history of a session: which memories were injected where, so that each place stays within its limits; and the feedback on memories.

A place is an occasion on which the plugin adds to Claude's context: `prompt`, `catalog`, `tool`, `failure`, `subagent` or `guard`. The
history is an append-only file of JSON lines, because the hooks of parallel tool calls write it at the same time. A hook that must not
repeat what a parallel one is adding decides inside `with history:`, under a lock. The wait for the lock is short and ends with Busy; the
hook then adds nothing, because repeating a memory is worse than omitting it. If a row cannot be appended, its memory may be repeated.

Feedback is the users' ratings, and which memories replies used. A rating moves a memory's own threshold within bounds: down if it was
useful, up if it was wrong. It does not affect guards and the session catalog, which have no threshold. It can be reset.
"""

from __future__ import annotations

import os

from ..kernel.fastjson import as_integer, as_object, digest, dumps, load_object
from ..kernel.files import FileLock, append_lines, make_folder, read_regular, remove_file
from ..kernel.paths import Paths, read_state, read_to_change, session_file, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.settings import Settings

PROMPT, CATALOG, TOOL, FAILURE = "prompt", "catalog", "tool", "failure"
SUBAGENT, GUARD = "subagent", "guard"
_MAX_BYTES = 4 << 20  # tens of thousands of records
_REPEAT_AFTER = 40  # turns
FOREVER = 1 << 30  # turns
_LOCK_WAIT = 0.05  # seconds; a hook holds the lock for a few milliseconds

USED, USEFUL, WRONG = "used", "useful", "wrong"
# At the default thresholds, two "useful" raise a memory from a pointer to its full text. One "wrong" outweighs one "useful", because an
# irrelevant text costs trust, and a missing one only a search.
_USEFUL_STEP = 0.1
_WRONG_STEP = 0.15
_MIN_SHIFT, _MAX_SHIFT = -0.2, 0.45
_USER_SCOPE = "user:"
_MAX_FEEDBACK_BYTES = 4 << 20
_MAX_ENTRIES = 20_000
_SCHEMA = 1
_FEEDBACK_FILE = "feedback.json"


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
            row = load_object(line)
            if row is not None:
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
        """Append one row."""
        row: dict[str, object] = {"place": self._place}
        if self.has_header:
            row["header"] = True
        row.update((name, value) for name, value in self._unsaved.items() if value)
        line = dumps(row).encode("ascii") + b"\n"
        # A larger file is not read, so a guard would deny every call.
        if append_lines(self._path, line) > _MAX_BYTES:
            os.truncate(self._path, 0)
            append_lines(self._path, line)
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


class Feedback:
    """The feedback on the memories of one project and of the user; memories are identified only by digests of their keys."""

    def __init__(self, paths: Paths) -> None:
        """Read the file; a missing or damaged one counts as empty."""
        self._project = paths.project_key
        self._entries = _entries(read_state(paths.state(_FEEDBACK_FILE), _MAX_FEEDBACK_BYTES))

    def shift(self, key: str) -> float:
        """Return the shift of a memory's thresholds against the settings, from -0.2 to 0.45; 0 without feedback."""
        counts = self.counts(key)
        shift = _WRONG_STEP * counts[WRONG] - _USEFUL_STEP * counts[USEFUL]
        return max(_MIN_SHIFT, min(_MAX_SHIFT, shift))

    def counts(self, key: str) -> dict[str, int]:
        """Return how often users called a memory useful or wrong, and how many replies used it."""
        entry = self._entries.get(_entry_key(self._project, key), {})
        return {name: _count(entry, name) for name in (USEFUL, WRONG, USED)}


def record_feedback(paths: Paths, keys: Iterable[str], kind: str) -> None:
    """Add one to the USED, USEFUL or WRONG count of each memory. Raises OSError, and Busy if another process holds the file."""
    with paths.lock("feedback"):
        entries = _entries(read_to_change(paths.state(_FEEDBACK_FILE), _MAX_FEEDBACK_BYTES))
        for key in keys:
            mark = _entry_key(paths.project_key, key)
            entry = entries[mark] = entries.pop(mark, {})  # the last changed goes to the end
            entry[kind] = _count(entry, kind) + 1
        _write(paths, entries)


def reset_feedback(paths: Paths, keys: Iterable[str] | None) -> int:
    """Delete the feedback on some memories (None: on all, of every project); return how many had any. Raises OSError and Busy."""
    with paths.lock("feedback"):
        entries = _entries(read_to_change(paths.state(_FEEDBACK_FILE), _MAX_FEEDBACK_BYTES))
        marks = list(entries) if keys is None else [_entry_key(paths.project_key, key) for key in keys]
        deleted = [mark for mark in marks if entries.pop(mark, None) is not None]
        if deleted:
            _write(paths, entries)
    return len(deleted)


def _entry_key(project: str, key: str) -> str:
    """Return the digest that identifies a memory, so that no title is stored; a user-scope memory has the same in all projects."""
    name = key if key.startswith(_USER_SCOPE) else project + "\0" + key
    return _digest(name)


def _entries(data: dict[str, object]) -> dict[str, dict[str, object]]:
    memories = as_object(data.get("memories"))
    return {mark: entry for mark, entry in memories.items() if isinstance(entry, dict)}


def _count(entry: dict[str, object], kind: str) -> int:
    return max(0, as_integer(entry.get(kind)) or 0)


def _write(paths: Paths, entries: dict[str, dict[str, object]]) -> None:
    newest = dict(list(entries.items())[-_MAX_ENTRIES:])
    write_state(paths.state(_FEEDBACK_FILE), {"schema": _SCHEMA, "memories": newest}, durable=True)
