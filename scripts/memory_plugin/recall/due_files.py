"""Determine which files a refresh of the index must read, and how many of them at once.

A file is due if it changed, or if the user accepted or rejected its text. The work of one refresh is limited by
files and characters, not by time, so that no store can make a prompt wait.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.files import os_error_text, stamp
from ..memories.memory_files import TooManyEntries, category_folders, is_read, listing, why_not_read
from .index_documents import file_stamps

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from typing import TypeVar

    from ..kernel.sqlite import Connection
    from ..memories.record import Category
    from ..memories.stores import Store
    from ..memories.trust import Trust

    Item = TypeVar("Item")

__all__ = [
    "DueFile",
    "DueWork",
    "ReadBudget",
    "RefreshState",
    "batches",
    "cost",
    "find_due",
    "prompt_read_budget",
    "round_read_budget",
    "split_by_budget",
]

# The maximum number of characters to redact in one memory: 30,000 of the body, 10,120 of the title, 4,000 of each list.
MAX_MEMORY = 53_248
# Reading takes about 1 ms per file on a small machine. Text made to slow down the rules takes 5 to 10 microseconds per character, so
# MAX_MEMORY characters, the limit of one prompt, take half a second.
PROMPT_FILES = 60
PROMPT_ENTRIES = 20_000
# A round ends so that other processes can use the index, not to save time.
ROUND_FILES = 10_000
ROUND_CHARACTERS = 16 << 20
# Parsed files stay in memory until they are written, with up to 24 times as many bytes as on disk.
_BATCH_FILES = 3000
_BATCH_BYTES = 2 << 20
_SMALL = 8192  # bytes; about one memory in a hundred is larger


class DueFile(NamedTuple):
    """A file to read; `fingerprint` identifies its state, so that an unchanged file without an active memory is not read again."""

    category: Category
    path: str
    fingerprint: str
    size: int
    changed_at: float


class RefreshState:
    """The state known before a refresh.

    changed: the paths that changed; None if unknown
    everything: check all paths, changed or not; recheck: read all files, because their trust may have changed
    edited: files known to differ from the index, or in their trust
    inactive: files without an active memory -> their fingerprints
    done: files that an earlier round of this run has read
    entries: the maximum number of directory entries to list in a store; None for all
    """

    __slots__ = ("changed", "done", "edited", "entries", "everything", "inactive", "recheck")

    def __init__(
        self,
        changed: set[str] | None,
        everything: bool,
        recheck: bool,
        edited: set[str],
        inactive: dict[str, str],
        done: set[str],
        entries: int | None,
    ) -> None:
        self.changed = changed
        self.everything = everything
        self.recheck = recheck
        self.edited = edited
        self.inactive = inactive
        self.done = done
        self.entries = entries

    def has_changed(self, *paths: str) -> bool:
        """Return whether any of these paths may have changed."""
        return self.changed is None or not self.changed.isdisjoint(paths)

    def is_due(self, folder: str) -> bool:
        """Return whether a folder must be listed."""
        touched = self.edited.union(self.changed or ())
        return (
            self.everything
            or self.recheck
            or self.has_changed(folder)
            or any(os.path.dirname(path) == folder for path in touched)
        )


class DueWork(NamedTuple):
    """The work that is due in one store.

    changed, gone: files to read, and keys of memories whose files are gone
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
    """Return the work due in a store. Forget inactive files that are gone."""
    known = file_stamps(connection, store.scope)
    if why_not_read(store):
        return DueWork(store, [], [file.key for file in known.values()], [], [])
    changed: list[DueFile] = []
    failed: dict[str, str] = {}
    try:
        listed = _list_folders(store, state, failed)
    except TooManyEntries:
        return DueWork(store, [], [], [], [], is_too_large=True)
    recheck_folders = list(failed)
    for folder, (category, files) in listed.items():
        for path, status in files.items():
            fingerprint = _inactive_fingerprint(status)
            unchanged = path in known and known[path].stamp == stamp(status) and path not in state.edited
            if state.inactive.get(path) == fingerprint or (unchanged and not state.recheck):
                continue
            if path in state.done:
                recheck_folders.append(folder)
            else:
                changed.append(DueFile(category, path, fingerprint, status.st_size, status.st_mtime))
    present = {path for _, files in listed.values() for path in files}
    for path in [path for path in state.inactive if path not in present and _is_gone(path, listed)]:
        del state.inactive[path]
    outside = {path for path in known if os.path.dirname(os.path.dirname(path)) != store.root}
    gone = [path for path in known if path not in present and (path in outside or _is_gone(path, listed))]
    problem = next(iter(failed.values()), "")
    return DueWork(store, changed, [known[path].key for path in gone], recheck_folders, [], problem=problem)


