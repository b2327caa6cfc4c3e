"""Healing: the index brought in line with the stores, file by file, and never more than that.

On a prompt only the folders that changed are looked at, and of the changed files only a share is read: a few, the likely ones and the
small ones first, counted in files and characters.  The rest is left to a detached process, and until it is done what is indexed answers.
Everything is committed in batches and may be interrupted at any point: the index is disposable, and a file that was not read is still due.
"""

from __future__ import annotations

import os
from contextlib import closing
from time import sleep, time
from typing import TYPE_CHECKING

from ..kernel.clock import now
from ..kernel.fastjson import dumps, loads
from ..kernel.files import Unreadable, make_folder
from ..kernel.locks import FileLock
from ..memories import gitlog
from ..memories.files import (
    StoredMemory,
    read_memory,
)
from ..memories.native import native_folders
from ..memories.record import ACTIVE, InvalidMemory, categories
from ..memories.stores import project_store, repository, stores
from ..memories.trust import load_trust, trust_path
from ..memories.writing import LOCK_WAIT, store_lock
from .documents import may_inject, memory_document
from .due import DueFile, DueWork, View, find_due, within_share
from .freshness import UNSURE, changed_paths, glance, remember
from .index import read, write
from .index.file import IndexError_, create_index, meta_get, meta_set, open_index, refresh_model, transaction
from .index.place import index_path
from .index.trouble import INDEX_FAULTS, is_locked
from .note_refresh import refresh_notes
from .refresh_report import HealReport, added
from .share import batches, round_share
from .superseding import settle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..kernel.sqlite import Connection
    from ..memories.stores import Store
    from .index.document import Document
    from .share import Share

__all__ = [
    "HealReport",
    "heal",
    "heal_now",
    "index_state",
    "is_alive",
    "make_anew",
    "scrub_index",
]

_BATCH = 500
_ROUNDS = 1000
_PAUSE = 0.01  # seconds in which a waiting prompt or command gets the lock
_RACY_SECONDS = 2.1  # a file changed this recently may still be being written; the coarsest clock of a file system steps by 2 s
_MOST_LIFELESS = 4 << 20
_HEAL_WAIT = 20.0
_HEAL_PATIENCE = 5.0
_PROMPT_LOCK_WAIT = 0.1
_LIFELESS = "lifeless"


def heal_now(places: Places, settings: Settings, rounds: int = _ROUNDS) -> HealReport:
    """Bring the index fully up to date, making it when there is none or it is damaged.

    It works in rounds of some 10,000 usual memories, and between them lets others at the index; with fewer `rounds` than that takes, the
    report says how many files are left. Raises IndexError_ when it cannot be made, Busy when another process is at it for long, OSError
    for the disk.
    """
    path = index_path(places)
    make_folder(os.path.dirname(path))
    done: set[str] = set()
    total = _round(path, places, settings, done)
    for _ in range(1, rounds):
        if not total.left:
            break
        sleep(_PAUSE)
        total = added(total._replace(left=0), _round(path, places, settings, done))
    return total


def _round(path: str, places: Places, settings: Settings, done: set[str]) -> HealReport:
    with FileLock(path + ".heal", _HEAL_WAIT):
        try:
            return _heal_all(open_index(path, timeout=_HEAL_PATIENCE), places, settings, done)
        except INDEX_FAULTS as error:
            if is_locked(error):
                raise
            done.clear()
            return _heal_all(create_index(path), places, settings, done)


def scrub_index(places: Places) -> None:
    """Leave no word of deleted memories in the index file. Raises IndexError_, SqliteError, and Busy after 20 seconds."""
    path = index_path(places)
    with (
        FileLock(path + ".heal", _HEAL_WAIT),
        closing(open_index(path, timeout=_HEAL_PATIENCE)) as connection,
    ):
        write.scrub(connection)


def make_anew(places: Places, settings: Settings) -> HealReport:
    """Put a new index in the place of one that turned out to be damaged. Raises as `heal_now` does."""
    path = index_path(places)
    with FileLock(path + ".heal", _HEAL_WAIT):
        create_index(path).close()
    return heal_now(places, settings)


def _heal_all(connection: Connection, places: Places, settings: Settings, done: set[str]) -> HealReport:
    with closing(connection):
        # A writer that spills its cache locks readers out until it commits.
        connection.execute("PRAGMA cache_spill = OFF")
        refresh_model(connection)
        return heal(connection, places, settings, full=True, share=round_share(), done=done)


