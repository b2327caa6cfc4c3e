"""Healing: the index brought in line with the stores, file by file, and never more than that.

On a prompt only the folders that changed are looked at, and only a few changed files are read; more than that is left to a detached
process, and until it is done the old index answers.  Everything here may be interrupted at any point: the index is disposable.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import now
from ..kernel.files import Unreadable, make_folder, stamp
from ..kernel.locks import FileLock
from ..kernel.native import dumps, loads
from ..kernel.sqlite import SqliteError
from ..memories import gitlog
from ..memories.files import StoredMemory, category_folders, listing, read_memory, why_left_alone
from ..memories.native import native_folders, notes
from ..memories.record import ACTIVE, InvalidMemory, categories
from ..memories.stores import project_store, stores
from ..memories.trust import load_trust, trust_path
from ..memories.writing import LOCK_WAIT, store_lock
from .documents import memory_document, note_document
from .freshness import changed_paths, glance, remember
from .index import read, write
from .index.file import IndexError_, IndexLocked, create_index, meta_get, meta_set, open_index, transaction
from .lookup import index_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..kernel.sqlite import Connection
    from ..memories.gitlog import Mark
    from ..memories.record import Category
    from ..memories.stores import Store

__all__ = ["INLINE_FILES", "HealReport", "TooMuch", "heal", "heal_now", "index_state"]

# About 1 ms a file on a small machine, so that a prompt waits less than 100 ms for its index.
INLINE_FILES = 60
_BATCH = 500
_HEAL_WAIT = 20.0
_PROMPT_LOCK_WAIT = 0.1
_LIFELESS = "lifeless"


class TooMuch(Exception):
    """More files changed than a prompt waits for."""


class HealReport(NamedTuple):
    """What a healing did: memories read anew, dropped, and given another standing; files that are no memories."""

    read: int
    dropped: int
    regraded: int
    unreadable: int


class _File(NamedTuple):
    """A file that needs a look, with the mark by which one without a living memory is known and passed over."""

    category: Category
    path: str
    mark: str


class _Work(NamedTuple):
    """What needs a look in one store: `log` is the end of git's log before anything was looked at."""

    store: Store
    log: Mark | None
    changed: list[_File]
    gone: list[str]


def heal_now(places: Places, settings: Settings) -> HealReport:
    """Bring the index fully up to date, making it when there is none or it is damaged.

    Raises IndexError_ when it cannot be made, Busy when another process is at it for long, OSError for the disk.
    """
    path = index_path(places)
    make_folder(os.path.dirname(path))
    with FileLock(path + ".heal", _HEAL_WAIT):
        try:
            return _heal_all(open_index(path, timeout=5.0), places, settings)
        except IndexLocked:
            raise
        except (
            IndexError_,
            SqliteError,
            ValueError,
            TypeError,
            LookupError,
        ):  # a damaged index yields odd rows, too
            return _heal_all(create_index(path), places, settings)


def _heal_all(connection: Connection, places: Places, settings: Settings) -> HealReport:
    with closing(connection):
        # A writer that spills its cache locks readers out until it commits.
        connection.execute("PRAGMA cache_spill = OFF")
        return heal(connection, places, settings, full=True)


def heal(
    connection: Connection,
    places: Places,
    settings: Settings,
    full: bool = False,
    most: int | None = None,
    edited: Iterable[str] = (),
) -> HealReport:
    """Bring the index up to date with the folders that changed, or with everything.

    `edited` names files known to differ from the index. Raises TooMuch, with nothing done, when more than `most` files have to be read.
    """
    edited = set(edited)
    changed = None if full else changed_paths(connection)
    marks = glance(_watched(places, settings))
    lifeless = _lifeless(connection)
    work = [_survey(connection, places, store, changed, edited, lifeless) for store in stores(places)]
    if most is not None and sum(len(part.changed) for part in work) > most:
        raise TooMuch
    wait = LOCK_WAIT if most is None else _PROMPT_LOCK_WAIT
    report = HealReport(0, 0, 0, 0)
    for part in work:
        report = _add(report, _heal_store(connection, places, settings, part, marks, lifeless, wait))
    folders = native_folders(places) if settings.flag("native.enabled") else []
    if changed is None or changed.intersection(folders) or edited:
        report = _add(report, _heal_notes(connection, folders))
    with transaction(connection):
        remember(connection, marks)
        meta_set(connection, _LIFELESS, dumps(lifeless))
    return report


