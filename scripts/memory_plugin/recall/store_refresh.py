"""One store in a refresh of the index: its due files are read, their trust reviewed, and the index updated, batch by batch.

Also the notes of Claude Code's own memory, file by file. Everything is committed in batches and may be interrupted at any point: a file
that was not read is still due.
"""

from __future__ import annotations

import os
from time import time
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.files import Unreadable, stamp
from ..memories import gitlog
from ..memories.files import StoredMemory, read_memory
from ..memories.native import note_files, notes_in
from ..memories.record import ACTIVE, InvalidMemory
from ..memories.stores import repository
from ..memories.trust import load_trust, trust_path
from ..memories.writing import LOCK_WAIT, store_lock
from .documents import may_inject, memory_document, note_document
from .due_files import batches
from .freshness import UNSURE, snapshot
from .index_documents import (
    drop,
    file_stamps,
    forget_stamps,
    notes_by_file,
    put,
    set_flags,
    superseded_documents,
)
from .index_file import transaction

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..kernel.sqlite import Connection
    from ..memories.stores import Store
    from .due_files import DueFile, DueWork, Share, View

__all__ = ["RefreshPass", "RefreshReport", "is_active", "refresh_notes", "refresh_store"]

_BATCH = 500
# A file changed this recently may still be being written; the coarsest clock of a file system steps by 2 s.
_RACY_SECONDS = 2.1
_PROMPT_LOCK_WAIT = 0.1


class RefreshReport(NamedTuple):
    """Memories read again, dropped, and given another trust; files that hold no memory; files left for the next refresh, at least."""

    read: int = 0
    dropped: int = 0
    regraded: int = 0
    unreadable: int = 0
    left: int = 0

    def plus(self, other: RefreshReport) -> RefreshReport:
        """Return the sums of two reports."""
        return RefreshReport(*(a + b for a, b in zip(self, other)))


class RefreshPass:
    """One pass over the stores: the index, what is known before it, and the marks by which the next pass sees what changed.

    A pass that leaves something marks its folder UNSURE, so that the next one checks it again. A prompt waits less for a store's lock.
    """

    __slots__ = ("connection", "marks", "places", "settings", "view", "wait")

    def __init__(
        self, connection: Connection, places: Places, settings: Settings, view: View, marks: dict[str, str]
    ) -> None:
        self.connection = connection
        self.places = places
        self.settings = settings
        self.view = view
        self.marks = marks
        self.wait = LOCK_WAIT if view.entries is None else _PROMPT_LOCK_WAIT

    def check_again(self, files: list[DueFile]) -> None:
        """Let the next pass list the folders of these files."""
        self.marks.update((os.path.dirname(file.path), UNSURE) for file in files)


def refresh_store(run: RefreshPass, work: DueWork) -> RefreshReport:
    """Bring the index up to date with the due files of one store. Raises Busy, OSError and SqliteError."""
    if work.unseen:
        run.marks.update((path, UNSURE) for path in run.marks if path.startswith(work.store.root))
        run.marks[trust_path(run.places, work.store)] = UNSURE
        return RefreshReport(left=1)
    run.marks.update((folder, UNSURE) for folder in work.again)
    taken = batches(work.changed, lambda file: file.size)
    report = RefreshReport(left=len(work.left))
    for at, files in enumerate(taken or [[]]):
        part = work._replace(changed=files, gone=[] if at else work.gone)
        complete = not work.left and not work.again and at >= len(taken) - 1
        report = report.plus(_refresh_batch(run, part, complete))
    _leave(run, work.store, work.left)
    return report


def _leave(run: RefreshPass, store: Store, left: list[DueFile]) -> None:
    """Make sure that the next pass finds the files that this one leaves, also those of which only the trust has changed."""
    if left:
        run.check_again(left)
        known = file_stamps(run.connection, store.scope)
        unread = [known[file.path][0] for file in left if _looks_unchanged(file, known)]
        with transaction(run.connection):
            forget_stamps(run.connection, unread)


def _looks_unchanged(file: DueFile, known: dict[str, tuple[str, str, str]]) -> bool:
    return file.path in known and file.mark.startswith(known[file.path][1] + ":")


