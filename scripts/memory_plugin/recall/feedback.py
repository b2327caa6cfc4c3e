"""Store the ratings of memories, and which ones replies used, in `feedback.json`.

Feedback moves a memory's own threshold within bounds: down if it was useful, up if it was wrong. It does not affect guards and the
session catalog, which have no threshold. It can be reset.
"""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.data import read_state, write_state
from ..kernel.fastjson import as_integer, digest, loads
from ..kernel.files import make_folder, read_regular
from ..kernel.locks import FileLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..kernel.paths import Paths

USED, USEFUL, WRONG = "used", "useful", "wrong"
# At the default thresholds, two "useful" raise a memory from a pointer to its full text. One "wrong" outweighs one "useful", because an
# irrelevant text costs trust, and a missing one only a search.
_USEFUL_STEP = 0.1
_WRONG_STEP = 0.15
_MIN_SHIFT, _MAX_SHIFT = -0.2, 0.45
_USER_SCOPE = "user:"
_MAX_BYTES = 4 << 20
_MAX_ENTRIES = 20_000
_LOCK_WAIT = 2.0
_SCHEMA = 1


class Feedback:
    """The feedback on the memories of one project and of the user; memories are identified only by digests of their keys."""

    __slots__ = ("_entries", "_project")

    def __init__(self, paths: Paths) -> None:
        """Read the file; a missing or damaged one counts as empty."""
        self._project = paths.project_key
        self._entries = _entries(read_state(_path(paths), _MAX_BYTES))

    def shift(self, key: str) -> float:
        """Return the shift of a memory's thresholds against the settings, from -0.2 to 0.45; 0 without feedback."""
        entry = self._entries.get(_entry_key(self._project, key))
        if entry is None:
            return 0.0
        shift = _WRONG_STEP * _count(entry, WRONG) - _USEFUL_STEP * _count(entry, USEFUL)
        return max(_MIN_SHIFT, min(_MAX_SHIFT, shift))

    def counts(self, key: str) -> dict[str, int]:
        """Return how often users called a memory feedback useful and wrong, and how many replies used it."""
        entry = self._entries.get(_entry_key(self._project, key), {})
        return {name: _count(entry, name) for name in (USEFUL, WRONG, USED)}

    def used_at(self, key: str) -> str:
        """Return when a reply last used a memory, in the ledgers' time format; empty if none did."""
        value = self._entries.get(_entry_key(self._project, key), {}).get("used_at")
        return value if isinstance(value, str) else ""


def record_feedback(paths: Paths, keys: Iterable[str], kind: str) -> None:
    """Add one to the USED, USEFUL or WRONG count of each memory. Raises OSError, and Busy if another process holds the file."""
    with _locked(paths):
        entries = _entries_to_change(paths)
        for key in keys:
            entry = entries.setdefault(_entry_key(paths.project_key, key), {})
            entry[kind] = _count(entry, kind) + 1
            entry["time"] = now_iso()
            if kind == USED:
                entry["used_at"] = entry["time"]
        _write(paths, entries)


def reset_feedback(paths: Paths, keys: Iterable[str] | None) -> int:
    """Delete the feedback on some memories (None: on all, of every project); return how many had any. Raises OSError and Busy."""
    with _locked(paths):
        entries = _entries_to_change(paths)
        marks = list(entries) if keys is None else [_entry_key(paths.project_key, key) for key in keys]
        deleted = [mark for mark in marks if entries.pop(mark, None) is not None]
        if deleted:
            _write(paths, entries)
    return len(deleted)


def _path(paths: Paths) -> str:
    return paths.state("feedback.json")


def _locked(paths: Paths) -> FileLock:
    make_folder(paths.state("locks"))
    return FileLock(paths.state("locks", "feedback.lock"), _LOCK_WAIT)


def _entry_key(project: str, key: str) -> str:
    """Return the digest that identifies a memory, so that no title is stored; a user-scope memory has the same in all projects."""
    name = key if key.startswith(_USER_SCOPE) else project + "\0" + key
    return digest(name.encode("utf-8", "replace"), 8)


def _entries(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    memories = data.get("memories")
    if not isinstance(memories, dict):
        return {}
    return {mark: entry for mark, entry in memories.items() if isinstance(entry, dict)}


def _count(entry: dict[str, Any], kind: str) -> int:
    return max(0, as_integer(entry.get(kind)) or 0)


def _entries_to_change(paths: Paths) -> dict[str, dict[str, Any]]:
    """Return the file's entries; a damaged file is first renamed to keep it. Raises OSError if the file cannot be read.

    An unreadable file must not count as empty, because it would be replaced and the feedback lost.
    """
    try:
        data = loads(read_regular(_path(paths), _MAX_BYTES)[0].decode("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        os.replace(_path(paths), _path(paths) + ".damaged")
        return {}
    return _entries(data) if isinstance(data, dict) else {}


def _write(paths: Paths, entries: dict[str, dict[str, Any]]) -> None:
    if len(entries) > _MAX_ENTRIES:
        newest = sorted(entries, key=lambda mark: str(entries[mark].get("time")))[-_MAX_ENTRIES:]
        entries = {mark: entries[mark] for mark in newest}
    write_state(_path(paths), {"schema": _SCHEMA, "memories": entries}, durable=True)
