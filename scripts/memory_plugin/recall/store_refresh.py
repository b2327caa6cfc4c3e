"""Refresh the index for one store: read its due files, look up their trust, and update the index batch by batch.

The notes of Claude Code's own memory are indexed file by file. The work may be interrupted at any point: a file that was not read is
still due.
"""

from __future__ import annotations

import os
from time import time
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.files import ReadFailed, Unreadable, os_error_text, stamp
from ..memories.claude_notes import note_files, notes_in
from ..memories.memory_files import StoredMemory, read_memory
from ..memories.record import ACTIVE, InvalidMemory
from .documents import may_inject, memory_document, note_document
from .due_files import batches
from .index_documents import (
    drop,
    file_stamps,
    forget_stamps,
    notes_by_file,
    put,
    set_flags,
    superseded_documents,
)
from .index_file import UNSURE, transaction

if TYPE_CHECKING:
    from ..kernel.sqlite import Connection
    from ..memories.stores import Store
    from ..memories.trust import Trust
    from .due_files import DueFile, DueWork, ReadBudget, RefreshState
    from .guard_rows import GuardRows
    from .index_documents import IndexedFile

__all__ = ["RefreshPass", "RefreshReport", "is_active", "refresh_notes", "refresh_store"]

_BATCH = 500
# A file changed this recently may still be open for writing; the coarsest file system clock has steps of 2 s.
_RACY_SECONDS = 2.1


class RefreshReport(NamedTuple):
    """The numbers of one refresh: memories read, dropped and reflagged (only their trust changed), unreadable files, and files still due.

    `remaining` is a lower limit. `problem` is why something could not be read this time; it stays in the index as it was.
    """

    read: int = 0
    dropped: int = 0
    reflagged: int = 0
    unreadable: int = 0
    remaining: int = 0
    problem: str = ""

    def has_changes(self) -> bool:
        """Return whether memories or their trust changed in the index."""
        return bool(self.read or self.dropped or self.reflagged)

    def plus(self, other: RefreshReport) -> RefreshReport:
        """Return the sums of two reports, with the first problem of both."""
        return RefreshReport(
            self.read + other.read,
            self.dropped + other.dropped,
            self.reflagged + other.reflagged,
            self.unreadable + other.unreadable,
            self.remaining + other.remaining,
            self.problem or other.problem,
        )


class RefreshPass:
    """One pass over the stores: the index, the state known before, and the marks by which the next pass detects changes.

    A pass that leaves a file unread marks its folder UNSURE, so that the next one checks it again.
    """

    __slots__ = ("connection", "guards", "marks", "problem", "state", "trust")

    def __init__(
        self,
        connection: Connection,
        trust: Trust,
        state: RefreshState,
        marks: dict[str, str],
        guards: GuardRows,
    ) -> None:
        self.connection = connection
        self.trust = trust
        self.state = state
        self.marks = marks
        self.guards = guards
        self.problem = ""

    def check_again(self, files: list[DueFile]) -> None:
        """Make the next pass list the folders of these files."""
        self.marks.update((os.path.dirname(file.path), UNSURE) for file in files)


def refresh_store(run: RefreshPass, work: DueWork) -> RefreshReport:
    """Bring the index up to date with the due files of one store. Raises Busy, OSError and SqliteError."""
    if work.is_too_large:
        run.marks.update((path, UNSURE) for path in run.marks if path.startswith(work.store.root))
        return RefreshReport(remaining=1)
    run.marks.update((folder, UNSURE) for folder in work.recheck_folders)
    report = RefreshReport(remaining=len(work.deferred))
    run.problem = work.problem
    gone = work.gone  # dropped with the first batch
    # One empty batch, so that deleted files are dropped even if none changed.
    for files in batches(work.changed, lambda file: file.size) or [[]]:
        report = report.plus(_refresh_batch(run, work._replace(changed=files, gone=gone)))
        gone = []
    _defer(run, work.store, work.deferred)
    return report._replace(problem=run.problem)


def _defer(run: RefreshPass, store: Store, files: list[DueFile]) -> None:
    """Make the next pass find the files that this one defers, even those whose trust alone has changed."""
    if files:
        run.check_again(files)
        known = file_stamps(run.connection, store.scope)
        unread = [known[file.path].key for file in files if _looks_unchanged(file, known)]
        with transaction(run.connection):
            forget_stamps(run.connection, unread)