def _refresh_batch(run: RefreshPass, work: DueWork, complete: bool) -> RefreshReport:
    """Read and index some files of a store; `complete` says that nothing of the store remains unread after them."""
    found, unreadable = _read(run, work)
    with store_lock(run.places, work.store, run.wait):
        trust = load_trust(run.places, work.store)
        reviewed = trust.review(found, run.settings.text("trust.pulls") == "accept", work.log, complete)
        trust.save()
        own_file = trust_path(run.places, work.store)
        run.marks.update(snapshot([own_file], [own_file]))
    run.view.done.update(file.path for file in work.changed)
    if not trust.settled:  # git was at work: what it was doing decides about the trust, so look again
        run.check_again(work.changed)
        log = gitlog.log_path(repository(work.store) or "")
        run.marks.update((path, UNSURE) for path in run.marks if path == log)
        found = [stored if trust.is_known(stored) else stored._replace(stamp="") for stored in found]
    known = file_stamps(run.connection, work.store.scope)
    gone = work.gone + [known[path][0] for path in unreadable if path in known]
    regraded = _write(run.connection, found, reviewed, known, gone)
    return RefreshReport(len(found) - regraded, len(gone), regraded, len(unreadable))


def _read(run: RefreshPass, work: DueWork) -> tuple[list[StoredMemory], list[str]]:
    """Return the memories in the due files, and the files that hold none; `inactive` of the pass is updated."""
    inactive = run.view.inactive
    found: list[StoredMemory] = []
    unreadable: list[str] = []
    for file in work.changed:
        inactive.pop(file.path, None)
        try:
            stored = read_memory(work.store, file.category, file.path)
        except (InvalidMemory, Unreadable, FileNotFoundError):
            unreadable.append(file.path)
            inactive[file.path] = file.mark
            if 0 <= time() - file.changed_at < _RACY_SECONDS:
                # Another process may be writing it still, which does not change its folder.
                run.check_again([file])
            continue
        found.append(stored)
        if not is_active(stored):
            inactive[file.path] = file.mark
    return found, unreadable


def is_active(stored: StoredMemory) -> bool:
    """Return whether a memory belongs in the index; superseded ones do, for search."""
    return stored.memory.status == ACTIVE


def _write(
    connection: Connection,
    found: list[StoredMemory],
    reviewed: dict[str, str],
    known: dict[str, tuple[str, str, str]],
    gone: list[str],
) -> int:
    """Put what was found into the index, in batches, so that no reader waits long; return how many needed no analysis.

    `reviewed` maps keys to their trust, `known` files to what the index holds of them.
    """
    regraded = 0
    superseded = superseded_documents(connection)
    with transaction(connection):
        drop(connection, gone)
    for start in range(0, len(found), _BATCH):
        with transaction(connection):
            documents = []
            for stored in found[start : start + _BATCH]:
                trust = reviewed[stored.key]
                injectable = may_inject(stored, trust) and stored.key not in superseded
                if not is_active(stored):
                    drop(connection, [stored.key])
                elif stored.path in known and known[stored.path][2] == stored.digest:
                    set_flags(connection, stored.key, injectable, trust, stored.stamp)
                    regraded += 1
                else:
                    documents.append(memory_document(stored, trust)._replace(injectable=injectable))
            put(connection, documents)
    return regraded


def refresh_notes(run: RefreshPass, folders: list[str], share: Share) -> RefreshReport:
    """Index the notes that changed, small files first and as far as the share goes, and drop those that are gone."""
    known = notes_by_file(run.connection)
    listed = {path: status for folder in folders for path, status in note_files(folder)}
    gone = [key for path, (_, keys) in known.items() if path not in listed for key in keys]
    with transaction(run.connection):
        drop(run.connection, gone)
    read = left = 0
    edited, done = run.view.edited, run.view.done
    for path in sorted(listed, key=lambda path: (path not in edited, listed[path].st_size, path)):
        if path in known and known[path][0] == stamp(listed[path]) and path not in edited:
            continue
        if path in done:
            continue
        if left or not share.take(listed[path].st_size):  # all of a file may be indexed, passage by passage
            left += 1
            run.marks[os.path.dirname(path)] = UNSURE
            continue
        done.add(path)
        read += _refresh_note_file(run.connection, path, known.get(path, ("", []))[1])
    return RefreshReport(read, len(gone), left=left)


def _refresh_note_file(connection: Connection, path: str, before: list[str]) -> int:
    """Replace the indexed passages of a file with its present ones; return their number."""
    documents = [note_document(note) for note in notes_in(path)]
    with transaction(connection):
        drop(connection, before)
        put(connection, documents)
    return len(documents)