def _list_folders(
    store: Store, state: RefreshState, failed: dict[str, str]
) -> dict[str, tuple[Category, dict[str, os.stat_result]]]:
    """Return the files of each due folder; folders that cannot be listed now are added to `failed`. Raises TooManyEntries."""
    listed: dict[str, tuple[Category, dict[str, os.stat_result]]] = {}
    left = state.entries
    for category, folder in category_folders(store):
        if state.is_due(folder):
            try:
                listed[folder] = (category, dict(listing(folder, left)))
            except OSError as error:
                failed[folder] = os_error_text(error)
                continue
            left = None if left is None else left - len(listed[folder][1])
    return listed


def _is_gone(path: str, listed: Container[str]) -> bool:
    """Return whether a file that was not listed is gone from the store: its folder was listed, or is not a folder that is read."""
    folder = os.path.dirname(path)
    return folder in listed or not is_read(folder)


def _inactive_fingerprint(status: os.stat_result) -> str:
    """Return the stamp with the time of the last status change: a file that could not be read may have other permissions now."""
    return "%s:%d" % (stamp(status), status.st_ctime_ns)


def split_by_budget(work: list[DueWork], trust: Trust, edited: set[str], budget: ReadBudget) -> list[DueWork]:
    """Return the work with everything beyond the budget moved to `deferred`.

    The order over all stores: files known to be edited, then small files, of these trusted ones first, of these those named after words
    of the prompt, then by size. So the project's store and the user's store cannot delay each other.
    """
    due = [(at, file) for at, part in enumerate(work) for file in part.changed]
    if len(due) > budget.files or sum(cost(file.size) for _, file in due) > budget.characters:
        due.sort(key=lambda pair: _urgency(pair[1], work[pair[0]].store, edited, trust, budget.wanted))
    taken: list[list[DueFile]] = [[] for _ in work]
    deferred: list[list[DueFile]] = [[] for _ in work]
    full = False
    for at, file in due:
        full = full or not budget.reserve(cost(file.size))
        (deferred if full else taken)[at].append(file)
    return [part._replace(changed=taken[at], deferred=deferred[at]) for at, part in enumerate(work)]


def _urgency(
    file: DueFile, store: Store, edited: set[str], trust: Trust, wanted: frozenset[str]
) -> tuple[bool, bool, bool, int, int, str]:
    identity = os.path.basename(file.path)[: -len(".json")]
    untrusted = not trust.has_trusted_name(store, file.category.name, identity)
    shared = len(wanted.intersection(identity.split("-")))  # an id consists of the title's words
    return file.path not in edited, file.size > _SMALL, untrusted, -shared, file.size, file.path


class ReadBudget:
    """The remaining work allowed in a refresh: `files`, `characters` to redact, and directory `entries` of a store (None: no limit).

    `wanted` are the words of the waiting prompt; memories whose id contains one of them come first.
    """

    __slots__ = ("characters", "entries", "files", "wanted")

    def __init__(
        self,
        files: int,
        characters: int,
        entries: int | None = None,
        wanted: frozenset[str] = frozenset(),
    ) -> None:
        self.files = files
        self.characters = characters
        self.entries = entries
        self.wanted = wanted

    def reserve(self, characters: int) -> bool:
        """Reserve one file of `characters`, or return False and reserve nothing."""
        if self.files < 1 or self.characters < characters:
            return False
        self.files -= 1
        self.characters -= characters
        return True


def prompt_read_budget(wanted: frozenset[str] = frozenset()) -> ReadBudget:
    """Return the budget of one prompt with the words `wanted`.

    It is large enough for any single memory, so prompts alone can clear any backlog.
    """
    return ReadBudget(PROMPT_FILES, MAX_MEMORY, PROMPT_ENTRIES, wanted)


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
