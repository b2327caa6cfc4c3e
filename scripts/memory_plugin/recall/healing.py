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
from ..memories import gitlog
from ..memories.files import StoredMemory, category_folders, is_read, listing, read_memory, why_left_alone
from ..memories.native import native_folders, notes
from ..memories.record import ACTIVE, InvalidMemory, categories
from ..memories.stores import project_store, repository, stores
from ..memories.trust import load_trust, trust_path
from ..memories.writing import LOCK_WAIT, store_lock
from .documents import may_inject, memory_document, note_document
from .freshness import UNSURE, changed_paths, glance, remember
from .index import read, write
from .index.file import IndexError_, create_index, meta_get, meta_set, open_index, refresh_model, transaction
from .index.place import index_path
from .index.trouble import INDEX_FAULTS, is_locked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..kernel.sqlite import Connection
    from ..memories.gitlog import Mark
    from ..memories.record import Category
    from ..memories.stores import Store

__all__ = [
    "INLINE_FILES",
    "HealReport",
    "TooMuch",
    "heal",
    "heal_now",
    "index_state",
    "is_alive",
    "make_anew",
    "scrub_index",
]

# About 1 ms a file on a small machine, so that a prompt waits less than 100 ms for its index.
INLINE_FILES = 60
_BATCH = 500
_HEAL_WAIT = 20.0
_HEAL_PATIENCE = 5.0
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


class _View(NamedTuple):
    """What is known before a healing.

    The paths that changed (None: nobody knows), whether everything is looked at all the same, files known to differ from the index, and
    the marks of files that hold no living memory.
    """

    changed: set[str] | None
    everything: bool
    edited: set[str]
    lifeless: dict[str, str]

    def has_changed(self, *paths: str) -> bool:
        """Whether one of these paths may have changed."""
        return self.changed is None or not self.changed.isdisjoint(paths)

    def is_due(self, folder: str) -> bool:
        """Whether a folder needs a look."""
        return (
            self.everything
            or self.has_changed(folder)
            or any(os.path.dirname(p) == folder for p in self.edited)
        )


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
            return _heal_all(open_index(path, timeout=_HEAL_PATIENCE), places, settings)
        except INDEX_FAULTS as error:
            if is_locked(error):
                raise
            return _heal_all(create_index(path), places, settings)


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
        return _heal_all(create_index(path), places, settings)


def _heal_all(connection: Connection, places: Places, settings: Settings) -> HealReport:
    with closing(connection):
        # A writer that spills its cache locks readers out until it commits.
        connection.execute("PRAGMA cache_spill = OFF")
        refresh_model(connection)
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
    # First git's logs, then the folders: what git brings in between belongs to the next healing.
    repositories = [repository(store) for store in stores(places)]
    logs = [gitlog.mark(folder) if folder else None for folder in repositories]
    view = _View(changed_paths(connection), full, set(edited), _lifeless(connection))
    marks = glance(_watched(places, settings), _trust_paths(places))
    work = [_survey(connection, places, store, log, view) for store, log in zip(stores(places), logs)]
    if most is not None and sum(len(part.changed) for part in work) > most:
        raise TooMuch
    wait = LOCK_WAIT if most is None else _PROMPT_LOCK_WAIT
    report = HealReport(0, 0, 0, 0)
    for part in work:
        report = _add(report, _heal_store(connection, places, settings, part, view, marks, wait))
    folders = native_folders(places) if settings.flag("native.enabled") else []
    if full or view.edited or view.has_changed(*_native_paths(folders)):
        report = _add(report, _heal_notes(connection, folders))
    with transaction(connection):
        remember(connection, marks)
        meta_set(connection, _LIFELESS, dumps(view.lifeless))
    return report


def _lifeless(connection: Connection) -> dict[str, str]:
    """The files that were read and hold no living memory, with their marks, so that they are not read again on each change beside them."""
    kept = meta_get(connection, _LIFELESS)
    found = loads(kept) if kept else {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _add(one: HealReport, other: HealReport) -> HealReport:
    return HealReport(*(a + b for a, b in zip(one, other)))


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


def _survey(connection: Connection, places: Places, store: Store, log: Mark | None, view: _View) -> _Work:
    """What of a store has to be read: everything when its trust changed, else the files whose stamp is not the indexed one."""
    known = read.stamps(connection, store.scope)
    if why_left_alone(store):
        return _Work(store, None, [], [key for key, _, _ in known.values()])
    regrade = view.has_changed(trust_path(places, store))
    fresh: list[_File] = []
    seen: set[str] = set()
    looked_at: set[str] = set()
    for category, folder in category_folders(store):
        if regrade or view.is_due(folder):
            looked_at.add(folder)
            for path, status in listing(folder):
                seen.add(path)
                mark = _lifeless_mark(status)
                as_known = path in known and known[path][1] == stamp(status) and path not in view.edited
                if view.lifeless.get(path) != mark and (regrade or not as_known):
                    fresh.append(_File(category, path, mark))
    for path in [path for path in view.lifeless if path not in seen and _is_gone(path, looked_at)]:
        del view.lifeless[path]
    outside = {path for path in known if os.path.dirname(os.path.dirname(path)) != store.root}
    gone = [path for path in known if path not in seen and (path in outside or _is_gone(path, looked_at))]
    return _Work(store, log, fresh, [known[path][0] for path in gone])


def _is_gone(path: str, looked_at: set[str]) -> bool:
    """Whether a file that was not seen is no longer in the store: its folder was looked at, or is none that is read."""
    folder = os.path.dirname(path)
    return folder in looked_at or not is_read(folder)


def _lifeless_mark(status: os.stat_result) -> str:
    """As `stamp`, and the time of the last change of rights: a file that could not be read may be readable now."""
    return "%s:%d" % (stamp(status), status.st_ctime_ns)


def _heal_store(
    connection: Connection,
    places: Places,
    settings: Settings,
    work: _Work,
    view: _View,
    marks: dict[str, str],
    wait: float,
) -> HealReport:
    found, unreadable = _read(work, view.lifeless)
    with store_lock(places, work.store, wait):
        trust = load_trust(places, work.store)
        standings = trust.review(found, settings.text("trust.pulls") == "accept", work.log)
        trust.save()
        marks.update(glance(_trust_paths(places), _trust_paths(places)))
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


def _read(work: _Work, lifeless: dict[str, str]) -> tuple[list[StoredMemory], list[str]]:
    """The memories in the files that need a look, and the files that hold none; `lifeless` is brought up to date."""
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
        if not is_alive(stored):
            lifeless[path] = mark
    return found, unreadable


def is_alive(stored: StoredMemory) -> bool:
    """Whether a memory belongs into the index."""
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
                if not is_alive(stored):
                    write.drop(connection, [stored.key])
                elif stored.path in known and known[stored.path][2] == stored.digest:
                    write.set_flags(
                        connection, stored.key, may_inject(stored, standing), standing, stored.stamp
                    )
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
