"""Bring the index up to date with the stores, file by file.

Commands and a background process do this; a prompt only detects that it is due and uses what is indexed. Changes are committed in batches
and may be interrupted at any point: the index can always be rebuilt, and a file that was not read is still due.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from time import sleep

from ..kernel.files import make_folder
from ..kernel.paths import Paths
from ..kernel.settings import Settings, load
from ..kernel.sqlite import Connection
from ..memories.guard_file import guard_file_path
from ..memories.memory_files import stores
from ..memories.nearby import native_folders
from ..memories.record import categories
from ..memories.trust import PENDING, load_trust
from ..memories.trust_file import decision_paths
from ..memories.writing import own_writes
from .in_force import apply_supersession, seed_guards, write_guards
from .index_documents import files_by_trust, files_of_texts, total_documents
from .index_file import (
    CHANGED,
    DECIDED,
    GUARDS,
    INDEX_ERRORS,
    NAMED_FILES,
    OWN,
    POSTINGS,
    PROJECT_ROOT,
    UNSURE,
    WRITTEN,
    IndexUnavailable,
    changed_paths,
    has_fts5,
    index_path,
    is_locked,
    meta_get,
    meta_set,
    new_decisions,
    open_index,
    refresh_lock,
    save_snapshot,
    saved_marks,
    set_unread,
    snapshot,
    transaction,
)
from .index_tables import create_index, refresh_model
from .named_files import named_files_path, write_named_files
from .store_refresh import (
    ReadBudget,
    RefreshPass,
    RefreshReport,
    refresh_notes,
    refresh_stores,
)

_MAX_ROUNDS = 1000
_PAUSE = 0.01  # seconds in which a waiting command gets the lock
_LOCK_WAIT = 20.0
_WRITER_WAIT = 5.0
# Files of pending memories are watched one by one: an edit in place does not change the folder, and recall checks only what it injects.
_MAX_WATCHED_PENDING = 50


def refresh_index(
    paths: Paths,
    settings: Settings,
    rounds: int = _MAX_ROUNDS,
    *,
    full: bool = True,
    budget: ReadBudget | None = None,
    wait: float = _LOCK_WAIT,
) -> RefreshReport:
    """Bring the index up to date; create it if it is missing or damaged.

    The work is done in rounds of about 10,000 typical memories, between which other processes can use the index. With fewer `rounds` than
    needed, the report has the number of files left. Unless `full`, only folders that changed are checked. `budget` replaces that of the
    first round. Raises IndexUnavailable if the index cannot be created, Busy if another process keeps the lock, and OSError.
    """
    path = index_path(paths)
    make_folder(os.path.dirname(path))
    total = RefreshReport(remaining=1)

    def refresh_open(connection: Connection, *, full: bool) -> RefreshReport:
        with closing(connection):
            # A writer that spills its cache locks readers out until it commits.
            connection.execute("PRAGMA cache_spill = OFF")
            refresh_model(connection)
            return refresh(connection, paths, settings, full=full, budget=budget)

    for number in range(rounds):
        if not total.remaining:
            break
        if number:
            sleep(_PAUSE)
        with refresh_lock(path, wait):
            try:
                report = refresh_open(open_index(path, timeout=_WRITER_WAIT), full=full)
            except INDEX_ERRORS as error:
                if is_locked(error):
                    raise
                report = refresh_open(create_index(path), full=True)
        total = total._replace(remaining=0).plus(report)
        budget = None
    return total


def scrub_index(paths: Paths) -> None:
    """Erase the text of deleted memories from the index file: SQLite and FTS5 keep it until its space is reused.

    Raises IndexUnavailable, SqliteError, and Busy after 20 seconds.
    """
    path = index_path(paths)
    with (
        refresh_lock(path, _LOCK_WAIT),
        closing(open_index(path, timeout=_WRITER_WAIT)) as connection,
    ):
        connection.execute(
            "DELETE FROM vocabulary WHERE strong + weak + held_strong + held_weak = 0 AND share = 0"
        )
        for table in POSTINGS.values() if has_fts5(connection) else ():
            connection.execute("INSERT INTO %s (%s) VALUES ('optimize')" % (table, table))
        connection.execute("VACUUM")  # rewrites the file


def refresh(
    connection: Connection,
    paths: Paths,
    settings: Settings,
    *,
    full: bool = False,
    budget: ReadBudget | None = None,
) -> RefreshReport:
    """Update the index with the changed folders, or all folders if `full`, up to the budget (None: that of one round).

    The caller must hold `refresh_lock`.
    """
    budget = budget or ReadBudget()
    is_hook = budget.entries is not None
    # The marks are taken before settings, records and files are read, so that a change in between belongs to the next refresh.
    watched = _watched(paths, settings)
    marks = snapshot(watched, wait=not is_hook)
    settings = load(paths.config_dir, paths.project_root)
    trust = load_trust(paths, settings.texts("trust.accept_from"))
    decided, trust_state = new_decisions(connection, trust.trusted, trust.rejected, trust.accept_from)
    with transaction(connection):
        meta_set(connection, PROJECT_ROOT, paths.project_root)
        seed_guards(paths, connection)
        if decided is None and not total_documents(connection):
            meta_set(connection, DECIDED, trust_state)  # prompts use the first memories before all are read
    run = RefreshPass(
        connection,
        trust,
        None if full or decided is None else _changed_by_others(connection, paths, marks, is_hook=is_hook),
        None if decided is None else files_of_texts(connection, decided),
        marks,
        budget,
    )
    report = refresh_stores(run, stores(paths))
    folders = native_folders(paths) if settings.flag("native.enabled") else []
    if run.has_changed(*_native_paths(folders)):
        report = report.plus(refresh_notes(run, folders))
    marks.update(snapshot(files_by_trust(connection, PENDING, _MAX_WATCHED_PENDING)))
    with transaction(connection):
        if apply_supersession(connection):
            meta_set(connection, GUARDS, CHANGED)
    _write_prepared(paths, connection, full)
    # Last, so that a refresh that is interrupted before is repeated.
    with transaction(connection):
        save_snapshot(connection, marks)
        meta_set(connection, DECIDED, trust_state)
        set_unread(connection, report.remaining)
    return report


def _changed_by_others(
    connection: Connection, paths: Paths, marks: dict[str, str], *, is_hook: bool
) -> set[str] | None:
    """Return `changed_paths`, with the files that this plugin wrote in place of a folder that nobody else changed.

    Such a folder is marked OWN until a full refresh lists it, or the next session's start does (`is_hook`).
    """
    changed, saved = changed_paths(connection), saved_marks(connection)
    if changed is None or saved is None:
        return None
    for store in stores(paths):
        for category in categories().values():
            folder = os.path.join(store.root, category.folder)
            before, after = saved.get(folder, UNSURE), marks[folder]
            if before == after + OWN:
                changed.update([folder] if is_hook else [])
                marks[folder] = after if is_hook else before
            elif folder in changed:
                times = (mark.rsplit(":", 2)[0] for mark in (before, after))
                files = own_writes(paths, store, folder, *times)
                if files:
                    changed.remove(folder)
                    changed.update(files)
                    marks[folder] += OWN
    return changed


def _write_prepared(paths: Paths, connection: Connection, full: bool) -> None:
    """Write the prepared files whose rows changed, or both if `full`. If one cannot be written now, a later refresh writes it."""
    prepared = (
        (NAMED_FILES, named_files_path(paths), write_named_files),
        (GUARDS, guard_file_path(paths), write_guards),
    )
    for name, path, write in prepared:
        if full or meta_get(connection, name) == CHANGED or not os.path.lexists(path):
            with suppress(OSError):
                write(paths, connection)
                with transaction(connection):
                    meta_set(connection, name, WRITTEN)


def _watched(paths: Paths, settings: Settings) -> list[str]:
    """Return the folders and files whose change makes the index out of date."""
    watched = [os.path.join(paths.project_root, ".claude", "memory"), *decision_paths(paths)]
    if paths.config_dir:
        watched.append(os.path.join(paths.config_dir, "settings.json"))  # for `trust.accept_from`
    for store in stores(paths):
        watched.append(store.root)
        watched += [os.path.join(store.root, category.folder) for category in categories().values()]
    if settings.flag("native.enabled"):
        watched += _native_paths(native_folders(paths))
    return list(dict.fromkeys(watched))


def _native_paths(folders: list[str]) -> list[str]:
    return [path for folder in folders for path in (folder, os.path.join(folder, "MEMORY.md"))]


def index_state(paths: Paths) -> dict[str, object]:
    """Return the `state` of the index: missing, unusable (with the `reason`), or whole or behind (with `memories` and `bytes`)."""
    path = index_path(paths)
    try:
        connection = open_index(path)
    except IndexUnavailable as error:
        return {"state": "unusable" if os.path.exists(path) else "missing", "reason": str(error)}
    with closing(connection):
        state = "whole" if changed_paths(connection) == set() else "behind"
        return {"state": state, "memories": total_documents(connection), "bytes": os.path.getsize(path)}