def _looks_unchanged(file: DueFile, known: dict[str, IndexedFile]) -> bool:
    # A fingerprint is the indexed stamp plus ctime. Such a file is due only for its trust, so its stamp must be erased or the next pass
    # would skip it.
    return file.path in known and file.fingerprint.startswith(known[file.path].stamp + ":")


def _refresh_batch(run: RefreshPass, work: DueWork) -> RefreshReport:
    """Read and index some files of a store."""
    memories, unreadable = _read(run, work)
    run.trust.record_names(memories)
    run.guards.update(memories, run.trust)
    run.state.done.update(file.path for file in work.changed)
    known = file_stamps(run.connection, work.store.scope)
    gone = work.gone + [known[path].key for path in unreadable if path in known]
    reflagged = _write(run, memories, known, gone)
    return RefreshReport(len(memories) - reflagged, len(gone), reflagged, len(unreadable))


def _read(run: RefreshPass, work: DueWork) -> tuple[list[StoredMemory], list[str]]:
    """Return the memories in the due files, and the files without a memory; update `inactive` of the pass.

    A file that could not be read this time is in neither list and stays due.
    """
    inactive = run.state.inactive
    memories: list[StoredMemory] = []
    unreadable: list[str] = []
    failed: list[DueFile] = []
    for file in work.changed:
        inactive.pop(file.path, None)
        try:
            stored = read_memory(work.store, file.category, file.path)
        except ReadFailed as error:
            run.problem = run.problem or "a memory could not be read: %s" % os_error_text(error)
            failed.append(file)
            continue
        except (InvalidMemory, Unreadable, FileNotFoundError):
            unreadable.append(file.path)
            inactive[file.path] = file.fingerprint
            if 0 <= time() - file.changed_at < _RACY_SECONDS:
                # Another process may still be writing it, which does not change its folder's mark.
                run.check_again([file])
            continue
        memories.append(stored)
        if not is_active(stored):
            inactive[file.path] = file.fingerprint
    _defer(run, work.store, failed)
    return memories, unreadable


def is_active(stored: StoredMemory) -> bool:
    """Return whether a memory belongs in the index; a superseded one does, because search finds it."""
    return stored.memory.status == ACTIVE


def _write(
    run: RefreshPass,
    memories: list[StoredMemory],
    known: dict[str, IndexedFile],
    gone: list[str],
) -> int:
    """Write the memories to the index in batches, so that no reader waits long; return how many needed no text analysis."""
    connection, reflagged = run.connection, 0
    superseded = superseded_documents(connection)
    with transaction(connection):
        drop(connection, gone)
    for start in range(0, len(memories), _BATCH):
        with transaction(connection):
            documents = []
            for stored in memories[start : start + _BATCH]:
                trust = run.trust.state_of(stored)
                injectable = may_inject(stored, trust) and stored.key not in superseded
                if not is_active(stored):
                    drop(connection, [stored.key])
                elif stored.path in known and known[stored.path].digest == stored.digest:
                    set_flags(connection, stored.key, injectable, trust, stored.stamp)
                    reflagged += 1
                else:
                    documents.append(memory_document(stored, trust)._replace(injectable=injectable))
            put(connection, documents)
    return reflagged


def refresh_notes(run: RefreshPass, folders: list[str], budget: ReadBudget) -> RefreshReport:
    """Index changed notes, small files first, until the budget is used up, and drop deleted ones."""
    known = notes_by_file(run.connection)
    listed = {path: status for folder in folders for path, status in note_files(folder)}
    gone = [key for path, (_, keys) in known.items() if path not in listed for key in keys]
    with transaction(run.connection):
        drop(run.connection, gone)
    read = remaining = 0
    edited, done = run.state.edited, run.state.done
    for path in sorted(listed, key=lambda path: (path not in edited, listed[path].st_size, path)):
        if path in known and known[path][0] == stamp(listed[path]) and path not in edited:
            continue
        if path in done:
            continue
        if remaining or not budget.reserve(
            listed[path].st_size
        ):  # a file is indexed as a whole, passage by passage
            remaining += 1
            run.marks[os.path.dirname(path)] = UNSURE
            continue
        done.add(path)
        read += _refresh_note_file(run.connection, path, known.get(path, ("", []))[1])
    return RefreshReport(read, len(gone), remaining=remaining)


def _refresh_note_file(connection: Connection, path: str, before: list[str]) -> int:
    """Replace the indexed passages of a file with its present ones; return their number."""
    documents = [note_document(note) for note in notes_in(path)]
    with transaction(connection):
        drop(connection, before)
        put(connection, documents)
    return len(documents)
