"""Find the files of the stores that a refresh must read, and bring the index up to date with them, batch by batch.

A file is due if it changed, or if the user accepted or rejected its text. The work of one round is limited by files and characters, so that
other processes can use the index between rounds. It may be interrupted at any point: a file that was not read is still due. The notes of
Claude Code's own memory are indexed file by file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, count, groupby
from time import time
from typing import NamedTuple

from ..kernel.files import ReadFailed, Unreadable, os_error_text, stamp
from ..kernel.sqlite import Connection
from ..memories import InvalidMemory, memory_files
from ..memories.memory_files import Store, StoredMemory
from ..memories.nearby import note_files, notes_in
from ..memories.record import Category, categories
from ..memories.trust import Trust
from . import index_documents
from .documents import UNREADABLE, Document, memory_document, note_document
from .index_file import UNSURE, transaction

# The maximum number of characters to redact in one memory: 30,000 of the body, 10,120 of the title, 4,000 of each list.
MAX_MEMORY = 53_248
# Reading takes about 1 ms per file on a small machine. Text made to slow down the rules takes 5 to 10 microseconds per character, so
# MAX_MEMORY characters, the limit of a hook, take half a second.
HOOK_FILES = 60
HOOK_ENTRIES = 20_000
# A round ends so that other processes can use the index, not to save time.
_ROUND_FILES = 10_000
_ROUND_CHARACTERS = 16 << 20
# Parsed files stay in memory until they are written, with up to 24 times as many bytes as on disk; and no reader waits long.
_BATCH_FILES = 500
_BATCH_BYTES = 2 << 20
# A file changed this recently may still be open for writing; the coarsest file system clock has steps of 2 s.
_RACY_SECONDS = 2.1


@dataclass
class RefreshReport:
    """The numbers of one refresh: memories read and dropped, unreadable files, and files still due.

    `remaining` is a lower limit. `problem` is why something could not be read this time; it stays in the index as it was.
    """

    read: int = 0
    dropped: int = 0
    unreadable: int = 0
    remaining: int = 0
    problem: str = ""

    def fail(self, problem: str) -> None:
        """Note a problem, unless there was one before."""
        self.problem = self.problem or problem


@dataclass
class ReadBudget:
    """The remaining work allowed in a refresh: `files`, `characters` to redact, and directory `entries` of a store (None: no limit).

    By default that of one round of a command or background process; other processes get the index between rounds.
    """

    files: int = _ROUND_FILES
    characters: int = _ROUND_CHARACTERS
    entries: int | None = None

    def reserve(self, size: int) -> bool:
        """Reserve one file of `size` bytes, or return False and reserve nothing."""
        characters = min(size, MAX_MEMORY)
        if self.files < 1 or self.characters < characters:
            return False
        self.files -= 1
        self.characters -= characters
        return True


def hook_read_budget() -> ReadBudget:
    """Return the budget of a hook that creates an index, or starts a session; it is large enough for any single memory."""
    return ReadBudget(HOOK_FILES, MAX_MEMORY, HOOK_ENTRIES)


class DueFile(NamedTuple):
    """A file to read."""

    store: Store
    category: Category
    path: str
    size: int


class RefreshPass(NamedTuple):
    """One pass over the stores.

    connection, trust: the index, and the user's decisions
    edited: files known to differ from the index, or in their trust; None to read all files, because the trust in any may have changed
    marks: the marks by which the next pass detects changes
    budget: what this pass may still read
    report: what it has done
    """

    connection: Connection
    trust: Trust
    edited: set[str] | None
    marks: dict[str, str]
    budget: ReadBudget
    report: RefreshReport

    def is_edited(self, path: str) -> bool:
        """Return whether a file must be read although its mark is that of the index."""
        return self.edited is None or path in self.edited

    def check_again(self, folders: Iterable[str]) -> None:
        """Make the next pass list these folders."""
        self.marks.update(dict.fromkeys(folders, UNSURE))

    def defer(self, files: list[DueFile]) -> None:
        """Make the next pass find these files, even those whose trust alone has changed."""
        if files:
            self.check_again(os.path.dirname(file.path) for file in files)
            with transaction(self.connection):
                paths = ((index_documents.storable(file.path),) for file in files)
                self.connection.executemany("UPDATE documents SET stamp = '' WHERE path = ?", paths)


def refresh_stores(run: RefreshPass, stores: Iterable[Store]) -> None:
    """Bring the index up to date with the stores, up to the budget. Raises Busy, OSError and SqliteError."""
    due: list[DueFile] = []
    for store in stores:
        try:
            found, gone = _find_due(run, store)
        except memory_files.TooManyEntries:
            run.check_again([path for path in run.marks if path.startswith(store.root)])
            run.report.remaining += 1
        else:
            due += found
            _drop(run, gone)
    now, later = _within_budget(run, due)
    for files in _batches(now):
        _refresh_batch(run, files)
    run.defer(later)
    run.report.remaining += len(later)


def _find_due(run: RefreshPass, store: Store) -> tuple[list[DueFile], list[str]]:
    """Return the files to read in a store, and those of the index that are gone. Raises TooManyEntries."""
    left, known = run.budget.entries, index_documents.stamps(run.connection, store.scope)
    due: list[DueFile] = []
    is_closed = bool(memory_files.why_not_read(store))
    for category in categories().values():
        folder = os.path.join(store.root, category.folder)
        if is_closed or not memory_files.is_read(folder):
            continue  # what the index has of it is gone
        try:
            for path, status in memory_files.listing(folder, left):
                left = left and left - 1
                is_same = known.pop(path, None) in (stamp(status), _unread_mark(status))
                if not is_same or run.is_edited(path):
                    due.append(DueFile(store, category, path, status.st_size))
        except OSError as error:
            run.check_again([folder])
            run.report.fail(os_error_text(error))
            folder = index_documents.storable(folder)
            known = {path: mark for path, mark in known.items() if os.path.dirname(path) != folder}
    return due, list(known)


def _unread_mark(status: os.stat_result) -> str:
    """Return the mark of a file without a memory: its stamp and the time of the last status change, since its permissions may change."""
    return "%s:%d" % (stamp(status), status.st_ctime_ns)


def _drop(run: RefreshPass, gone: list[str]) -> None:
    """Remove what the index has of deleted files."""
    if gone:
        with transaction(run.connection):
            run.report.dropped += index_documents.drop(run.connection, gone)


def _within_budget(run: RefreshPass, due: list[DueFile]) -> tuple[list[DueFile], list[DueFile]]:
    """Return the files to read now and those to read later, in this order: files known to be edited, then small files."""
    due.sort(key=lambda file: (not run.is_edited(file.path), file.size, file.path))
    for at, file in enumerate(due):
        if not run.budget.reserve(file.size):
            return due[:at], due[at:]
    return due, []


def _batches(files: list[DueFile]) -> list[list[DueFile]]:
    """Return the files, in the same order, in batches that fit into memory."""
    starts = accumulate((file.size for file in files), initial=0)
    placed = zip(files, count(), starts)
    groups = groupby(placed, lambda place: (place[1] // _BATCH_FILES, place[2] // _BATCH_BYTES))
    return [[file for file, _, _ in group] for _, group in groups]


def _refresh_batch(run: RefreshPass, files: list[DueFile]) -> None:
    """Read some files and write their memories to the index."""
    connection, trust = run.connection, run.trust
    memories, unreadable = _read(run, files)
    trust.record_names(memories)
    documents = list(unreadable)
    with transaction(connection):
        superseded = index_documents.superseded_documents(connection, [stored.key for stored in memories])
        for whole in memories:
            stored = trust.with_accepted_phrases(whole)
            document = memory_document(stored, trust.state_of(stored))
            injectable = document.injectable and document.key not in superseded
            own, new_phrases = trust.is_own(stored), trust.new_phrases(whole)
            documents.append(document._replace(injectable=injectable, own=own, new_phrases=new_phrases))
        run.report.dropped += index_documents.drop(connection, [one.path for one in unreadable])
        index_documents.put(connection, documents)
        index_documents.update_guards(connection, memories, trust)
    run.report.read += len(memories)
    run.report.unreadable += len(unreadable)


def _read(run: RefreshPass, files: list[DueFile]) -> tuple[list[StoredMemory], list[Document]]:
    """Return the memories in the due files, and the rows of the files without a memory.

    A file that could not be read this time is in neither list and stays due.
    """
    memories: list[StoredMemory] = []
    unreadable: list[Document] = []
    failed: list[DueFile] = []
    for file in files:
        try:
            status = os.lstat(file.path)  # before it is read, so that a later change shows
            memories.append(memory_files.read_memory(file.store, file.category, file.path))
        except ReadFailed as error:
            run.report.fail("a memory could not be read: %s" % os_error_text(error))
            failed.append(file)
        except (FileNotFoundError, NotADirectoryError):
            run.check_again([os.path.dirname(file.path)])
        except (InvalidMemory, Unreadable) as error:
            reason, mark = str(error).removeprefix(file.path + ": "), _unread_mark(status)
            place = file.path, file.store.scope, file.path
            unreadable.append(Document(*place, mark, inject=reason, status=UNREADABLE))
            if 0 <= time() - status.st_mtime < _RACY_SECONDS:
                # Another process may still be writing it, which does not change its folder's mark.
                run.check_again([os.path.dirname(file.path)])
    run.defer(failed)
    return memories, unreadable


def refresh_notes(run: RefreshPass, folders: list[str]) -> None:
    """Index changed notes, small files first, until the budget is used up, and drop deleted ones."""
    connection, known = run.connection, index_documents.stamps(run.connection, "native")
    listed = {path: status for folder in folders for path, status in note_files(folder)}
    _drop(run, [path for path in known if path not in listed])
    for path in sorted(listed, key=lambda path: (listed[path].st_size, path)):
        if known.get(path) == stamp(listed[path]):
            continue
        if not run.budget.reserve(listed[path].st_size):
            run.report.remaining += 1
            run.check_again([os.path.dirname(path)])
            continue
        documents = [note_document(note) for note in notes_in(path)]
        with transaction(connection):
            index_documents.drop(connection, [path])
            index_documents.put(connection, documents)
        run.report.read += len(documents)