def heal(
    connection: Connection,
    places: Places,
    settings: Settings,
    full: bool = False,
    share: Share | None = None,
    edited: Iterable[str] = (),
    done: set[str] | None = None,
) -> HealReport:
    """Bring the index up to date with the folders that changed, or with everything, as far as the share goes (None: a round's).

    `edited` names files known to differ from the index; `done` those that an earlier round has read, and gets those of this one.
    """
    share = share or round_share()
    # First git's logs, then the folders: what git brings in between belongs to the next healing.
    repositories = [repository(store) for store in stores(places)]
    logs = [gitlog.mark(folder) if folder else None for folder in repositories]
    wait = LOCK_WAIT if share.entries is None else _PROMPT_LOCK_WAIT
    if _is_large(connection, share):
        return HealReport(0, 0, 0, 0, left=1)
    done = set() if done is None else done
    view = View(changed_paths(connection), full, set(edited), _lifeless(connection), done, share.entries)
    marks = glance(_watched(places, settings), _trust_paths(places))
    work = [find_due(connection, places, store, log, view) for store, log in zip(stores(places), logs)]
    report = HealReport(0, 0, 0, 0)
    for part in within_share(work, places, view.edited, share):
        report = added(report, _heal_store(connection, places, settings, part, view, marks, wait))
    folders = native_folders(places) if settings.flag("native.enabled") else []
    if full or view.edited or view.has_changed(*_native_paths(folders)):
        report = added(report, refresh_notes(connection, folders, view, marks, share))
    with transaction(connection):
        settle(connection, lambda document, phrases: _read_again(places, document, phrases))
        remember(connection, marks)
        meta_set(connection, _LIFELESS, dumps(view.lifeless))
    return report


def _is_large(connection: Connection, share: Share) -> bool:
    """Whether merely looking for what changed would take longer than a prompt waits."""
    if share.entries is None:
        return False
    held = read.documents_held(connection)
    return held > share.entries or len(meta_get(connection, _LIFELESS) or "") > _MOST_LIFELESS


def _read_again(places: Places, document: Document, inherited: tuple[str, ...]) -> Document | None:
    """Return a document made again from its file, with the phrases that it inherits; None when the file changed since."""
    store = next((store for store in stores(places) if store.scope == document.scope), None)
    category = next(one for one in categories().values() if one.label == document.category)
    try:
        stored = None if store is None else read_memory(store, category, document.path)
    except (InvalidMemory, Unreadable, FileNotFoundError):
        return None
    if stored is None or stored.digest != document.digest:
        return None
    return memory_document(stored, document.trust, inherited)