def _lifeless(connection: Connection) -> dict[str, str]:
    """The files that were read and hold no living memory, with their marks, so that they are not read again on each change beside them."""
    kept = meta_get(connection, _LIFELESS)
    found = loads(kept) if kept else {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _add(one: HealReport, other: HealReport) -> HealReport:
    return HealReport(*(a + b for a, b in zip(one, other)))


def _watched(places: Places, settings: Settings) -> list[str]:
    """Every folder and file whose change means that the index is behind."""
    paths = [os.path.join(places.project_root, ".claude", "memory")]
    for store in stores(places):
        paths += [store.root, trust_path(places, store)]
        paths += [os.path.join(store.root, category.folder) for category in categories().values()]
    if settings.flag("native.enabled"):
        for folder in native_folders(places):
            paths += [folder, os.path.join(folder, "MEMORY.md")]
    return list(dict.fromkeys(paths))


def _survey(
    connection: Connection,
    places: Places,
    store: Store,
    changed: set[str] | None,
    edited: set[str],
    lifeless: dict[str, str],
) -> _Work:
    """What of a store has to be read: everything when its trust changed, else the files whose stamp is not the indexed one."""
    known = read.stamps(connection, store.scope)
    if why_left_alone(store):
        return _Work(store, None, [], [key for key, _, _ in known.values()])
    log = gitlog.mark(store.worktree) if store.worktree else None
    regrade = changed is not None and trust_path(places, store) in changed
    folders_edited = {os.path.dirname(path) for path in edited}
    fresh: list[_File] = []
    seen: set[str] = set()
    looked_at: set[str] = set()
    for category, folder in category_folders(store):
        if changed is None or regrade or folder in changed or folder in folders_edited:
            looked_at.add(folder)
            for path, status in listing(folder):
                seen.add(path)
                mark = _lifeless_mark(status)
                if lifeless.get(path) != mark and (
                    regrade or path in edited or path not in known or known[path][1] != stamp(status)
                ):
                    fresh.append(_File(category, path, mark))
    folders = {os.path.dirname(path) for path in [*known, *lifeless]} - looked_at
    there = looked_at | {folder for folder in folders if os.path.islink(folder) or not os.path.isdir(folder)}
    for path in [path for path in lifeless if path not in seen and os.path.dirname(path) in there]:
        del lifeless[path]
    return _Work(
        store,
        log,
        fresh,
        [key for path, (key, _, _) in known.items() if path not in seen and os.path.dirname(path) in there],
    )


def _lifeless_mark(status: os.stat_result) -> str:
    """As `stamp`, and the time of the last change of rights: a file that could not be read may be readable now."""
    return "%s:%d" % (stamp(status), status.st_ctime_ns)


def _heal_store(
    connection: Connection,
    places: Places,
    settings: Settings,
    work: _Work,
    marks: dict[str, str],
    lifeless: dict[str, str],
    wait: float,
) -> HealReport:
    found: list[StoredMemory] = []
    unreadable: list[str] = []
    for category, path, mark in work.changed:
        lifeless.pop(path, None)
        try:
            stored = read_memory(work.store, category, path)
        except (InvalidMemory, Unreadable, FileNotFoundError):
            unreadable.append(path)
            lifeless[path] = mark
            continue
        found.append(stored)
        if not _is_alive(stored):
            lifeless[path] = mark
    with store_lock(places, work.store, wait):
        trust = load_trust(places, work.store)
        standings = trust.review(found, settings.text("trust.pulls") == "accept", work.log)
        trust.save()
        marks.update(glance([trust_path(places, work.store)]))
    if trust.unsettled:
        marks.update((os.path.dirname(file.path), "?") for file in work.changed)
        found = [stored if trust.is_known(stored) else stored._replace(stamp="") for stored in found]
    known = read.stamps(connection, work.store.scope)
    no_longer = work.gone + [known[path][0] for path in unreadable if path in known]
    regraded = _write(connection, found, standings, known, no_longer)
    return HealReport(len(found) - regraded, len(no_longer), regraded, len(unreadable))


def _is_alive(stored: StoredMemory) -> bool:
    return stored.memory.status == ACTIVE and not stored.memory.superseded_by


def _write(
    connection: Connection,
    found: list[StoredMemory],
    standings: dict[str, str],
    known: dict[str, tuple[str, str, str]],
    gone: list[str],
) -> int:
    """Put what was found into the index, in batches, so that no reader waits long; how many needed no analysis."""
    regraded = 0
    with transaction(connection):
        write.drop(connection, gone)
    for start in range(0, len(found), _BATCH):
        with transaction(connection):
            documents = []
            for stored in found[start : start + _BATCH]:
                standing = standings[stored.key]
                if not _is_alive(stored):
                    write.drop(connection, [stored.key])
                elif stored.path in known and known[stored.path][2] == stored.digest:
                    write.set_flags(connection, stored.key, standing == "trusted", standing, stored.stamp)
                    regraded += 1
                else:
                    documents.append(memory_document(stored, standing))
            write.put(connection, documents)
    return regraded


def _heal_notes(connection: Connection, folders: list[str]) -> HealReport:
    """Read Claude Code's own notes anew; they are few."""
    before = {document.key for document in read.rows(connection, "native")}
    documents = [note_document(note) for folder in folders for note in notes(folder)]
    gone = before.difference(document.key for document in documents)
    with transaction(connection):
        write.drop(connection, gone)
        write.put(connection, documents)
    return HealReport(len(documents), len(gone), 0, 0)


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
