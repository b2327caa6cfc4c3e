"""Refresh the index for one store: read its due files, look up their trust, and update the index batch by batch.

The notes of Claude Code's own memory are indexed file by file. The work may be interrupted at any point: a file that was not read is
still due.
"""

from __future__ import annotations

import os
from time import time
from typing import NamedTuple

from ..kernel.files import ReadFailed, Unreadable, os_error_text, stamp
from ..kernel.sqlite import Connection
from ..memories import InvalidMemory
from ..memories.claude_notes import note_files, notes_in
from ..memories.hygiene import MAX_PHRASE, shown_items
from ..memories.memory_files import StoredMemory, read_memory
from ..memories.stores import Store
from ..memories.trust import Trust
from .documents import Document, may_inject, memory_document, note_document, unreadable_document
from .due_files import DueFile, DueWork, ReadBudget, RefreshState, batches
from .in_force import drop_guards, superseded_documents, update_guards
from .index_documents import (
    IndexedFile,
    drop,
    find_document,
    forget_stamps,
    indexed_file,
    notes_by_file,
    put,
    set_flags,
    set_new_phrases,
)
from .index_file import UNSURE, set_unread, transaction

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

    def plus(self, other: RefreshReport) -> RefreshReport:
        """Return the sums of two reports, with the first problem of both."""
        read, dropped, reflagged, unreadable, left = (a + b for a, b in zip(self[:5], other[:5]))
        return RefreshReport(read, dropped, reflagged, unreadable, left, self.problem or other.problem)


class RefreshPass:
    """One pass over the stores: the index, the state known before, and the marks by which the next pass detects changes.

    A pass that leaves a file unread marks its folder UNSURE, so that the next one checks it again. `unread` is the number of due files.
    """

    __slots__ = ("connection", "marks", "problem", "state", "trust", "unread")

    def __init__(
        self, connection: Connection, trust: Trust, state: RefreshState, marks: dict[str, str], unread: int
    ) -> None:
        self.connection = connection
        self.trust = trust
        self.state = state
        self.marks = marks
        self.unread = unread
        self.problem = ""

    def check_again(self, files: list[DueFile]) -> None:
        """Make the next pass list the folders of these files."""
        self.marks.update((os.path.dirname(file.path), UNSURE) for file in files)

    def count_read(self, files: int) -> None:
        """Tell prompts how many files are still unread, inside the caller's transaction."""
        self.unread -= files
        set_unread(self.connection, self.unread)


def refresh_store(run: RefreshPass, work: DueWork) -> RefreshReport:
    """Bring the index up to date with the due files of one store. Raises Busy, OSError and SqliteError."""
    if work.is_too_large:
        run.marks.update((path, UNSURE) for path in run.marks if path.startswith(work.store.root))
        return RefreshReport(remaining=1)
    run.marks.update((folder, UNSURE) for folder in work.recheck_folders)
    run.problem = work.problem
    report = RefreshReport(dropped=_drop_files(run, work.store, work.gone), remaining=len(work.deferred))
    for files in batches(work.changed, lambda file: file.size):
        report = report.plus(_refresh_batch(run, work.store, files))
    _defer(run, work.deferred)
    return report._replace(problem=run.problem)


def _drop_files(run: RefreshPass, store: Store, files: list[str]) -> int:
    """Remove the rows of deleted files; return how many memories were recalled or searched before."""
    rows = [indexed_file(run.connection, store.scope, path) for path in files]
    keys = [row.key for row in rows if row is not None]
    if not files:
        return 0
    with transaction(run.connection):
        dropped = sum(find_document(run.connection, key) is not None for key in keys)
        drop(run.connection, keys)
        drop_guards(run.connection, files)
    return dropped


def _defer(run: RefreshPass, files: list[DueFile]) -> None:
    """Make the next pass find the files that this one defers, even those whose trust alone has changed."""
    if files:
        run.check_again(files)
        with transaction(run.connection):
            forget_stamps(run.connection, [file.known.key for file in files if file.known])


def _refresh_batch(run: RefreshPass, store: Store, files: list[DueFile]) -> RefreshReport:
    """Read and index some files of a store."""
    known = {file.path: file.known for file in files if file.known}
    memories, unreadable = _read(run, store, files)
    run.trust.record_names(memories)
    run.state.done.update(file.path for file in files)
    dropped, reflagged = _write(run, memories, unreadable, known)
    return RefreshReport(len(memories) - reflagged, dropped, reflagged, len(unreadable))


def _read(run: RefreshPass, store: Store, files: list[DueFile]) -> tuple[list[StoredMemory], list[Document]]:
    """Return the memories in the due files, and the rows of the files without a memory.

    A file that could not be read this time is in neither list and stays due.
    """
    memories: list[StoredMemory] = []
    unreadable: list[Document] = []
    failed: list[DueFile] = []
    for file in files:
        try:
            memories.append(read_memory(store, file.category, file.path))
        except ReadFailed as error:
            run.problem = run.problem or "a memory could not be read: %s" % os_error_text(error)
            failed.append(file)
        except FileNotFoundError:
            run.check_again([file])
        except (InvalidMemory, Unreadable) as error:
            reason = str(error).removeprefix(file.path + ": ")
            unreadable.append(unreadable_document(store.scope, file.path, file.mark, reason))
            if 0 <= time() - file.changed_at < _RACY_SECONDS:
                # Another process may still be writing it, which does not change its folder's mark.
                run.check_again([file])
    _defer(run, failed)
    return memories, unreadable


def _write(
    run: RefreshPass, memories: list[StoredMemory], unreadable: list[Document], known: dict[str, IndexedFile]
) -> tuple[int, int]:
    """Write the memories to the index.

    Return how many were dropped because their files are no memories any more, and how many needed no text analysis.
    """
    connection, reflagged = run.connection, 0
    before = [known[document.path].key for document in unreadable if document.path in known]
    with transaction(connection):
        dropped = sum(find_document(connection, key) is not None for key in before)
        superseded = superseded_documents(connection, [stored.key for stored in memories])
        documents = list(unreadable)
        for whole in memories:
            stored = run.trust.with_accepted_phrases(whole)
            trust, row = run.trust.state_of(stored), known.get(stored.path)
            injectable = may_inject(stored, trust) and stored.key not in superseded
            if (
                row is not None
                and row.digest == stored.digest
                and (not whole.memory.asked_as or _has_same_phrases(connection, stored))
            ):
                set_flags(connection, stored.key, injectable, trust, stored.stamp)
                set_new_phrases(connection, stored.key, run.trust.new_phrases(whole))
                reflagged += 1
            else:
                before += [row.key] if row is not None and row.key != stored.key else []
                document = memory_document(stored, trust)
                new_phrases = run.trust.new_phrases(whole)
                documents.append(document._replace(injectable=injectable, new_phrases=new_phrases))
        drop(connection, before)
        put(connection, documents)
        update_guards(connection, memories, run.trust)
        run.count_read(len(documents) + reflagged)
    return dropped, reflagged


def _has_same_phrases(connection: Connection, stored: StoredMemory) -> bool:
    """Return whether the index has the phrases that recall may use now, which a decision changes without the file."""
    document = find_document(connection, stored.key)
    phrases = stored.memory.asked_as
    return document is None or document.asked_as == shown_items(phrases, MAX_PHRASE)


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