def _lifeless(connection: Connection) -> dict[str, str]:
    """The files that were read and hold no living memory, with their marks, so that they are not read again on each change beside them."""
    kept = meta_get(connection, _LIFELESS)
    found = loads(kept) if kept else {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _watched(places: Places, settings: Settings) -> list[str]:
    """Every folder and file whose change means that the index is behind, or that git has moved."""
    paths = [os.path.join(places.project_root, ".claude", "memory")]
    for store in stores(places):
        paths += [store.root, trust_path(places, store)]
        paths += [os.path.join(store.root, category.folder) for category in categories().values()]
        folder = repository(store)
        if folder:
            paths += filter(None, [gitlog.log_path(folder)])
    if settings.flag("native.enabled"):
        paths += _native_paths(native_folders(places))
    return list(dict.fromkeys(paths))


def _trust_paths(places: Places) -> list[str]:
    return [trust_path(places, store) for store in stores(places)]


def _native_paths(folders: list[str]) -> list[str]:
    return [path for folder in folders for path in (folder, os.path.join(folder, "MEMORY.md"))]


def _heal_store(
    connection: Connection,
    places: Places,
    settings: Settings,
    work: DueWork,
    view: View,
    marks: dict[str, str],
    wait: float,
) -> HealReport:
    if work.unseen:
        marks.update((path, UNSURE) for path in marks if path.startswith(work.store.root))
        marks[trust_path(places, work.store)] = UNSURE
        return HealReport(0, 0, 0, 0, left=1)
    marks.update((folder, UNSURE) for folder in work.again)
    taken = batches(work.changed, lambda file: file.size)
    report = HealReport(0, 0, 0, 0, left=len(work.left))
    for at, files in enumerate(taken or [[]]):
        part = work._replace(changed=files, gone=[] if at else work.gone)
        complete = not work.left and not work.again and at >= len(taken) - 1
        report = added(report, _heal_batch(connection, places, settings, part, view, marks, wait, complete))
    _leave(connection, work.store, work.left, marks)
    return report


def _leave(connection: Connection, store: Store, left: list[DueFile], marks: dict[str, str]) -> None:
    """Make sure that the next refresh finds what this one leaves, also where only its trust had changed."""
    if left:
        marks.update((os.path.dirname(file.path), UNSURE) for file in left)
        known = read.stamps(connection, store.scope)
        unread = [known[file.path][0] for file in left if _seems_known(file, known)]
        with transaction(connection):
            write.forget_stamps(connection, unread)


def _seems_known(file: DueFile, known: dict[str, tuple[str, str, str]]) -> bool:
    """Whether nothing but this refresh knows that a file is due."""
    return file.path in known and file.mark.startswith(known[file.path][1] + ":")


def _heal_batch(  # noqa: PLR0913, PLR0917  (as `_heal_store`)
    connection: Connection,
    places: Places,
    settings: Settings,
    work: DueWork,
    view: View,
    marks: dict[str, str],
    wait: float,
    complete: bool,
) -> HealReport:
    found, unreadable = _read(work, view.lifeless, marks)
    with store_lock(places, work.store, wait):
        trust = load_trust(places, work.store)
        standings = trust.review(found, settings.text("trust.pulls") == "accept", work.log, complete)
        trust.save()
        marks.update(glance([trust_path(places, work.store)], [trust_path(places, work.store)]))
    view.done.update(file.path for file in work.changed)
    if not trust.settled:
        marks.update((os.path.dirname(file.path), UNSURE) for file in work.changed)
        marks.update(
            (path, UNSURE) for path in marks if path == gitlog.log_path(repository(work.store) or "")
        )
        found = [stored if trust.is_known(stored) else stored._replace(stamp="") for stored in found]
    known = read.stamps(connection, work.store.scope)
    no_longer = work.gone + [known[path][0] for path in unreadable if path in known]
    regraded = _write(connection, found, standings, known, no_longer)
    return HealReport(len(found) - regraded, len(no_longer), regraded, len(unreadable))


def _read(
    work: DueWork, lifeless: dict[str, str], marks: dict[str, str]
) -> tuple[list[StoredMemory], list[str]]:
    """The memories in the files that need a look, and the files that hold none; `lifeless` is brought up to date."""
    found: list[StoredMemory] = []
    unreadable: list[str] = []
    for file in work.changed:
        lifeless.pop(file.path, None)
        try:
            stored = read_memory(work.store, file.category, file.path)
        except (InvalidMemory, Unreadable, FileNotFoundError):
            unreadable.append(file.path)
            lifeless[file.path] = file.mark
            if (
                0 <= time() - file.changed_at < _RACY_SECONDS
            ):  # the rest of it may come without a trace in the folder
                marks[os.path.dirname(file.path)] = UNSURE
            continue
        found.append(stored)
        if not is_alive(stored):
            lifeless[file.path] = file.mark
    return found, unreadable


def is_alive(stored: StoredMemory) -> bool:
    """Return whether a memory belongs in the index; superseded ones do, for search."""
    return stored.memory.status == ACTIVE


def _write(
    connection: Connection,
    found: list[StoredMemory],
    standings: dict[str, str],
    known: dict[str, tuple[str, str, str]],
    gone: list[str],
) -> int:
    """Put what was found into the index, in batches, so that no reader waits long; how many needed no analysis."""
    regraded = 0
    superseded = read.superseded(connection)
    with transaction(connection):
        write.drop(connection, gone)
    for start in range(0, len(found), _BATCH):
        with transaction(connection):
            documents = []
            for stored in found[start : start + _BATCH]:
                standing = standings[stored.key]
                if not is_alive(stored):
                    write.drop(connection, [stored.key])
                elif stored.path in known and known[stored.path][2] == stored.digest:
                    injectable = may_inject(stored, standing) and stored.key not in superseded
                    write.set_flags(connection, stored.key, injectable, standing, stored.stamp)
                    regraded += 1
                else:
                    document = memory_document(stored, standing)
                    document.injectable = document.injectable and stored.key not in superseded
                    documents.append(document)
            write.put(connection, documents)
    return regraded


def index_state(places: Places) -> dict[str, object]:
    """The index for people who ask how it is: `state` is whole, behind, missing or unusable; with `memories`, `bytes` and the `path`."""
    path = index_path(places)
    state: dict[str, object] = {"path": path, "state": "whole", "memories": 0, "bytes": 0, "reason": ""}
    try:
        connection = open_index(path)
    except IndexError_ as error:
        state.update(state="unusable" if os.path.exists(path) else "missing", reason=str(error))
        return state
    try:
        behind = changed_paths(connection)
        state.update(
            state="whole" if behind == set() else "behind",
            memories=read.count(connection),
            bytes=os.path.getsize(path),
        )
        state["age_seconds"] = round(now() - os.path.getmtime(path))
        state["store"] = project_store(places).root
    finally:
        connection.close()
    return state
