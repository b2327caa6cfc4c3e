"""Determine which files a refresh of the index must read, and how many of them at once.

A file is due if it changed, or if the user accepted or rejected its text. The work of one round is limited by files and characters, so that
other processes can use the index between rounds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from ..kernel.files import os_error_text, stamp
from ..kernel.sqlite import Connection
from ..memories.memory_files import Store, TooManyEntries, examined, is_read, listing, why_not_read
from ..memories.record import Category, categories
from .index_documents import IndexedFile, file_marks, files_outside, indexed_file

Item = TypeVar("Item")

# The maximum number of characters to redact in one memory: 30,000 of the body, 10,120 of the title, 4,000 of each list.
MAX_MEMORY = 53_248
# Reading takes about 1 ms per file on a small machine. Text made to slow down the rules takes 5 to 10 microseconds per character, so
# MAX_MEMORY characters, the limit of a hook, take half a second.
HOOK_FILES = 60
HOOK_ENTRIES = 20_000
# A round ends so that other processes can use the index, not to save time.
ROUND_FILES = 10_000
ROUND_CHARACTERS = 16 << 20
# Parsed files stay in memory until they are written, with up to 24 times as many bytes as on disk; and no reader waits long.
_BATCH_FILES = 500
_BATCH_BYTES = 2 << 20


class DueFile(NamedTuple):
    """A file to read: its category, path, size and time of change, and what the index knows about it; None for a new file."""

    category: Category
    path: str
    mark: str
    size: int
    changed_at: float
    known: IndexedFile | None


class RefreshState(NamedTuple):
    """The state known before a refresh.

    changed: the paths that changed; None if unknown
    everything: check all paths, changed or not; recheck: read all files, because their trust may have changed
    edited: files known to differ from the index, or in their trust
    done: files that an earlier round of this run has read
    entries: the maximum number of directory entries to list in a store; None for all
    """

    changed: set[str] | None
    everything: bool
    recheck: bool
    edited: set[str]
    done: set[str]
    entries: int | None

    def has_changed(self, *paths: str) -> bool:
        """Return whether any of these paths may have changed."""
        return self.changed is None or not self.changed.isdisjoint(paths)

    def must_list(self, folder: str) -> bool:
        """Return whether a folder must be listed; otherwise only the files in it that are known to be due are examined."""
        return self.everything or self.recheck or self.has_changed(folder)


class DueWork(NamedTuple):
    """The work that is due in one store.

    changed, gone: files to read, and files of the index that are gone
    recheck_folders: folders that the next pass must list, because files in them changed since an earlier round read them, or because they
        could not be listed, for the reason `problem`
    deferred: files that are due but not read now
    is_too_large: the store has more entries than may be listed, so nothing is known about it
    """

    store: Store
    changed: list[DueFile]
    gone: list[str]
    recheck_folders: list[str]
    deferred: list[DueFile]
    is_too_large: bool = False
    problem: str = ""


def find_due(connection: Connection, store: Store, state: RefreshState) -> DueWork:
    """Return the work due in a store: files whose mark differs from the index, and files of the index that are gone."""
    work = DueWork(store, [], files_outside(connection, store.scope, store.root), [], [])
    left, is_closed = state.entries, bool(why_not_read(store))
    named: dict[str, list[str]] = {}
    for path in state.edited.union(state.changed or ()):
        named.setdefault(os.path.dirname(path), []).append(path)
    for category in categories().values():
        folder = os.path.join(store.root, category.folder)
        if is_closed or not is_read(folder):
            work.gone.extend(file_marks(connection, store.scope, folder))
        elif not state.must_list(folder):
            paths = named.get(folder, [])
            known = {path: row.mark for path in paths if (row := indexed_file(connection, store.scope, path))}
            _compare(connection, work, category, examined(paths), known, state)
        else:
            try:
                files = dict(listing(folder, left))
            except TooManyEntries:
                return work._replace(changed=[], gone=[], recheck_folders=[], is_too_large=True)
            except OSError as error:
                work.recheck_folders.append(folder)
                work = work._replace(problem=work.problem or os_error_text(error))
                continue
            left = None if left is None else left - len(files)
            _compare(connection, work, category, files, file_marks(connection, store.scope, folder), state)
    return work


def _compare(
    connection: Connection,
    work: DueWork,
    category: Category,
    files: dict[str, os.stat_result],
    marks: dict[str, str],
    state: RefreshState,
) -> None:
    """Add to `work` the files of a folder that differ from the index; `marks` are those of the index."""
    scope, folder = work.store.scope, os.path.join(work.store.root, category.folder)
    for path, status in files.items():
        known = marks.pop(path, None)
        is_known = known is not None and known in (stamp(status), unread_mark(status))
        if is_known and path not in state.edited and not state.recheck:
            continue
        if path in state.done:
            work.recheck_folders.append(folder)
            continue
        indexed = None if known is None else indexed_file(connection, scope, path)
        due = DueFile(category, path, unread_mark(status), status.st_size, status.st_mtime, indexed)
        work.changed.append(due)
    work.gone.extend(marks)


def unread_mark(status: os.stat_result) -> str:
    """Return the mark of a file without a memory: its stamp and the time of the last status change, since its permissions may change."""
    return "%s:%d" % (stamp(status), status.st_ctime_ns)


def split_by_budget(work: list[DueWork], edited: set[str], budget: ReadBudget) -> list[DueWork]:
    """Return the work with everything beyond the budget moved to `deferred`.

    The order over all stores: files known to be edited, then small files. So the project's store and the user's store cannot delay each
    other.
    """
    due = [(at, file) for at, part in enumerate(work) for file in part.changed]
    if len(due) > budget.files or sum(cost(file.size) for _, file in due) > budget.characters:
        due.sort(key=lambda pair: (pair[1].path not in edited, pair[1].size, pair[1].path))
    taken: list[list[DueFile]] = [[] for _ in work]
    deferred: list[list[DueFile]] = [[] for _ in work]
    full = False
    for at, file in due:
        full = full or not budget.reserve(cost(file.size))
        (deferred if full else taken)[at].append(file)
    return [part._replace(changed=taken[at], deferred=deferred[at]) for at, part in enumerate(work)]


class ReadBudget:
    """The remaining work allowed in a refresh: `files`, `characters` to redact, and directory `entries` of a store (None: no limit)."""

    __slots__ = ("characters", "entries", "files")

    def __init__(self, files: int, characters: int, entries: int | None = None) -> None:
        self.files = files
        self.characters = characters
        self.entries = entries

    def reserve(self, characters: int) -> bool:
        """Reserve one file of `characters`, or return False and reserve nothing."""
        if self.files < 1 or self.characters < characters:
            return False
        self.files -= 1
        self.characters -= characters
        return True


def hook_read_budget() -> ReadBudget:
    """Return the budget of a hook that creates an index, or starts a session; it is large enough for any single memory."""
    return ReadBudget(HOOK_FILES, MAX_MEMORY, HOOK_ENTRIES)


def round_read_budget() -> ReadBudget:
    """Return the budget of one round of a command or background process; other processes get the index between rounds."""
    return ReadBudget(ROUND_FILES, ROUND_CHARACTERS)


def cost(size: int) -> int:
    """Return the maximum number of characters to redact for a memory file of `size` bytes."""
    return min(size, MAX_MEMORY)


def batches(files: Iterable[Item], size: Callable[[Item], int]) -> list[list[Item]]:
    """Return the files, in the same order, in batches that fit into memory."""
    result: list[list[Item]] = []
    room = 0
    for file in files:
        if not result or len(result[-1]) >= _BATCH_FILES or room < size(file):
            result.append([])
            room = _BATCH_BYTES
        result[-1].append(file)
        room -= size(file)
    return result
